"""OAuth 2.1 for hosted clients: registration, the consent of a person, codes and tokens, off unless asked for."""
