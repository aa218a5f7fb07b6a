"""
The system calls of this package in one place: those Python lacks, and every one that changes the tree.

Tests that inject kills and errors at system calls need only this module. Linux only.
"""

import ctypes
import errno
import fcntl
import functools
import os
import platform
import signal
import stat as modes
import struct
import sys
from typing import NamedTuple

from mirrord.errors import UserError
from mirrord.mirror.tree import kernel_aio

_OPENAT2 = ctypes.c_long(437)  # the same on every architecture
_RENAMEAT2 = {"x86_64": ctypes.c_long(316), "aarch64": ctypes.c_long(276)}
_RESOLVE_NO_XDEV, _RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x01, 0x02, 0x04, 0x08
_NOREPLACE, _EXCHANGE = 1, 2
_SYNC_FILE_RANGE_WRITE = 2
_WHOLE_FILE = ctypes.c_int64(0)  # from the first byte, to the last

# linux/stat.h: Python has no statx before 3.15
_STATX_BYTES, _STATX_BTIME, _STATX_BTIME_AT, _AT_EMPTY_PATH = 256, 0x800, 80, 0x1000

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP}

_RACY_NS = 20_000_000  # a file that changed so recently may change again under the same stat

_libc = ctypes.CDLL(None, use_errno=True)


class OpenDescriptor:
    """A descriptor that is closed at the end of its `with`. A generator would be a dozen times slower."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


class Stat(NamedTuple):
    """The facts that distinguish two states of a file, all from one stat call."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    mode: int
    links: int

    @property
    def is_file(self) -> bool:
        return modes.S_ISREG(self.mode)

    @property
    def is_directory(self) -> bool:
        return modes.S_ISDIR(self.mode)

    @property
    def is_link(self) -> bool:
        return modes.S_ISLNK(self.mode)

    def has_same_content(self, other: "Stat") -> bool:
        """Whether the file was not written between both; a rename, which changes only ctime, is allowed."""
        return self[:4] == other[:4]

    def is_settled(self, began_ns: int) -> bool:
        """Whether a read that began at *began_ns*, after this stat, stays valid as long as the stat is the same."""
        return self.ctime_ns < began_ns - _RACY_NS


class Unsupported(OSError):
    """The kernel or file system lacks the call; the documented fallback takes its place."""


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def stat_of(raw: os.stat_result) -> Stat:
    """The part of a stat result that mirrord compares."""
    return Stat(raw.st_dev, raw.st_ino, raw.st_size, raw.st_mtime_ns, raw.st_ctime_ns, raw.st_mode, raw.st_nlink)


def stat_loosely(directory: int, path: str) -> Stat | None:
    """
    The stat of *path* beneath *directory*; None if it is free. Quick, but links on the way are followed.

    So it is only for comparison with an earlier stat, not before opening what is there.
    """
    try:
        return stat_of(os.stat(path, dir_fd=directory, follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return None


def born_ns(descriptor: int) -> int | None:
    """Creation time of the file or directory, by the kernel's clock; None if the file system does not record it."""
    buffer = ctypes.create_string_buffer(_STATX_BYTES)
    if _libc.statx(ctypes.c_int(descriptor), b"", _AT_EMPTY_PATH, _STATX_BTIME, buffer) != 0:
        return None
    (mask,) = struct.unpack_from("<I", buffer, 0)
    seconds, nanoseconds = struct.unpack_from("<qI", buffer, _STATX_BTIME_AT)
    return int(seconds) * 1_000_000_000 + int(nanoseconds) if mask & _STATX_BTIME else None


def openat2(directory: int, path: str, flags: int, mode: int = 0) -> int:
    """Open *path* beneath *directory*, through no link or mount; O_PATH | O_NOFOLLOW may open a final link."""
    how, size = _open_how(flags, mode, _RESOLVE_NO_XDEV)
    return _call_kernel(path, _OPENAT2, directory, os.fsencode(path), how, size)


def openat2_across(directory: int, path: str, flags: int) -> int:
    """Like openat2(), but across mounts."""
    how, size = _open_how(flags, 0, 0)
    return _call_kernel(path, _OPENAT2, directory, os.fsencode(path), how, size)


@functools.cache
def _open_how(flags: int, mode: int, extra_resolve: int) -> tuple[object, object]:
    """The last two arguments of openat2; cached, since every look and write uses them."""
    resolve = _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS | extra_resolve
    how = _OpenHow(flags | os.O_CLOEXEC, mode, resolve)
    return ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how))


def exchange(source_in: int, source: str, target_in: int, target: str) -> None:
    """Swap two names at once; both must exist."""
    _renameat2(source_in, source, target_in, target, _EXCHANGE)


