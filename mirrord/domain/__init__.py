"""Pure definitions: what things are and what is allowed. Imports nothing of mirrord but errors."""
