"""The tree of one tenant: every path in it is opened beneath one descriptor of its root."""

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from mirrord.domain.entry import Digest
from mirrord.domain.place import DEFAULT_ATTACHMENTS
from mirrord.errors import Busy, Refused, Stale, Unavailable
from mirrord.mirror.tree import contained_files, kernel
from mirrord.mirror.tree.file_access import make_directory
from mirrord.mirror.tree.kernel import OpenDescriptor, Stat, stat_of
from mirrord.mirror.tree.replaced_file import Replaced
from mirrord.mirror.tree.tree_layout import is_in_journal_directory, is_own_state, name_of, parent_of, printable

__all__ = ["Layer", "Stat", "Tree", "check_entry"]


class Layer(NamedTuple):
    """One of the trees that are listed as one. hidden: names in its directory that are not listed."""

    tree: "Tree"
    hidden: Set[str]


class Tree:
    """
    One tenant's root, held open.

    lower: of a draft, the tree that it is laid over. moved_from: of a draft, the path in *lower* of files that are
    elsewhere there, None for new files at paths that *lower* has.

    Paths are tenant-relative as in `layout`; names that are not UTF-8 appear as in os.fsdecode.
    Every method may raise Refused (the path leaves the tree or crosses a symbolic link) and OSError.
    """

    lower: "Tree | None" = None
    moved_from: Mapping[str, str | None] = MappingProxyType({})

    def __init__(self, root: Path, attachments: tuple[str, ...] = DEFAULT_ATTACHMENTS) -> None:
        """
        *attachments*: patterns of attachments, as in `mirror.attachments` of the configuration.

        Raises Unavailable if *root* is missing or no directory (a symbolic link is none).
        """
        self.root = root
        self.attachments = attachments
        try:
            self.descriptor = os.open(root, contained_files.DIRECTORY_FLAGS | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Unavailable(f"The root {root} cannot be opened: {error.strerror}.") from error
        self.opened_as = self._stat_root()
        self.native = self._has_openat2()
        self.can_exchange = True
        self.has_leases = True
        self.idle_locks: list[int] = []  # see lock.write_lock
        self._probed = False

    def close(self) -> None:
        """Close the root; no other method may be called afterwards."""
        while self.idle_locks:
            os.close(self.idle_locks.pop())
        os.close(self.descriptor)

    @property
    def missing_abilities(self) -> list[str]:
        """Missing abilities of kernel and file system, as sentences; complete once a journal was opened."""
        abilities = {
            "The kernel lacks openat2: paths are walked step by step.": self.native,
            "The file system cannot exchange names: a file being replaced is absent for a moment.": (self.can_exchange),
            "The file system has no leases: reading a file takes 0.3 s longer.": self.has_leases,
        }
        return [sentence for sentence, is_present in abilities.items() if not is_present]

    def root_identity(self) -> tuple[int, int] | None:
        """(device, inode) at the path of the root now, None if it is free; differs from `opened_as` if replaced."""
        try:
            status = os.stat(self.root, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status.st_dev, status.st_ino

    def disk_space(self) -> tuple[int, int]:
        """Available bytes of the file system, and its size in bytes."""
        status = os.fstatvfs(self.descriptor)
        return status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize

    def stat(self, path: str) -> Stat | None:
        """The stat of *path*, of a link itself and not of its target; None if the path is free."""
        try:
            descriptor = self._open(path, contained_files.PATH_ONLY_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            stat = stat_of(os.fstat(descriptor))
        finally:
            os.close(descriptor)
        if stat.device != self.opened_as[0]:
            self._refuse_other_device(path, stat)
        return stat

    def _refuse_other_device(self, path: str, stat: Stat) -> None:
        """
        Refuse subvolumes: they are no mounts, but names cannot be exchanged with theirs either.

        On some file systems files report another device than their directory; the directory counts.
        """
        if stat.is_directory:
            raise contained_files.mount_error(path, path)
        with self.open_directory(parent_of(path)) as parent:
            if os.fstat(parent).st_dev != self.opened_as[0]:
                raise contained_files.mount_error(path, parent_of(path))

    def was_made_since(self, path: str, moment_ns: int) -> bool | None:
        """
        Whether the entry at *path* was created after *moment_ns*: new files get the inodes of removed ones.

        None if the path is free, or the file system does not record creation times.
        """
        try:
            descriptor = self._open(path, contained_files.PATH_ONLY_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            born_ns = kernel.born_ns(descriptor)
            return born_ns > moment_ns if born_ns is not None else None
        finally:
            os.close(descriptor)

    def has_exact_spelling(self, path: str) -> bool:
        """Whether *path* exists in exactly this spelling: a file system that ignores case opens others too."""
        while path:
            try:
                if name_of(path) not in self.list_names(parent_of(path)):
                    return False
            except (FileNotFoundError, NotADirectoryError):
                return False
            path = parent_of(path)
        return True

    def read(self, path: str, limit_bytes: int, earlier: Stat | None = None) -> tuple[bytes, Stat]:
        """
        The bytes of a file without a writer, with their stat.

        earlier: a stat of this file at least 0.3 s old; avoids a wait where leases are unavailable.

        Raises:
            Busy: the file has a writer; try again later.
            Damaged: more than *limit_bytes*.
            Refused: not a regular file.
            FileNotFoundError: the path is free.
        """
        with self.open_file(path) as descriptor:
            return contained_files.read(descriptor, path, limit_bytes, earlier)

    def snapshot(self, path: str, limit_bytes: int) -> tuple[bytes, Stat]:
        """Like read(), for a file with a writer: its bytes at one moment."""
        with self.open_file(path) as descriptor:
            return contained_files.read_now(descriptor, path, limit_bytes)

    def digest(self, path: str, earlier: Stat | None = None) -> tuple[Digest, Stat]:
        """Like read(), for a file of any size, but only its digest."""
        with self.open_file(path) as descriptor:
            return contained_files.digest(descriptor, path, earlier)

    def digest_now(self, path: str) -> Digest | None:
        """Like digest(), with or without a writer; None: the path is free."""
        try:
            with self.open_file(path) as descriptor:
                return contained_files.digest_now(descriptor)
        except FileNotFoundError:
            return None

    def list_stats(self, path: str) -> dict[str, Stat]:
        """The stats of the entries of a directory, by name."""
        with self.open_directory(path) as descriptor, os.scandir(descriptor) as entries:
            return {entry.name: stat_of(entry.stat(follow_symlinks=False)) for entry in entries}

    def list_names(self, path: str) -> list[str]:
        """The names in a directory."""
        with self.open_directory(path) as descriptor:
            return os.listdir(descriptor)

    @property
    def whole(self) -> "Tree":
        """The tree without the limits of a scope."""
        return self

    def shows(self, path: str) -> bool:
        """Whether what is at *path* may be seen through this tree."""
        return True

    def layers(self, path: str) -> "tuple[Layer, ...]":
        """The trees whose directories at *path* are listed as one, that of the newest entries first."""
        return (Layer(self, frozenset()),)

    def layer_of(self, path: str) -> "Tree":
        """The tree that has the file at *path*."""
        return self

    def own_entries(self) -> Iterable[tuple[str, Stat]]:
        """Of a draft: its own files and directories by path, without mirrord's state."""
        return ()

    def own_paths(self) -> Iterable[str]:
        """Of a draft: the paths of its own files, and of some that are gone; cheaper than own_entries()."""
        return ()

    def claim(self, *paths: str, new_bytes: int = 0) -> None:
        """
        Note that the entries at *paths* will change next, by *new_bytes* at most; a draft copies them before.

        Raises DraftFull if a draft has no space for them.
        """

    def claim_with_next_syncs(self, path: str, new_bytes: int) -> None:
        """As claim(), but for certain only after two syncing_notes(): before the change, and before it is reported."""

    def write_first_text(self, path: str, data: bytes, replaced: Replaced) -> bool:
        """Of a draft: make *data* its first text at *path*. False: it has one, or this is no draft."""
        return False

    @contextlib.contextmanager
    def syncing_notes(self) -> Iterator[Sequence[int]]:
        """The descriptors of notes about claims that are not durable; who uses it syncs them within the `with`."""
        yield ()

    def claim_new_directory(self, path: str) -> None:
        """Note that a directory will be made at *path*, if there is none."""

    def note_move(self, source: str, target: str) -> None:
        """Note that the file at *source* was moved to *target*, without move()."""

    def note_removal(self, path: str) -> None:
        """Note that the file at *path* went to the trash; a later one there is another."""

    def make_directories(self, path: str, mode: int | None = None) -> None:
        """Create the directory and its parents where they are missing, durably. mode: None for the readers of each."""
        try:
            with self.open_directory(path):
                return
        except FileNotFoundError:
            pass
        parts = path.split("/")
        for depth in range(len(parts)):
            with self.open_directory("/".join(parts[:depth])) as parent, contextlib.suppress(FileExistsError):
                make_directory(parent, parts[depth], mode)
                kernel.fsync(parent)

    def remove_directory(self, path: str) -> bool:
        """Remove a directory if it is empty, and return whether it is gone."""
        check_entry(path)
        try:
            with self.open_directory(parent_of(path)) as parent:
                kernel.rmdir(parent, name_of(path))
                kernel.fsync(parent)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                return False
            raise
        return True

    def move(self, source: str, target: str) -> Stat:
        """
        Rename a file or directory and return the stat of *target* afterwards, for comparison with the expected one.

        Raises:
            Stale: *target* exists already, or *source* does not.
            FileNotFoundError: the directory of *target* does not exist.
        """
        for path in (source, target):
            if not is_in_journal_directory(path):
                check_entry(path)
        self.claim(source, target)
        with self.open_directory(parent_of(target)) as into:
            try:
                with self.open_directory(parent_of(source)) as out:
                    self.rename_new(out, name_of(source), into, name_of(target))
                    kernel.fsync(into)
                    kernel.fsync(out)
            except FileExistsError:
                raise Stale(f"{printable(target)!r} exists already; {printable(source)!r} stays.") from None
            except FileNotFoundError:
                raise Stale(f"{printable(source)!r} is no longer there.") from None
            return stat_of(os.stat(name_of(target), dir_fd=into, follow_symlinks=False))

    def exchange(self, first: str, other: str) -> None:
        """
        Exchange the entries at two paths atomically.

        Raises Stale if one of them is missing; kernel.Unsupported unless `can_exchange`.
        """
        check_entry(first)
        check_entry(other)
        self.claim(first, other)
        try:
            with (
                self.open_directory(parent_of(first)) as one_parent,
                self.open_directory(parent_of(other)) as other_parent,
            ):
                kernel.exchange(one_parent, name_of(first), other_parent, name_of(other))
                kernel.fsync(one_parent)
                kernel.fsync(other_parent)
        except FileNotFoundError:
            raise Stale(f"{printable(first)!r} or {printable(other)!r} is no longer there.") from None

    def open_path(self, path: str, flags: int) -> OpenDescriptor:
        """A descriptor of *path* for the length of a `with`."""
        return OpenDescriptor(self._open(path, flags))

    def open_directory(self, path: str) -> OpenDescriptor:
        """A descriptor of the directory at *path* for the length of a `with`."""
        return self.open_path(path, contained_files.DIRECTORY_FLAGS)

    def open_file(self, path: str, known_stat: Stat | None = None) -> OpenDescriptor:
        """
        A descriptor of the regular file at *path*, open for reading; never waits for a fifo.

        known_stat: a fresh result of stat(); avoids another call.
        """
        stat = known_stat or self.stat(path)
        if stat and not stat.is_file:  # opening a device may have effects
            raise Refused(f"{printable(path)!r} is not a regular file; it is neither read nor replaced.")
        try:
            return self.open_path(path, contained_files.FILE_FLAGS)
        except NotADirectoryError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
        except BlockingIOError:
            raise Busy(f"{printable(path)!r} is held by another program.") from None

    def rename_new(self, out: int, source: str, into: int, target: str) -> None:
        """Rename between two open directories without replacing anything; FileExistsError if *target* exists."""
        try:
            kernel.rename_new(out, source, into, target)
        except kernel.Unsupported:
            # a directory: rename(2) replaces only an empty one
            if _has_name(into, target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
            kernel.rename(out, source, into, target)

    def probe_file_system(self, directory: int) -> None:
        """Try once, in a private directory, whether the file system can exchange names and set leases."""
        if self._probed:
            return
        self._probed = True
        for name in _PROBE_NAMES:
            os.close(kernel.create(directory, name, 0o600))
        try:
            kernel.exchange(directory, _PROBE_NAMES[0], directory, _PROBE_NAMES[1])
        except OSError:
            self.can_exchange = False
        try:
            descriptor = os.open(_PROBE_NAMES[0], contained_files.FILE_FLAGS, dir_fd=directory)
            self.has_leases = kernel.has_writer(descriptor) is False
            os.close(descriptor)
        finally:
            for name in _PROBE_NAMES:
                kernel.unlink(directory, name)

    def _open(self, path: str, flags: int) -> int:
        return contained_files.open_beneath(self.descriptor, path, flags, native=self.native)

    def _stat_root(self) -> tuple[int, int]:
        status = os.fstat(self.descriptor)
        return status.st_dev, status.st_ino

    def _has_openat2(self) -> bool:
        try:
            os.close(kernel.openat2(self.descriptor, ".", contained_files.DIRECTORY_FLAGS))
        except OSError:
            return False
        return True


_PROBE_NAMES = ("p.probe-1", "p.probe-2")


def check_entry(path: str) -> None:
    """Refuse a path that no entry can have: outside the tree, the root itself, or mirrord's own state."""
    contained_files.check_path(path)
    if not path or is_own_state(path):
        raise Refused(f"{printable(path)!r} belongs to mirrord itself and is not a page.")


def _has_name(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
