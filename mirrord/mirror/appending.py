"""Files that only grow: a line is there whole and for good, or not at all."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

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
    with appending(tree, path, line) as add:
        kernel.fsync_all(*add())


@contextmanager
def appending(tree: Tree, path: str, line: bytes) -> Iterator[Callable[[], Sequence[int]]]:
    """The same, done when what this yields is called: the descriptors it returns have then to be synced."""
    with ExitStack() as stack:
        descriptor: int | None = None
        try:
            descriptor = stack.enter_context(tree.opened(path, _FLAGS))
        except IsADirectoryError:
            raise _refused(path) from None
        except FileNotFoundError:
            pass
        else:
            _check(descriptor, path)
        yield partial(_begin, tree, path, line) if descriptor is None else partial(_add, descriptor, line)


def _begin(tree: Tree, path: str, line: bytes) -> Sequence[int]:
    tree.make_directories(parent_of(path))
    with tree.directory(parent_of(path)) as directory:
        name = path.rpartition("/")[2]
        with Opened(os.open(name, _FLAGS | os.O_CREAT, access.FILE_MODE, dir_fd=directory)) as descriptor:
            _check(descriptor, path)
            access.inherit(descriptor, directory)
            kernel.fsync_all(*_add(descriptor, line), directory)
    return ()


def _check(descriptor: int, path: str) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise _refused(path)


def _refused(path: str) -> Refused:
    return Refused(f"{printable(path)!r} is not a regular file; nothing is added to it.")


def _add(descriptor: int, line: bytes) -> Sequence[int]:
    kernel.write(descriptor, _after(descriptor, os.fstat(descriptor).st_size) + line)
    return (descriptor,)


def _after(descriptor: int, size_bytes: int) -> bytes:
    """What ends a line that a crash cut short."""
    torn = size_bytes > 0 and os.pread(descriptor, 1, size_bytes - 1) != b"\n"
    return b"\n" if torn else b""
