"""PURE: bytes of Markdown and the TipTap document they mean."""
