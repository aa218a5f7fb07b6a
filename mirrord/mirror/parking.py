"""
Parking: where files and directories wait, outside the tree, while others change their names.

What lacks in the tree counts as deleted, so whatever is parked comes back in any case: by the plan that put it
there, else by the journal's recovery, which finds in a note where it goes and where it came from.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, count

from mirrord.domain.place import numbered
from mirrord.errors import Refused
from mirrord.mirror import kernel
from mirrord.mirror.layout import SUFFIX, parent_of
from mirrord.mirror.tree import Tree

NOTE = ".path"  # how the name of a note ends; it begins with the name of what it is about


def note_of(target: str, source: str) -> bytes:
    """What a note says of something on its way from *source* to *target*."""
    return b"\0".join(map(os.fsencode, (target, source)))


def leave(tree: Tree, path: str, directory: int, name: str) -> None:
    """Take what is at *path* out of the tree, to *name* in an open directory."""
    with tree.directory(parent_of(path)) as place:
        tree.rename_new(place, path.rpartition("/")[2], directory, name)
        kernel.fsync(directory)
        kernel.fsync(place)


def come_back(tree: Tree, directory: int, name: str, path: str) -> None:
    """Bring it to *path*, whose directory exists. Raises FileExistsError if that is taken."""
    with tree.directory(parent_of(path)) as place:
        tree.rename_new(directory, name, place, path.rpartition("/")[2])
        kernel.fsync(place)
        kernel.fsync(directory)


def recover(tree: Tree, directory: int, name: str, note: bytes) -> str | None:
    """Bring back what a dead writer had parked: where to; None: it was never parked, or is back already."""
    target, source = map(os.fsdecode, note.split(b"\0"))
    for path in chain((target, source), _beside(source)):
        try:
            os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if _has_come_back(tree, directory, name, path):
            return path
    return None


def _has_come_back(tree: Tree, directory: int, name: str, path: str) -> bool:
    with suppress(FileExistsError, FileNotFoundError, NotADirectoryError, Refused):
        tree.make_directories(parent_of(path))
        come_back(tree, directory, name, path)
        return True
    return False


def _beside(path: str) -> Iterator[str]:
    """Other names in the same directory, then at the root, where nothing can be in the way of a directory."""
    return chain.from_iterable(zip(_numbers(path), _numbers(path.rpartition("/")[2]), strict=False))


def _numbers(path: str) -> Iterable[str]:
    above, _, name = path.rpartition("/")
    ending = SUFFIX if name.endswith(SUFFIX) else ""
    return (f"{above}/{numbered(name, number, ending)}".lstrip("/") for number in count(2))
