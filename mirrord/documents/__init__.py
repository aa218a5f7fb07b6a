"""What is derived from texts after they are safe: documents, links, segments."""
