"""Merging two edits of one text. Pure."""
