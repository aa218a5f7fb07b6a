"""DISK: converts other kinds of files to Markdown, in limited processes."""
