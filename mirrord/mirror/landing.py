"""
New files that come into a tree many at a time: built aside, made durable together, then renamed to where nothing is.

A sync of the whole file system takes hardly longer than that of a single file: a batch costs one, not three a file.
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

UNFINISHED = "p."  # how names of what is being built begin

Hindrance = OSError | Refused

# What hinders every file, not one.
_FATAL = kernel.DISK_FULL | {errno.EROFS, errno.EIO}


class Landing:
    """
    Files on their way into *tree*. building: descriptor of a directory of the same file system that nobody else uses.

    What was built and has not landed is the caller's to remove, with that directory. Every method may raise OSError
    where a disk is full, read-only or broken; nothing that is in place was changed then.
    """

    def __init__(self, tree: Tree, building: int) -> None:
        self._tree = tree
        self._building = building
        self._waiting: dict[str, str] = {}
        self._standing = {""}  # directories that are there
        self._numbers = count()

    @property
    def waiting(self) -> int:
        """How many files were built and have not landed."""
        return len(self._waiting)

    def write(self, path: str, data: bytes) -> None:
        """Build the file that is to be at *path*."""
        with self.writing(path) as descriptor:
            kernel.write(descriptor, data)

    @contextmanager
    def writing(self, path: str) -> Iterator[int]:
        """A descriptor to write that file with, for the length of a `with`; an exception in it undoes the file."""
        check_entry(path)
        name = f"{UNFINISHED}{next(self._numbers)}"
        descriptor = kernel.create(self._building, name, access.FILE_MODE)
        with ExitStack() as undone:
            undone.callback(kernel.unlink, self._building, name)
            try:
                yield descriptor
            finally:
                os.close(descriptor)
            undone.pop_all()
        self._waiting[path] = name

    def seal(self) -> None:
        """Make everything on the tree's file system durable, what was built too."""
        kernel.syncfs(self._building)

    def land(self) -> dict[str, Hindrance]:
        """
        Rename what was built and sealed into its place; directories are made. What did not get there is gone.

        By path, what hinders: FileExistsError where something is there already.
        """
        hindered: dict[str, Hindrance] = {}
        in_order = sorted(self._waiting, key=lambda path: (parent_of(path), path))
        for directory, paths in groupby(in_order, key=parent_of):
            group = list(paths)
            try:
                self.make_directory(directory)
                with self._tree.directory(directory) as into:
                    hindered |= self._land_in(into, group)
            except (OSError, Refused) as error:
                raise_fatal(error)
                hindered |= dict.fromkeys(group, error)
        for path in hindered:
            with suppress(FileNotFoundError):
                kernel.unlink(self._building, self._waiting[path])
        self._waiting.clear()
        return hindered

    def make_directory(self, path: str) -> None:
        """
        Make a directory and those above it where they are missing; durable with the next seal.

        Raises Refused where a symbolic link is in the way, OSError where something else is.
        """
        for above in reversed(list(lineage(path))):
            if above not in self._standing:
                self._make(above)
                self._standing.add(above)

    def _make(self, path: str) -> None:
        check_entry(path)
        with self._tree.directory(parent_of(path)) as above:
            try:
                kernel.mkdir(above, path.rpartition("/")[2], DIRECTORY_MODE)
            except FileExistsError:
                with self._tree.directory(path):  # refuses what is none
                    pass

    def _land_in(self, directory: int, paths: list[str]) -> dict[str, Hindrance]:
        hindered: dict[str, Hindrance] = {}
        for path in paths:
            try:
                self._tree.rename_new(self._building, self._waiting[path], directory, path.rpartition("/")[2])
            except OSError as error:
                raise_fatal(error)
                hindered[path] = error
        return hindered


def raise_fatal(error: Hindrance) -> None:
    """Raise what hinders every file: a disk that is full, read-only or broken."""
    if isinstance(error, OSError) and error.errno in _FATAL:
        raise error
