"""Disk: the tree of one tenant. The only package that touches its files."""
