"""PURE: the document model: nodes, marks, attributes, ids and the normal form."""
