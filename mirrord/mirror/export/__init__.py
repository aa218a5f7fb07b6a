"""Directories that rows are exported into."""
