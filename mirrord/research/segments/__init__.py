"""Segments: spans of a page's text that somebody coded, kept in place while the text changes."""
