"""Rows of entries: reading, writing, history, links and everything derived."""
