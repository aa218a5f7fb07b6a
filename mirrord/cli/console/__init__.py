"""The commands of the console: serving it, sign-in links, people, pages that are shared."""
