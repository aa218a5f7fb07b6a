"""Append-only files: a line is there whole and for good or not at all; reading on from the last position."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from mirrord.errors import Refused
from mirrord.mirror.tree import file_access, kernel
from mirrord.mirror.tree.kernel import OpenDescriptor
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import parent_of, printable

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
        with OpenDescriptor(os.open(name, _FLAGS | os.O_CREAT, file_access.FILE_MODE, dir_fd=directory)) as descriptor:
            _check_regular(descriptor, path)
            file_access.inherit_access(descriptor, directory)
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


CHUNK_BYTES = 4 << 20  # bytes per read, and the longest line
_MARK_BYTES = 4096  # before the cursor, whose digest identifies the file


@dataclass(frozen=True, slots=True)
class Cursor:
    """
    The position up to which a file was read.

    lines: number of lines read. mark: digest of the last bytes before it; a file with other bytes there was replaced.
    """

    device: int
    inode: int
    offset: int
    lines: int
    mark: str


@dataclass(frozen=True, slots=True)
class Tail:
    """
    Complete lines without their ends; an unfinished last line is left out.

    first_number: number of the first line, from 1. cursor: behind the last. has_more: whether further lines may follow.
    """

    lines: list[bytes]
    first_number: int
    cursor: Cursor
    has_more: bool


def read_tail(tree: Tree, path: str, cursor: Cursor | None) -> Tail:
    """
    The lines behind *cursor*; from the start if the file is another one than that of *cursor*, or was truncated.

    CHUNK bytes without an end count as a line. Raises FileNotFoundError, Refused, OSError.
    """
    with tree.open_file(path) as descriptor:
        stat = os.fstat(descriptor)
        identity = (stat.st_dev, stat.st_ino)
        if (
            cursor is None
            or (cursor.device, cursor.inode) != identity
            or _digest_before(descriptor, cursor.offset) != cursor.mark
        ):
            cursor = Cursor(*identity, 0, 0, _digest_before(descriptor, 0))
        data = os.pread(descriptor, CHUNK_BYTES, cursor.offset)
        is_full = len(data) == CHUNK_BYTES
        end = data.rfind(b"\n") + 1 or (CHUNK_BYTES if is_full else 0)
        lines = data[:end].removesuffix(b"\n").split(b"\n") if end else []
        offset = cursor.offset + end
        new_cursor = Cursor(*identity, offset, cursor.lines + len(lines), _digest_before(descriptor, offset))
        return Tail(lines, cursor.lines + 1, new_cursor, is_full)


def _digest_before(descriptor: int, offset: int) -> str:
    size = min(_MARK_BYTES, offset)
    return hashlib.blake2b(os.pread(descriptor, size, offset - size), digest_size=8).hexdigest()
