"""PURE: front matter and YAML records: reading them, and changing single keys."""
