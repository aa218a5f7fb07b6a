"""Reads an open file only while no program is writing to it."""

import hashlib
import os
import time

from mirrord.domain.entry import Digest, digest_of
from mirrord.errors import Busy, Damaged, Refused
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.kernel import Stat, stat_of
from mirrord.mirror.tree.tree_layout import printable

PROBE_PAUSE_SECONDS = 0.3  # seconds between two equal stats where leases are unavailable
HELD_PAUSE_SECONDS = 0.1  # between two looks at a file that is open for writing
_MAX_HELD_LOOKS = 5
_PIECE_BYTES = 1 << 20  # bytes


def read(descriptor: int, path: str, limit_bytes: int, earlier: Stat | None = None) -> tuple[bytes, Stat]:
    """
    All bytes, with their stat.

    path: for messages.
    earlier: a stat at least PROBE_PAUSE old; avoids a wait where leases are unavailable.

    Raises:
        Busy: the file has a writer.
        Damaged: more than *limit_bytes*.
        Refused: not a regular file.
    """
    before = _check_settled(descriptor, path, earlier)
    check_size(path, before.size, limit_bytes)
    data = _read_all(descriptor, before.size)
    _check_unchanged(descriptor, path, before)
    return data, before


def read_now(descriptor: int, path: str, limit_bytes: int) -> tuple[bytes, Stat]:
    """
    All bytes of a file that is open for writing, as of one moment; possibly half of a save.

    Raises Busy if it changed during the read, Damaged as read() does.
    """
    before = stat_of(os.fstat(descriptor))
    check_size(path, before.size, limit_bytes)
    data = _read_all(descriptor, before.size)
    if stat_of(os.fstat(descriptor)) != before:
        raise Busy(f"{printable(path)!r} changed while it was read.")
    return data, before


def read_held(descriptor: int, path: str, limit_bytes: int) -> tuple[bytes, Stat]:
    """
    All bytes of a file that is open for writing, if two looks HELD_PAUSE_SECONDS apart are equal.

    Raises Busy while it keeps changing, Damaged as read() does.
    """
    earlier = read_now(descriptor, path, limit_bytes)
    for _ in range(_MAX_HELD_LOOKS):
        time.sleep(HELD_PAUSE_SECONDS)
        now = read_now(descriptor, path, limit_bytes)
        if now == earlier:
            return now
        earlier = now
    raise Busy(f"{printable(path)!r} is being written by another program.")


def digest(descriptor: int, path: str, earlier: Stat | None = None) -> tuple[Digest, Stat]:
    """Like read(), for any size, but only the digest."""
    before = _check_settled(descriptor, path, earlier)
    digest_read = digest_now(descriptor)
    _check_unchanged(descriptor, path, before)
    return digest_read, before


def digest_now(descriptor: int) -> Digest:
    """The digest of the current bytes, with or without a writer."""
    size = os.fstat(descriptor).st_size
    if size < _PIECE_BYTES and len(piece := os.pread(descriptor, size + 1, 0)) <= size:
        return digest_of(piece)  # most files are short, and a buffer for long ones is slow to allocate
    state, offset = hashlib.blake2b(digest_size=32), 0
    while piece := os.pread(descriptor, _PIECE_BYTES, offset):
        state.update(piece)
        offset += len(piece)
    return Digest(state.digest())


def check_size(path: str, size: int, limit_bytes: int) -> None:
    """Raise Damaged for a file that is too large. path: for the message."""
    if size > limit_bytes:
        raise Damaged(f"{printable(path)!r} has {size} bytes; more than {limit_bytes} are not synced.")


def wait_for_writers(descriptor: int, seconds: float) -> bool:
    """Whether the file has no writer any more, within *seconds* seconds."""
    end = time.monotonic() + seconds
    while not _is_settled(descriptor, None):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _read_all(descriptor: int, size_bytes: int) -> bytes:
    data = b""
    while len(data) < size_bytes and (piece := os.pread(descriptor, size_bytes - len(data), len(data))):
        data += piece
    return data


def _check_settled(descriptor: int, path: str, earlier: Stat | None) -> Stat:
    if not stat_of(os.fstat(descriptor)).is_file:
        raise Refused(f"{printable(path)!r} is not a regular file; it is neither read nor replaced.")
    if not _is_settled(descriptor, earlier):
        raise Busy(f"{printable(path)!r} is open for writing in another program.")
    return stat_of(os.fstat(descriptor))


def _is_settled(descriptor: int, earlier: Stat | None) -> bool:
    writer = kernel.has_writer(descriptor)
    if writer is not None:
        return not writer
    if earlier is None:
        earlier = stat_of(os.fstat(descriptor))
        time.sleep(PROBE_PAUSE_SECONDS)
    return earlier == stat_of(os.fstat(descriptor))


def _check_unchanged(descriptor: int, path: str, before: Stat) -> None:
    if kernel.has_writer(descriptor) or stat_of(os.fstat(descriptor)) != before:
        raise Busy(f"{printable(path)!r} changed while it was read.")
