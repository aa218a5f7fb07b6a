"""Bodies of an app's rows in formats of their own: how they become documents, and how edits come back. Pure."""
