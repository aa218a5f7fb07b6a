"""Who may do what: grants, signed tokens and the keys that sign them."""
