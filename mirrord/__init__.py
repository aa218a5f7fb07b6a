"""mirrord keeps a tree of Markdown files and Postgres in bidirectional sync."""

__version__ = "0.1.0"
