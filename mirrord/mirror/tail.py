"""Reading files that only grow, line by line, from where reading ended the last time."""

import hashlib
import os
from dataclasses import dataclass

from mirrord.mirror.tree import Tree

CHUNK = 4 << 20  # bytes read at once, and the longest line
_MARK = 4096  # bytes before the end of what was read, by which it is known again


@dataclass(frozen=True, slots=True)
class Cursor:
    """
    Up to where a file was read.

    lines: how many that were. mark: digest of the last bytes of them; a file in which they changed was replaced.
    """

    device: int
    inode: int
    offset: int
    lines: int
    mark: str


@dataclass(frozen=True, slots=True)
class Tail:
    """
    Whole lines, without their ends; the last of a file that does not end yet is left out.

    first: number of the first of them, from 1 on. cursor: behind them. more: whether there may be further ones.
    """

    lines: list[bytes]
    first: int
    cursor: Cursor
    more: bool


def read_tail(tree: Tree, path: str, cursor: Cursor | None) -> Tail:
    """
    The lines behind *cursor*; from the start where the file is not the one that *cursor* is of, or was cut.

    What is longer than CHUNK without an end counts as a line. Raises FileNotFoundError, Refused, OSError.
    """
    with tree.file(path) as descriptor:
        stat = os.fstat(descriptor)
        here = (stat.st_dev, stat.st_ino)
        if cursor is None or (cursor.device, cursor.inode) != here or _mark(descriptor, cursor.offset) != cursor.mark:
            cursor = Cursor(*here, 0, 0, _mark(descriptor, 0))
        data = os.pread(descriptor, CHUNK, cursor.offset)
        full = len(data) == CHUNK
        end = data.rfind(b"\n") + 1 or (CHUNK if full else 0)
        lines = data[:end].removesuffix(b"\n").split(b"\n") if end else []
        offset = cursor.offset + end
        behind = Cursor(*here, offset, cursor.lines + len(lines), _mark(descriptor, offset))
        return Tail(lines, cursor.lines + 1, behind, full)


def _mark(descriptor: int, offset: int) -> str:
    size = min(_MARK, offset)
    return hashlib.blake2b(os.pread(descriptor, size, offset - size), digest_size=8).hexdigest()
