"""
Parking: files and directories wait outside the tree while others change their names.

A file missing from the tree counts as deleted, so everything parked comes back in any case: by the plan that parked it,
else by the recovery of the journal, which reads target and source from a note.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, count

from mirrord.domain.place import numbered_name
from mirrord.errors import Refused
from mirrord.mirror import kernel
from mirrord.mirror.layout import SUFFIX, parent_of
from mirrord.mirror.tree import Tree

NOTE_SUFFIX = ".path"  # suffix of the name of a note; before it stands the name of the parked file


def note_of(target: str, source: str) -> bytes:
    """The content of a note: on the way from *source* to *target*."""
    return b"\0".join(map(os.fsencode, (target, source)))


def park(tree: Tree, path: str, directory: int, name: str) -> None:
    """Move the entry at *path* out of the tree, to *name* in an open directory."""
    with tree.open_directory(parent_of(path)) as place:
        tree.rename_new(place, path.rpartition("/")[2], directory, name)
        kernel.fsync(directory)
        kernel.fsync(place)


def unpark(tree: Tree, directory: int, name: str, path: str) -> None:
    """Move *name* back to *path*, whose directory exists. Raises FileExistsError if that is taken."""
    with tree.open_directory(parent_of(path)) as place:
        tree.rename_new(directory, name, place, path.rpartition("/")[2])
        kernel.fsync(place)
        kernel.fsync(directory)


def recover(tree: Tree, directory: int, name: str, note: bytes) -> str | None:
    """Move a dead writer's parked file back and return its path; None: it was never parked, or is back already."""
    target, source = map(os.fsdecode, note.split(b"\0"))
    for path in chain((target, source), _alternative_paths(source)):
        try:
            os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if _has_moved_back(tree, directory, name, path):
            return path
    return None


def _has_moved_back(tree: Tree, directory: int, name: str, path: str) -> bool:
    with suppress(FileExistsError, FileNotFoundError, NotADirectoryError, Refused):
        tree.make_directories(parent_of(path))
        unpark(tree, directory, name, path)
        return True
    return False


def _alternative_paths(path: str) -> Iterator[str]:
    """Numbered names in the same directory and, alternating, at the root, where no parent can be missing."""
    return chain.from_iterable(zip(_numbered_paths(path), _numbered_paths(path.rpartition("/")[2]), strict=False))


def _numbered_paths(path: str) -> Iterable[str]:
    above, _, name = path.rpartition("/")
    ending = SUFFIX if name.endswith(SUFFIX) else ""
    return (f"{above}/{numbered_name(name, number, ending)}".lstrip("/") for number in count(2))
