"""POSTGRES: the only package that contains SQL."""
