"""Mappings: their values, and the files that they are read from. Pure."""
