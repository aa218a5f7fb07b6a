"""
Where new files are built that come into the tree together: a directory `n.…` of the journal.

Nobody looks into it, and what a dead writer left of it goes with its journal, unless a plan names it (`relocation`).
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from mirrord.mirror import access, kernel
from mirrord.mirror.journal import Journal
from mirrord.mirror.label import new_key
from mirrord.mirror.layout import ARRIVING, lineage
from mirrord.mirror.tree import DIRECTORY_MODE, Tree

_FEW = 200  # files that are synced one by one; of more, the whole file system is


@dataclass(slots=True)
class Arrival:
    """What is being built; its own paths are relative to the directory, *path* to the tree."""

    tree: Tree
    path: str
    descriptor: int
    _made: list[str] = field(default_factory=list)

    def within(self, name: str) -> str:
        """The path in the tree of what is called *name* here, as long as it waits."""
        return f"{self.path}/{name}"

    def directory(self, name: str) -> None:
        """Make a directory; the one above it is there."""
        kernel.mkdir(self.descriptor, name, DIRECTORY_MODE)
        self._made.append(name)

    def write(self, name: str, data: bytes) -> None:
        """Make a file that holds *data*."""
        descriptor = self._create(name)
        try:
            kernel.write(descriptor, data)
        finally:
            os.close(descriptor)

    def stream(self, name: str) -> BinaryIO:
        """A new, empty file to write, which the caller closes."""
        return os.fdopen(self._create(name), "wb")

    def _create(self, name: str) -> int:
        descriptor = kernel.create(self.descriptor, name, access.FILE_MODE)
        if len(self._made) <= _FEW:
            self._made.append(name)
        return descriptor

    def inode(self, name: str) -> int:
        """What *name* is, whatever it is called later."""
        return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_ino

    def seal(self) -> None:
        """Make all that was built durable."""
        if len(self._made) > _FEW:
            kernel.syncfs(self.descriptor)
            return
        for name in self._made:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.descriptor)
            try:
                kernel.fsync(descriptor)
            finally:
                os.close(descriptor)
        kernel.fsync(self.descriptor)


@contextmanager
def arriving(tree: Tree, journal: Journal, target: str) -> Iterator[Arrival]:
    """
    A place to build in, for the length of a `with`; what is still there then goes.

    target: a path in the tree below which it is to be, whose groups and ACLs it gets.
    """
    name = ARRIVING + new_key()
    with journal.protected(name):
        journal.make_directory(name)
        path = f"{journal.path}/{name}"
        try:
            with tree.directory(path) as descriptor:
                with tree.directory(_standing(tree, target)) as above:
                    access.imitate(descriptor, above)
                yield Arrival(tree, path, descriptor)
        finally:
            dismantle(journal, name)


def dismantle(journal: Journal, name: str) -> None:
    """Remove a place and what is in it."""
    with suppress(FileNotFoundError):
        shutil.rmtree(name, dir_fd=journal.descriptor)


def _standing(tree: Tree, path: str) -> str:
    """The nearest directory at or above *path* that is there; "" is the root."""
    for one in lineage(path):
        found = tree.stat(one)
        if found is not None and found.is_directory:
            return one
    return ""
