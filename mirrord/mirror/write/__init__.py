"""Changes of the tree: replace, create, rename, remove, and the journal that makes them safe."""
