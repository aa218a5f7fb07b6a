"""PURE: Markdown pages and records as text, and the TipTap documents they mean."""
