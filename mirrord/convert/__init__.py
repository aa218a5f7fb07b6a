"""DISK: other kinds of files become Markdown: what a file is, what its text is, and converters kept in a process."""
