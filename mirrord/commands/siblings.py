"""Names in a directory: the taken ones, and free ones for new pages."""

import os
from itertools import count

from mirrord.domain.place import clean, name_key, numbered
from mirrord.mirror.layout import SUFFIX, page_path
from mirrord.mirror.tree import Tree


def free_name(tree: Tree, directory: str, wanted: str, fallback: str) -> str:
    """
    A name like *wanted*, without `.md`, that no page or folder in *directory* has, ignoring case.

    fallback: the name if cleaning removes all of *wanted*.
    """
    used_keys = taken(tree, directory)
    name = clean(wanted, fallback)
    if name_key(name) not in used_keys:
        return name
    return next(candidate for number in count(2) if name_key(candidate := numbered(name, number)) not in used_keys)


def taken(tree: Tree, directory: str) -> set[str]:
    """The keys of all names in *directory*, without `.md`."""
    try:
        with tree.directory(directory) as descriptor, os.scandir(descriptor) as entries:
            return {name_key(entry.name.removesuffix(SUFFIX)) for entry in entries}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def free_path(tree: Tree, directory: str, wanted: str, fallback: str) -> str:
    """Path of the file of a new page in *directory*."""
    return page_path(directory, free_name(tree, directory, wanted, fallback))
