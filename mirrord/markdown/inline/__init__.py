"""PURE: text inside paragraphs and table cells, read and written."""
