"""Names in a directory: the taken ones, and free ones for new pages."""

import os
from itertools import count

from mirrord.domain.place import clean_name, name_key, numbered_name
from mirrord.mirror.layout import SUFFIX, page_path
from mirrord.mirror.tree import Tree


def free_name(tree: Tree, directory: str, base_name: str, fallback: str) -> str:
    """
    A name like *base_name*, without `.md`, that no page or folder in *directory* has, ignoring case.

    fallback: the name if cleaning removes all of *base_name*.
    """
    used_keys = taken_keys(tree, directory)
    name = clean_name(base_name, fallback)
    if name_key(name) not in used_keys:
        return name
    return next(candidate for number in count(2) if name_key(candidate := numbered_name(name, number)) not in used_keys)


def taken_keys(tree: Tree, directory: str) -> set[str]:
    """The keys of all names in *directory*, without `.md`."""
    try:
        with tree.open_directory(directory) as descriptor, os.scandir(descriptor) as entries:
            return {name_key(entry.name.removesuffix(SUFFIX)) for entry in entries}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def free_path(tree: Tree, directory: str, base_name: str, fallback: str) -> str:
    """Path of the file of a new page in *directory*."""
    return page_path(directory, free_name(tree, directory, base_name, fallback))
