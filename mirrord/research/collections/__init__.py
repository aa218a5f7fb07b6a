"""Categories and collections: which pages belong together."""
