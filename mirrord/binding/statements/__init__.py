"""The SQL of a binding as text. Pure."""
