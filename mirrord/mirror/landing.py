"""
Create many files in a tree: build them aside, make them durable together, then rename them to free paths.

A sync of the whole file system is hardly slower than that of one file: a batch costs one sync, not three per file.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count, groupby

from mirrord.errors import Refused
from mirrord.mirror import access, kernel
from mirrord.mirror.layout import lineage, parent_of
from mirrord.mirror.tree import DIRECTORY_MODE, Tree, check_entry

UNFINISHED_PREFIX = "p."  # prefix of the names of files under construction

Obstacle = OSError | Refused

# Errors that affect every file, not one.
_FATAL_ERRNOS = kernel.DISK_FULL | {errno.EROFS, errno.EIO}


class FileBatch:
    """
    Files on their way into *tree*. building: descriptor of a private directory of the same file system.

    The caller removes that directory with the files that have not landed. Every method may raise OSError if the disk
    is full, read-only or broken; no file in place is changed then.
    """

    def __init__(self, tree: Tree, building: int) -> None:
        self._tree = tree
        self._building = building
        self._built_names: dict[str, str] = {}
        self._existing_directories = {""}  # paths
        self._numbers = count()

    @property
    def pending_count(self) -> int:
        """The number of built files that have not landed."""
        return len(self._built_names)

    def build(self, path: str, data: bytes) -> None:
        """Build the file for *path*."""
        with self.building(path) as descriptor:
            kernel.write(descriptor, data)

    @contextmanager
    def building(self, path: str) -> Iterator[int]:
        """A descriptor to build the file for *path*, for the length of a `with`; an exception in it drops the file."""
        check_entry(path)
        name = f"{UNFINISHED_PREFIX}{next(self._numbers)}"
        descriptor = kernel.create(self._building, name, access.FILE_MODE)
        with ExitStack() as undone:
            undone.callback(kernel.unlink, self._building, name)
            try:
                yield descriptor
            finally:
                os.close(descriptor)
            undone.pop_all()
        self._built_names[path] = name

    def sync(self) -> None:
        """Make the tree's whole file system durable, with the built files."""
        kernel.syncfs(self._building)

    def move_into_place(self) -> dict[str, Obstacle]:
        """
        Rename the built and sealed files into their places; missing directories are created. Failed files are dropped.

        Returns errors by path: FileExistsError if the path is taken.
        """
        hindered: dict[str, Obstacle] = {}
        in_order = sorted(self._built_names, key=lambda path: (parent_of(path), path))
        for directory, paths in groupby(in_order, key=parent_of):
            group = list(paths)
            try:
                self.make_directory(directory)
                with self._tree.open_directory(directory) as into:
                    hindered |= self._land_in_directory(into, group)
            except (OSError, Refused) as error:
                raise_fatal(error)
                hindered |= dict.fromkeys(group, error)
        for path in hindered:
            with suppress(FileNotFoundError):
                kernel.unlink(self._building, self._built_names[path])
        self._built_names.clear()
        return hindered

    def make_directory(self, path: str) -> None:
        """
        Create a directory and its parents where they are missing; durable with the next seal.

        Raises Refused if a symbolic link is in the way, OSError if something else is.
        """
        for parent in reversed(list(lineage(path))):
            if parent not in self._existing_directories:
                self._make_one_directory(parent)
                self._existing_directories.add(parent)

    def _make_one_directory(self, path: str) -> None:
        check_entry(path)
        with self._tree.open_directory(parent_of(path)) as parent:
            try:
                kernel.mkdir(parent, path.rpartition("/")[2], DIRECTORY_MODE)
            except FileExistsError:
                with self._tree.open_directory(path):  # raises if it is no directory
                    pass

    def _land_in_directory(self, directory: int, paths: list[str]) -> dict[str, Obstacle]:
        hindered: dict[str, Obstacle] = {}
        for path in paths:
            try:
                self._tree.rename_new(self._building, self._built_names[path], directory, path.rpartition("/")[2])
            except OSError as error:
                raise_fatal(error)
                hindered[path] = error
        return hindered


def raise_fatal(error: Obstacle) -> None:
    """Raise an error that affects every file: the disk is full, read-only or broken."""
    if isinstance(error, OSError) and error.errno in _FATAL_ERRNOS:
        raise error
