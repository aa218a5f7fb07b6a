"""
Opens paths beneath a directory, and reads an open file only while no program is writing to it.

A path never leads above the directory, through a symbolic link, or across a mount.
"""

import errno
import hashlib
import os
import stat
import time

from mirrord.domain.entry import Digest, digest_of
from mirrord.errors import Busy, Damaged, Mounted, Refused
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.kernel import Stat, stat_of
from mirrord.mirror.tree.tree_layout import lineage, printable

DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY
PATH_ONLY_FLAGS = os.O_PATH | os.O_NOFOLLOW  # to inspect the entry of that name, a link too
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY  # a fifo must not block

_MAX_PATH_BYTES = 4096  # with the final zero; longer paths go step by step
_MAX_SHORT_CODE_POINTS = _MAX_PATH_BYTES // 4  # of at most 4 bytes each
_OUTSIDE = frozenset({"", ".", ".."})


def check_path(path: str) -> None:
    """Refuse a path that is not plainly inside: absolute, `..`, empty parts, a zero byte."""
    if (path and not _OUTSIDE.isdisjoint(path.split("/"))) or "\0" in path:
        raise Refused(f"The path {printable(path)!r} does not stay plainly inside the tree.")


def open_beneath(root: int, path: str, flags: int, *, native: bool, crosses_mounts: bool = False) -> int:
    """
    A descriptor of *path* beneath *root*.

    native: use openat2; else go step by step without following links, comparing the mount of each step.
    crosses_mounts: whether mounts below *root* belong to it.

    Raises:
        Mounted: something is mounted on the way.
        Refused: the path leaves the tree, or a symbolic link is in the way.
        OSError: as open(2).
    """
    check_path(path)
    try:
        if native and (len(path) < _MAX_SHORT_CODE_POINTS or len(os.fsencode(path)) < _MAX_PATH_BYTES):
            return (kernel.openat2_across if crosses_mounts else kernel.openat2)(root, path or ".", flags)
        return _open_stepwise(root, path, flags, crosses_mounts=crosses_mounts)
    except OSError as error:
        if error.errno == errno.EXDEV and (mount := _mount_above(root, path)) is not None:
            raise mount_error(path, mount) from None
        if error.errno in (errno.ELOOP, errno.EXDEV):
            raise Refused(f"A symbolic link is in the path {printable(path)!r}; links are not followed.") from None
        if error.errno == errno.ENAMETOOLONG:
            raise Refused(f"A name in {printable(path)!r} is too long for this file system.") from None
        raise


def mount_error(path: str, mount: str) -> Mounted:
    """The error for *path* below a mount on the directory or file *mount*."""
    return Mounted(f"{printable(path)!r} {why_not_mirrored(mount)}.")


def why_not_mirrored(mount: str) -> str:
    """The rest of a sentence that begins with a path at or below *mount*."""
    return (
        f"is not mirrored, because another file system or a bind mount is on {printable(mount)!r}; unmount that, or "
        "mount it outside the tree and put the files themselves here"
    )


def _mount_above(root: int, path: str) -> str | None:
    """The first part of *path* that is a mount point; None: there is none."""
    for above in [*lineage(path)][::-1]:
        try:
            os.close(kernel.openat2(root, above, PATH_ONLY_FLAGS))
        except OSError as error:
            if error.errno == errno.EXDEV and _is_inside(root, above):
                return above
    return None


def _is_inside(root: int, path: str) -> bool:
    """Whether a mount is the only obstacle on the way to *path*."""
    try:
        os.close(kernel.openat2_across(root, path, PATH_ONLY_FLAGS))
    except OSError:
        return False
    return True


def _open_stepwise(root: int, path: str, flags: int, *, crosses_mounts: bool) -> int:
    """Raises Mounted before anything below a mount is opened."""
    parts = path.split("/") if path else ["."]
    mount = None if crosses_mounts else _mount_of(root)
    directory = root
    try:
        for number, part in enumerate(parts, 1):
            below = _open_part(directory, part, DIRECTORY_FLAGS if number < len(parts) else flags)
            if directory != root:
                os.close(directory)
            directory = below
            if mount is not None and _mount_of(below) != mount:
                raise mount_error(path, "/".join(parts[:number]))
        descriptor, directory = directory, root
        return descriptor
    finally:
        if directory != root:
            os.close(directory)


def _mount_of(descriptor: int) -> int:
    """The number of the mount that a file or directory is on; without /proc, of its device."""
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as lines:
            return next(int(line.partition(":")[2]) for line in lines if line.startswith("mnt_id:"))
    except (FileNotFoundError, StopIteration):
        return os.fstat(descriptor).st_dev


def _open_part(directory: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        raise


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
