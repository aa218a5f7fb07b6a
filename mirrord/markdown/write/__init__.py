"""PURE: writing documents back into Markdown pages so that unchanged bytes stay."""
