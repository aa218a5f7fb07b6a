"""The tree of one tenant: every path in it is opened beneath one descriptor of its root."""

import contextlib
import errno
import os
from pathlib import Path

from mirrord.domain.entry import Digest
from mirrord.domain.place import ATTACHMENTS
from mirrord.errors import Busy, Refused, Stale, Unavailable
from mirrord.mirror import contained, contents, kernel
from mirrord.mirror.kernel import Stat, stat_of
from mirrord.mirror.layout import is_machine, is_waiting, parent_of, printable

__all__ = ["Stat", "Tree"]

DIRECTORY_MODE = 0o770  # before the umask


class Opened:
    """A descriptor, closed when the `with` over it ends. A generator would take a dozen times as long."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


class Tree:
    """
    One tenant's root, held open.

    Paths are tenant-relative as in `layout`; names that are not UTF-8 appear as os.fsdecode shows them.
    Every method may raise Refused (the path leaves the tree or crosses a symbolic link) and OSError.
    """

    def __init__(self, root: Path, attachments: tuple[str, ...] = ATTACHMENTS) -> None:
        """
        *attachments*: patterns of files that are attachments, as in `mirror.attachments` of the configuration.

        Raises Unavailable if *root* is missing or is no directory (a symbolic link is none).
        """
        self.root = root
        self.attachments = attachments
        try:
            self.descriptor = os.open(root, contained.DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Unavailable(f"The root {root} cannot be opened: {error.strerror}.") from error
        self.opened_as = self._stat_root()
        self.native = self._has_openat2()
        self.can_exchange = True
        self.has_leases = True
        self.idle_locks: list[int] = []  # see lock.write_lock
        self._probed = False

    def close(self) -> None:
        """Give the root back; no other method may be called afterwards."""
        while self.idle_locks:
            os.close(self.idle_locks.pop())
        os.close(self.descriptor)

    @property
    def degraded(self) -> list[str]:
        """What this kernel or file system lacks, as sentences; complete once a journal was opened."""
        lacks = {
            "The kernel lacks openat2: paths are walked step by step.": self.native,
            "The file system cannot exchange names: a file being replaced is absent for a moment.": (self.can_exchange),
            "The file system has no leases: reading a file takes 0.3 s longer.": self.has_leases,
        }
        return [sentence for sentence, present in lacks.items() if not present]

    def identity(self) -> tuple[int, int] | None:
        """(device, inode) of what is at the root's path now, None if nothing; differs from `opened_as` if replaced."""
        try:
            found = os.stat(self.root, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_dev, found.st_ino

    def space(self) -> tuple[int, int]:
        """Bytes of the tree's file system that we may still use, and all of them."""
        found = os.fstatvfs(self.descriptor)
        return found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize

    def stat(self, path: str) -> Stat | None:
        """What is at *path*, a link itself and not its target; None if nothing is."""
        try:
            descriptor = contained.opened(self.descriptor, path, contained.ITSELF, native=self.native)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            found = stat_of(os.fstat(descriptor))
        finally:
            os.close(descriptor)
        if found.device != self.opened_as[0]:
            self._refuse_other_device(path, found)
        return found

    def _refuse_other_device(self, path: str, found: Stat) -> None:
        """
        Subvolumes are no mounts, and names cannot be exchanged with theirs either.

        Of some file systems files say another device than their directory; the directory counts.
        """
        if found.is_directory:
            raise contained.mounted(path, path)
        with self.directory(parent_of(path)) as above:
            if os.fstat(above).st_dev != self.opened_as[0]:
                raise contained.mounted(path, parent_of(path))

    def was_made_since(self, path: str, moment_ns: int) -> bool | None:
        """
        Whether what is at *path* is younger than *moment_ns*: inodes of what was removed are given to new files.

        None if nothing is there, or the file system does not say when things were made.
        """
        try:
            descriptor = contained.opened(self.descriptor, path, contained.ITSELF, native=self.native)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            born_ns = kernel.born_ns(descriptor)
            return born_ns > moment_ns if born_ns is not None else None
        finally:
            os.close(descriptor)

    def spells(self, path: str) -> bool:
        """Whether there is something of exactly this spelling: a file system that ignores case finds others too."""
        while path:
            try:
                with self.directory(parent_of(path)) as above:
                    if _name(path) not in os.listdir(above):
                        return False
            except (FileNotFoundError, NotADirectoryError):
                return False
            path = parent_of(path)
        return True

    def read(self, path: str, limit_bytes: int, earlier: Stat | None = None) -> tuple[bytes, Stat]:
        """
        The bytes of a file nobody is writing to, and the stat they belong to.

        earlier: a stat of this file at least 0.3 s old; spares a wait where leases do not tell.

        Raises:
            Busy: somebody is writing; look again later.
            Damaged: more than *limit_bytes*.
            Refused: not a regular file.
            FileNotFoundError: nothing is there.
        """
        with self.file(path) as descriptor:
            return contents.read(descriptor, path, limit_bytes, earlier)

    def snapshot(self, path: str, limit_bytes: int) -> tuple[bytes, Stat]:
        """Like read(), of a file that somebody goes on writing to: its bytes at one moment."""
        with self.file(path) as descriptor:
            return contents.snapshot(descriptor, path, limit_bytes)

    def digest(self, path: str, earlier: Stat | None = None) -> tuple[Digest, Stat]:
        """Like read(), for a file of any size, but only its digest."""
        with self.file(path) as descriptor:
            return contents.digest(descriptor, path, earlier)

    def digest_now(self, path: str) -> Digest | None:
        """Like digest(), whoever is writing; None: nothing is there."""
        try:
            with self.file(path) as descriptor:
                return contents.digest_now(descriptor)
        except FileNotFoundError:
            return None

    def names(self, path: str) -> dict[str, Stat]:
        """What a directory holds."""
        with self.directory(path) as descriptor, os.scandir(descriptor) as entries:
            return {entry.name: stat_of(entry.stat(follow_symlinks=False)) for entry in entries}

    def make_directories(self, path: str, mode: int = DIRECTORY_MODE) -> None:
        """Make the directory and those above it where they are missing, durably."""
        try:
            with self.directory(path):
                return
        except FileNotFoundError:
            pass
        parts = path.split("/")
        for depth in range(len(parts)):
            with self.directory("/".join(parts[:depth])) as above, contextlib.suppress(FileExistsError):
                kernel.mkdir(above, parts[depth], mode)
                kernel.fsync(above)

    def remove_directory(self, path: str) -> bool:
        """Remove a directory if it is empty; whether it is gone now."""
        check_entry(path)
        try:
            with self.directory(parent_of(path)) as above:
                kernel.rmdir(above, _name(path))
                kernel.fsync(above)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                return False
            raise
        return True

    def move(self, source: str, target: str) -> Stat:
        """
        Rename a file or directory; what is at *target* afterwards, for comparison with what was meant.

        Raises:
            Stale: *target* exists already, or *source* does not.
            FileNotFoundError: the directory of *target* does not exist.
        """
        for path in (source, target):
            if not is_waiting(path):
                check_entry(path)
        with self.directory(parent_of(target)) as into:
            try:
                with self.directory(parent_of(source)) as out:
                    self.rename_new(out, _name(source), into, _name(target))
                    kernel.fsync(into)
                    kernel.fsync(out)
            except FileExistsError:
                raise Stale(f"{printable(target)!r} exists already; {printable(source)!r} stays.") from None
            except FileNotFoundError:
                raise Stale(f"{printable(source)!r} is no longer there.") from None
            return stat_of(os.stat(_name(target), dir_fd=into, follow_symlinks=False))

    def exchange(self, one: str, other: str) -> None:
        """
        Let what is at two paths change places, in one go.

        Raises Stale if one of them is not there; kernel.Unsupported unless `can_exchange`.
        """
        check_entry(one)
        check_entry(other)
        try:
            with self.directory(parent_of(one)) as its, self.directory(parent_of(other)) as others:
                kernel.exchange(its, _name(one), others, _name(other))
                kernel.fsync(its)
                kernel.fsync(others)
        except FileNotFoundError:
            raise Stale(f"{printable(one)!r} or {printable(other)!r} is no longer there.") from None

    def opened(self, path: str, flags: int) -> "Opened":
        """A descriptor of *path* for the length of a `with`."""
        return Opened(contained.opened(self.descriptor, path, flags, native=self.native))

    def directory(self, path: str) -> "Opened":
        """A descriptor of the directory at *path* for the length of a `with`."""
        return self.opened(path, contained.DIRECTORY)

    def file(self, path: str, looked: Stat | None = None) -> "Opened":
        """
        A descriptor of the regular file at *path*, open for reading; never waits for a fifo.

        looked: what stat() said of it just now; spares looking again.
        """
        found = looked or self.stat(path)
        if found and not found.is_file:  # opening a device may already act
            raise Refused(f"{printable(path)!r} is not a regular file; it is neither read nor replaced.")
        try:
            return self.opened(path, contained.FILE)
        except NotADirectoryError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
        except BlockingIOError:
            raise Busy(f"{printable(path)!r} is held by another program.") from None

    def rename_new(self, out: int, source: str, into: int, target: str) -> None:
        """Rename between two open directories without replacing anything; FileExistsError if *target* exists."""
        try:
            kernel.rename_new(out, source, into, target)
        except kernel.Unsupported:
            # a directory: rename(2) replaces nothing but an empty one
            if _exists(into, target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
            kernel.rename(out, source, into, target)

    def probe(self, directory: int) -> None:
        """Try, once, in an own directory, what the file system can: exchange names, set leases."""
        if self._probed:
            return
        self._probed = True
        for name in _PROBES:
            os.close(kernel.create(directory, name, 0o600))
        try:
            kernel.exchange(directory, _PROBES[0], directory, _PROBES[1])
        except OSError:
            self.can_exchange = False
        try:
            descriptor = os.open(_PROBES[0], contained.FILE, dir_fd=directory)
            self.has_leases = kernel.has_writer(descriptor) is False
            os.close(descriptor)
        finally:
            for name in _PROBES:
                kernel.unlink(directory, name)

    def _stat_root(self) -> tuple[int, int]:
        found = os.fstat(self.descriptor)
        return found.st_dev, found.st_ino

    def _has_openat2(self) -> bool:
        try:
            os.close(kernel.openat2(self.descriptor, ".", contained.DIRECTORY))
        except OSError:
            return False
        return True


_PROBES = ("p.probe-1", "p.probe-2")


def check_entry(path: str) -> None:
    """Refuse a path that no entry can have: outside the tree, its root, or mirrord's own state."""
    contained.check(path)
    if not path or is_machine(path):
        raise Refused(f"{printable(path)!r} belongs to mirrord itself and is not a page.")


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _exists(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
