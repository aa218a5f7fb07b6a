"""
An order of many paths in little memory: one string for each, which sorts as by_depth() does. Pure.

A path can be made from its string, so that the order of a million paths needs no second copy of them.
"""

from mirrord.mirror.tree.tree_layout import INDEX_FILE, by_depth

# After a character that no path contains: the forms of a path, in the order of by_depth() for one directory.
_END = "\0"
_INDEX, _PAGE, _DIRECTORY = "0i", "0p", "1"
_SUFFIXES = {_INDEX: f"/{INDEX_FILE}", _PAGE: ".md", _DIRECTORY: ""}


def order_key_of(path: str) -> str:
    """A string that sorts as by_depth(path) does."""
    depth, directory, is_directory = by_depth(path)
    form = _DIRECTORY if is_directory else _INDEX if path.endswith(f"/{INDEX_FILE}") else _PAGE
    return f"{chr(depth)}{directory}{_END}{form}"


def path_of_order_key(key: str) -> str:
    """The path of which order_key_of() made *key*."""
    directory, _, form = key[1:].rpartition(_END)
    return directory + _SUFFIXES[form]
