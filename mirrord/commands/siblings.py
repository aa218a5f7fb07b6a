"""Names beside each other: which are taken in a directory, and which a new page may get."""

import os
from itertools import count

from mirrord.domain.place import clean, name_key, numbered
from mirrord.mirror.layout import SUFFIX, page_path
from mirrord.mirror.tree import Tree


def free_name(tree: Tree, directory: str, wanted: str, fallback: str) -> str:
    """
    A name, without `.md`, for a page called *wanted* that no page or folder in *directory* has, whatever its case.

    fallback: for a name when nothing is left of *wanted*.
    """
    used = taken(tree, directory)
    name = clean(wanted, fallback)
    if name_key(name) not in used:
        return name
    return next(one for number in count(2) if name_key(one := numbered(name, number)) not in used)


def taken(tree: Tree, directory: str) -> set[str]:
    """The keys of all names in *directory*, without `.md`."""
    try:
        with tree.directory(directory) as descriptor, os.scandir(descriptor) as entries:
            return {name_key(entry.name.removesuffix(SUFFIX)) for entry in entries}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def free_path(tree: Tree, directory: str, wanted: str, fallback: str) -> str:
    """The path of a new page's file in *directory*."""
    return page_path(directory, free_name(tree, directory, wanted, fallback))
