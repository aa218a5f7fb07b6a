"""DISK: convert other kinds of files to Markdown: kinds, encodings, and converters in confined processes."""
