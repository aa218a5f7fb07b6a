"""Places of pages in an app that has a path in each row, in place of a parent."""
