"""Read files that only grow, line by line, from the end of the last read."""

import hashlib
import os
from dataclasses import dataclass

from mirrord.mirror.tree import Tree

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
