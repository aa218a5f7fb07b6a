"""The commands of the console: serving it, sign-in links, pages that are shared."""
