"""Tools for pages, one module per kind, and what every tool is made of."""
