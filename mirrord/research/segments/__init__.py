"""Segments: spans of a page's text that a person or an agent coded, kept in place while the text changes."""
