"""Append to files that only grow: a line is complete and durable, or absent."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from mirrord.errors import Refused
from mirrord.mirror import access, kernel
from mirrord.mirror.layout import parent_of, printable
from mirrord.mirror.tree import OpenDescriptor, Tree

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def append(tree: Tree, path: str, line: bytes) -> None:
    """
    Add *line*, which ends in a newline, to the file at *path*, durably. Call it under the write lock.

    Raises Refused if *path* is not a regular file.
    """
    with prepare_append(tree, path, line) as add:
        kernel.fsync_all(*add())


@contextmanager
def prepare_append(tree: Tree, path: str, line: bytes) -> Iterator[Callable[[], Sequence[int]]]:
    """Like append(), in two steps: the yielded function adds the line and returns descriptors to sync."""
    with ExitStack() as stack:
        descriptor: int | None = None
        try:
            descriptor = stack.enter_context(tree.open_path(path, _FLAGS))
        except IsADirectoryError:
            raise _refusal(path) from None
        except FileNotFoundError:
            pass
        else:
            _check_regular(descriptor, path)
        yield partial(_create_file, tree, path, line) if descriptor is None else partial(_add_line, descriptor, line)


def _create_file(tree: Tree, path: str, line: bytes) -> Sequence[int]:
    tree.make_directories(parent_of(path))
    with tree.open_directory(parent_of(path)) as directory:
        name = path.rpartition("/")[2]
        with OpenDescriptor(os.open(name, _FLAGS | os.O_CREAT, access.FILE_MODE, dir_fd=directory)) as descriptor:
            _check_regular(descriptor, path)
            access.inherit_access(descriptor, directory)
            kernel.fsync_all(*_add_line(descriptor, line), directory)
    return ()


def _check_regular(descriptor: int, path: str) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise _refusal(path)


def _refusal(path: str) -> Refused:
    return Refused(f"{printable(path)!r} is not a regular file; nothing is added to it.")


def _add_line(descriptor: int, line: bytes) -> Sequence[int]:
    kernel.write(descriptor, _missing_newline(descriptor, os.fstat(descriptor).st_size) + line)
    return (descriptor,)


def _missing_newline(descriptor: int, size_bytes: int) -> bytes:
    """A newline if a crash cut the last line short, else nothing."""
    torn = size_bytes > 0 and os.pread(descriptor, 1, size_bytes - 1) != b"\n"
    return b"\n" if torn else b""
