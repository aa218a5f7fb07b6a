"""
Creates many files at a time: built aside, synced together, renamed to where nothing is.

Readers ignore it. Leftovers of a dead writer are removed with its journal, unless a plan names them (`relocation`).

A sync of the whole file system is hardly slower than that of one file: a batch costs one sync, not three per file.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import BinaryIO

from mirrord.errors import Refused
from mirrord.mirror.tree import file_access, kernel
from mirrord.mirror.tree.contained_files import FILE_FLAGS
from mirrord.mirror.tree.kernel import OpenDescriptor
from mirrord.mirror.tree.tenant_tree import Tree, check_entry
from mirrord.mirror.tree.tree_layout import BUILDING_PREFIX, lineage, parent_of
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import new_key

_MAX_SINGLE_SYNCS = 200  # files; for more of them the whole file system is synced


@dataclass(slots=True)
class BuildDirectory:
    """
    A directory under construction; names are relative to it, *path* to the tree.

    readers: the mode bits of the future parent that let others read and pass it.
    """

    tree: Tree
    path: str
    descriptor: int
    readers: int
    _created_names: list[str] = field(default_factory=list)

    def path_in_tree(self, name: str) -> str:
        """The path in the tree of *name*, while it waits here."""
        return f"{self.path}/{name}"

    def make_directory(self, name: str) -> None:
        """Create a directory; its parent exists."""
        file_access.make_directory(self.descriptor, name)
        file_access.grant_passage(self.descriptor, name, self.readers)
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
        descriptor = kernel.create(self.descriptor, name, file_access.FILE_MODE)
        file_access.grant_readers(descriptor, self.readers & file_access.FILE_READERS)
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
                    file_access.copy_default_access(descriptor, parent)
                    readers = os.fstat(parent).st_mode & file_access.DIRECTORY_READERS
                yield BuildDirectory(tree, path, descriptor, readers)
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
        descriptor = kernel.create(self._building, name, file_access.FILE_MODE)
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
                self._tree.claim(*group)
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
        self._tree.claim_new_directory(path)
        with self._tree.open_directory(parent_of(path)) as parent:
            try:
                file_access.make_directory(parent, path.rpartition("/")[2])
            except FileExistsError:
                with self._tree.open_directory(path):  # raises if it is no directory
                    pass

    def _land_in_directory(self, directory: int, paths: list[str]) -> dict[str, Obstacle]:
        hindered: dict[str, Obstacle] = {}
        readers = os.fstat(directory).st_mode & file_access.FILE_READERS
        for path in paths:
            try:
                self._grant_readers(self._built_names[path], readers)
                self._tree.rename_new(self._building, self._built_names[path], directory, path.rpartition("/")[2])
            except OSError as error:
                raise_fatal(error)
                hindered[path] = error
        return hindered

    def _grant_readers(self, name: str, readers: int) -> None:
        if readers:
            with OpenDescriptor(os.open(name, FILE_FLAGS | os.O_CLOEXEC, dir_fd=self._building)) as descriptor:
                file_access.grant_readers(descriptor, readers)


def raise_fatal(error: Obstacle) -> None:
    """Raise an error that affects every file: the disk is full, read-only or broken."""
    if isinstance(error, OSError) and error.errno in _FATAL_ERRNOS:
        raise error
