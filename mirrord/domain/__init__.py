"""PURE: the concepts of mirrord and their rules. Imports nothing of mirrord but errors."""
