"""Files that only grow: a line is there whole and for good, or not at all."""

import os
import stat

from mirrord.errors import Refused
from mirrord.mirror import access, kernel
from mirrord.mirror.layout import parent_of, printable
from mirrord.mirror.tree import Tree

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def append(tree: Tree, path: str, line: bytes) -> None:
    """
    Add *line*, which ends in a newline, to the file at *path*, durably. Call it under the write lock.

    Raises Refused if something else than a regular file is there.
    """
    name = path.rpartition("/")[2]
    tree.make_directories(parent_of(path))
    with tree.directory(parent_of(path)) as directory:
        descriptor, is_new = _opened(directory, name)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise Refused(f"{printable(path)!r} is not a regular file; nothing is added to it.")
            kernel.write(descriptor, _after(descriptor, found.st_size) + line)
            kernel.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new:
            kernel.fsync(directory)


def _opened(directory: int, name: str) -> tuple[int, bool]:
    """The file and whether it was made now."""
    try:
        return os.open(name, _FLAGS, dir_fd=directory), False
    except FileNotFoundError:
        made = os.open(name, _FLAGS | os.O_CREAT, access.FILE_MODE, dir_fd=directory)
        access.inherit(made, directory)
        return made, True


def _after(descriptor: int, size_bytes: int) -> bytes:
    """What ends a line that a crash cut short."""
    torn = size_bytes > 0 and os.pread(descriptor, 1, size_bytes - 1) != b"\n"
    return b"\n" if torn else b""
