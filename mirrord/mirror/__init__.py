"""DISK: the tree of one tenant. The only room that touches files."""
