"""
The system calls of this room, in one place: those Python lacks, and every one that changes the tree.

Whoever enumerates kills and errors at system calls has to look nowhere else. Linux only.
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
from mirrord.mirror import aio

_OPENAT2 = ctypes.c_long(437)  # the same on every architecture
_RENAMEAT2 = {"x86_64": ctypes.c_long(316), "aarch64": ctypes.c_long(276)}
_RESOLVE_NO_XDEV, _RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x01, 0x02, 0x04, 0x08
_NOREPLACE, _EXCHANGE = 1, 2

# linux/stat.h: Python has no statx before 3.15
_STATX_BYTES, _STATX_BTIME, _STATX_BTIME_AT, _AT_EMPTY_PATH = 256, 0x800, 80, 0x1000

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP}

_RACY = 20_000_000  # nanoseconds: what changed that shortly before may change again under the same stat

_libc = ctypes.CDLL(None, use_errno=True)


class Stat(NamedTuple):
    """What tells one state of a file from another, all from one stat call."""

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

    def same_content(self, other: "Stat") -> bool:
        """Whether nothing wrote to the file between both; a rename changes only ctime and may have happened."""
        return self[:4] == other[:4]

    def is_settled(self, began_ns: int) -> bool:
        """Whether what somebody began to read at that time is there as long as this stat, taken by then, stays."""
        return self.ctime_ns < began_ns - _RACY


class Unsupported(OSError):
    """This kernel or file system lacks the call; the documented fallback takes its place."""


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def stat_of(raw: os.stat_result) -> Stat:
    """The part of a stat result mirrord compares."""
    return Stat(raw.st_dev, raw.st_ino, raw.st_size, raw.st_mtime_ns, raw.st_ctime_ns, raw.st_mode, raw.st_nlink)


def born_ns(descriptor: int) -> int | None:
    """When the file or directory was made, by the kernel's clock; None where the file system does not keep it."""
    found = ctypes.create_string_buffer(_STATX_BYTES)
    if _libc.statx(ctypes.c_int(descriptor), b"", _AT_EMPTY_PATH, _STATX_BTIME, found) != 0:
        return None
    (known,) = struct.unpack_from("<I", found, 0)
    seconds, nanoseconds = struct.unpack_from("<qI", found, _STATX_BTIME_AT)
    return int(seconds) * 1_000_000_000 + int(nanoseconds) if known & _STATX_BTIME else None


def openat2(directory: int, path: str, flags: int, mode: int = 0) -> int:
    """Open *path* beneath *directory*, through no link or mount at all; O_PATH | O_NOFOLLOW may open a final link."""
    how, size = _how(flags, mode, _RESOLVE_NO_XDEV)
    return _called(path, _OPENAT2, directory, os.fsencode(path), how, size)


def openat2_across(directory: int, path: str, flags: int) -> int:
    """The same, also where something is mounted on the way."""
    how, size = _how(flags, 0, 0)
    return _called(path, _OPENAT2, directory, os.fsencode(path), how, size)


@functools.cache
def _how(flags: int, mode: int, more: int) -> tuple[object, object]:
    """The last two arguments of openat2; made once, since every look and write goes through here."""
    resolve = _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS | more
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
        Unsupported: no such call here, and a directory cannot be linked instead.
    """
    try:
        _renameat2(source_in, source, target_in, target, _NOREPLACE)
    except Unsupported:
        if modes.S_ISDIR(os.stat(source, dir_fd=source_in, follow_symlinks=False).st_mode):
            raise
        link(source_in, source, target_in, target)
        unlink(source_in, source)


def rename(source_in: int, source: str, target_in: int, target: str) -> None:
    """Plain rename: replaces *target*. For names of our own and for moving a page out of the tree."""
    os.rename(source, target, src_dir_fd=source_in, dst_dir_fd=target_in)


def link(source_in: int, source: str, target_in: int, target: str) -> None:
    """A second name for a file."""
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
    """A new file open for writing; the umask applies."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, mode, dir_fd=directory)


def write(descriptor: int, data: bytes) -> None:
    """Write all of *data*; the kernel may take it in pieces."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def fsync(descriptor: int) -> None:
    """Make a file or a directory durable."""
    os.fsync(descriptor)


def fsync_all(*descriptors: int) -> None:
    """
    Make files or directories durable, all at once: a disk flushes for several as quickly as for one.

    Raises OSError unless all are; each is tried.
    """
    begun = aio.Begun(descriptors[:-1])  # the kernel does what it can beside us
    failed = [*map(_failure, descriptors[begun.count :]), begun.end()]
    for error in filter(None, failed):
        raise error


def _failure(descriptor: int) -> OSError | None:
    try:
        fsync(descriptor)
    except OSError as error:
        return error
    return None


def syncfs(descriptor: int) -> None:
    """Make all that was written to the file system of *descriptor* durable: of many files, far quicker than each."""
    if _libc.syncfs(ctypes.c_int(descriptor)) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def has_writer(descriptor: int) -> bool | None:
    """
    Whether somebody has the file open for writing; None: cannot be known here (not our file, no leases).

    *descriptor* is open for reading only. The lease is dropped at once: held, it would delay writers.
    """
    return _lease_refused(descriptor, fcntl.F_RDLCK)


def has_other(descriptor: int) -> bool | None:
    """Whether somebody else has the file open at all; None: cannot be known here."""
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
    _called(target, number, source_in, os.fsencode(source), target_in, os.fsencode(target), flags)


def _called(path: str, number: ctypes.c_long, *arguments: object) -> int:
    """ctypes takes a plain int for a C int, and bytes for a string."""
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
