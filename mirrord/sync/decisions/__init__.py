"""Pure decisions of sync."""
