"""Files that only grow: a line is there whole and for good, or not at all."""

import os
import stat

from mirrord.errors import Refused
from mirrord.mirror import access, kernel
from mirrord.mirror.layout import parent_of, printable
from mirrord.mirror.tree import Opened, Tree

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def append(tree: Tree, path: str, line: bytes) -> None:
    """
    Add *line*, which ends in a newline, to the file at *path*, durably. Call it under the write lock.

    Raises Refused if something else than a regular file is there.
    """
    try:
        with tree.opened(path, _FLAGS) as descriptor:
            _add(descriptor, path, line)
    except FileNotFoundError:
        _begin(tree, path, line)


def _begin(tree: Tree, path: str, line: bytes) -> None:
    tree.make_directories(parent_of(path))
    with tree.directory(parent_of(path)) as directory:
        name = path.rpartition("/")[2]
        with Opened(os.open(name, _FLAGS | os.O_CREAT, access.FILE_MODE, dir_fd=directory)) as descriptor:
            access.inherit(descriptor, directory)
            _add(descriptor, path, line)
        kernel.fsync(directory)


def _add(descriptor: int, path: str, line: bytes) -> None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f"{printable(path)!r} is not a regular file; nothing is added to it.")
    kernel.write(descriptor, _after(descriptor, found.st_size) + line)
    kernel.fsync(descriptor)


def _after(descriptor: int, size_bytes: int) -> bytes:
    """What ends a line that a crash cut short."""
    torn = size_bytes > 0 and os.pread(descriptor, 1, size_bytes - 1) != b"\n"
    return b"\n" if torn else b""
