"""Sources: the pages that hold what is studied, their folders, and importing them."""
