"""
Build new files that enter the tree together, in a directory `n.…` of the journal.

Readers ignore it. Leftovers of a dead writer are removed with its journal, unless a plan names them (`relocation`).
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
from mirrord.mirror.layout import BUILDING_PREFIX, lineage
from mirrord.mirror.tree import DIRECTORY_MODE, Tree

_MAX_SINGLE_SYNCS = 200  # files; for more of them the whole file system is synced


@dataclass(slots=True)
class BuildDirectory:
    """A directory under construction; names are relative to it, *path* to the tree."""

    tree: Tree
    path: str
    descriptor: int
    _created_names: list[str] = field(default_factory=list)

    def path_in_tree(self, name: str) -> str:
        """The path in the tree of *name*, while it waits here."""
        return f"{self.path}/{name}"

    def make_directory(self, name: str) -> None:
        """Create a directory; its parent exists."""
        kernel.mkdir(self.descriptor, name, DIRECTORY_MODE)
        self._created_names.append(name)

    def write(self, name: str, data: bytes) -> None:
        """Create a file with the content *data*."""
        descriptor = self._create(name)
        try:
            kernel.write(descriptor, data)
        finally:
            os.close(descriptor)

    def open_stream(self, name: str) -> BinaryIO:
        """Create an empty file and return its stream; the caller closes it."""
        return os.fdopen(self._create(name), "wb")

    def _create(self, name: str) -> int:
        descriptor = kernel.create(self.descriptor, name, access.FILE_MODE)
        if len(self._created_names) <= _MAX_SINGLE_SYNCS:
            self._created_names.append(name)
        return descriptor

    def inode_of(self, name: str) -> int:
        """The inode of *name*: it stays when the file is renamed."""
        return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_ino

    def sync_all(self) -> None:
        """Make all created files and directories durable."""
        if len(self._created_names) > _MAX_SINGLE_SYNCS:
            kernel.syncfs(self.descriptor)
            return
        for name in self._created_names:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.descriptor)
            try:
                kernel.fsync(descriptor)
            finally:
                os.close(descriptor)
        kernel.fsync(self.descriptor)


@contextmanager
def build_directory(tree: Tree, journal: Journal, target: str) -> Iterator[BuildDirectory]:
    """
    A directory to build in, for the length of a `with`; remaining content is removed.

    target: the future parent path in the tree; the new files get its groups and ACLs.
    """
    name = BUILDING_PREFIX + new_key()
    with journal.protect(name):
        journal.make_directory(name)
        path = f"{journal.path}/{name}"
        try:
            with tree.open_directory(path) as descriptor:
                with tree.open_directory(_nearest_directory(tree, target)) as parent:
                    access.copy_default_access(descriptor, parent)
                yield BuildDirectory(tree, path, descriptor)
        finally:
            remove_build_directory(journal, name)


def remove_build_directory(journal: Journal, name: str) -> None:
    """Remove a building directory with its content."""
    with suppress(FileNotFoundError):
        shutil.rmtree(name, dir_fd=journal.descriptor)


def _nearest_directory(tree: Tree, path: str) -> str:
    """The nearest existing directory at or above *path*; "" is the root."""
    for directory in lineage(path):
        stat = tree.stat(directory)
        if stat is not None and stat.is_directory:
            return directory
    return ""
