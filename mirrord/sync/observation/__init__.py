"""What the tree shows: which files changed and which entries they are."""