def rename_new(source_in: int, source: str, target_in: int, target: str) -> None:
    """
    Rename without replacing anything.

    Raises:
        FileExistsError: *target* exists.
        Unsupported: the call is missing, and *source* is a directory, which cannot be linked instead.
    """
    try:
        _renameat2(source_in, source, target_in, target, _NOREPLACE)
    except Unsupported:
        if modes.S_ISDIR(os.stat(source, dir_fd=source_in, follow_symlinks=False).st_mode):
            raise
        link(source_in, source, target_in, target)
        unlink(source_in, source)


def rename(source_in: int, source: str, target_in: int, target: str) -> None:
    """Plain rename: replaces *target*. For our own names and for moving a page out of the tree."""
    os.rename(source, target, src_dir_fd=source_in, dst_dir_fd=target_in)


def link(source_in: int, source: str, target_in: int, target: str) -> None:
    """Create a second name of a file."""
    os.link(source, target, src_dir_fd=source_in, dst_dir_fd=target_in, follow_symlinks=False)


def unlink(directory: int, name: str) -> None:
    """Remove the name of a file."""
    os.unlink(name, dir_fd=directory)


def mkdir(directory: int, name: str, mode: int) -> None:
    """Make one directory; the umask applies."""
    os.mkdir(name, mode, dir_fd=directory)


def rmdir(directory: int, name: str) -> None:
    """Remove an empty directory."""
    os.rmdir(name, dir_fd=directory)


def create(directory: int, name: str, mode: int) -> int:
    """Create a file and open it for writing; the umask applies."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, mode, dir_fd=directory)


def write(descriptor: int, data: bytes) -> None:
    """Write all of *data*; the kernel may take it in pieces."""
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]


def write_new(directory: int, name: str, data: bytes) -> None:
    """Create a private file with *data*, durably; its name is durable after a sync of the directory."""
    descriptor = create(directory, name, 0o600)
    try:
        write(descriptor, data)
        fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync(descriptor: int) -> None:
    """Make a file or a directory durable."""
    os.fsync(descriptor)


def fsync_all(*descriptors: int) -> None:
    """
    Make files or directories durable, concurrently: a disk flushes several as fast as one.

    Raises OSError if one fails; all are tried.
    """
    if len(descriptors) > 1:
        for descriptor in descriptors:
            begin_writeback(descriptor)
    pending = kernel_aio.PendingSyncs(descriptors[:-1])  # concurrently, as far as the kernel accepts
    failed = [*map(_fsync_error, descriptors[pending.count :]), pending.wait()]
    for error in filter(None, failed):
        raise error


def _fsync_error(descriptor: int) -> OSError | None:
    try:
        fsync(descriptor)
    except OSError as error:
        return error
    return None


def begin_writeback(descriptor: int) -> None:
    """
    Have what was written to a file sent to the disk, without waiting: it is not durable by that.

    Blocks are given to a file only then: after another sync has begun, that would take a commit of its own. What fails
    here fails again when the file is synced.
    """
    _libc.sync_file_range(ctypes.c_int(descriptor), _WHOLE_FILE, _WHOLE_FILE, ctypes.c_uint(_SYNC_FILE_RANGE_WRITE))


def syncfs(descriptor: int) -> None:
    """Make the whole file system of *descriptor* durable: for many files far faster than one sync each."""
    if _libc.syncfs(ctypes.c_int(descriptor)) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def has_writer(descriptor: int) -> bool | None:
    """
    Whether another descriptor is open for writing; None: unknown (not our file, no leases).

    *descriptor* is open for reading only. The lease is released at once: it would delay writers.
    """
    return _lease_refused(descriptor, fcntl.F_RDLCK)


def is_open_elsewhere(descriptor: int) -> bool | None:
    """Whether the file is open elsewhere at all; None: unknown."""
    return _lease_refused(descriptor, fcntl.F_WRLCK)


def _lease_refused(descriptor: int, kind: int) -> bool | None:
    if signal.getsignal(signal.SIGIO) is not signal.SIG_IGN:
        return None  # a writer that opens a leased file would kill this process
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, kind)
    except OSError as refusal:
        return True if refusal.errno == errno.EAGAIN else None
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def _renameat2(source_in: int, source: str, target_in: int, target: str, flags: int) -> None:
    number = _RENAMEAT2.get(platform.machine())
    if number is None:
        raise Unsupported(errno.ENOSYS, "renameat2 has no known number on this machine")
    _call_kernel(target, number, source_in, os.fsencode(source), target_in, os.fsencode(target), flags)


def _call_kernel(path: str, number: ctypes.c_long, *arguments: object) -> int:
    """Call syscall(2). ctypes passes a plain int as a C int, and bytes as a string."""
    while True:
        result: int = _libc.syscall(number, *arguments)
        if result >= 0:
            return result
        code = ctypes.get_errno()
        if code in _UNSUPPORTED:
            raise Unsupported(code, os.strerror(code), path)
        if code != errno.EINTR:
            raise OSError(code, os.strerror(code), path)


if not sys.platform.startswith("linux"):
    raise UserError("mirrord keeps files safe with calls that only Linux has; run it on Linux.")
