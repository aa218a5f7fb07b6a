"""Change sets: changes that an agent prepares in a draft, and that are applied as a whole."""
