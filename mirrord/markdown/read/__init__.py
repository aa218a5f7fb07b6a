"""PURE: reading Markdown pages as documents, blocks and sections."""
