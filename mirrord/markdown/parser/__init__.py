"""PURE: the Markdown parser: dialect, its own rules, fast paths and limits."""
