"""The tree as last seen, in memory: the daemon's cache of `state.db`; which changes are complete."""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from mirrord.domain.entry import Digest, EntryId
from mirrord.domain.place import ASSETS
from mirrord.errors import Refused
from mirrord.mirror.state_file import CachedStat
from mirrord.mirror.tree.ignore_rules import Ignore
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import INDEX_FILE, may_be_synced, renamed_path

Inode = tuple[int, int]  # device, inode

# A packed record begins with the stat, which begins with device and inode, and ends with the digest.
_STAT, _INODE = struct.Struct("<QQQqq"), struct.Struct("<QQ")
_ENTRY_BYTES = 16
_ENTRY, _DIGEST = slice(_STAT.size, _STAT.size + _ENTRY_BYTES), slice(_STAT.size + _ENTRY_BYTES, None)
_INODE_PART = slice(_INODE.size)
_MAX_UNSIGNED = (1 << 64) - 1


class PackedRecords(Mapping[str, CachedStat]):
    """Records by path. packed: the same as _pack() gives them."""

    def __init__(self) -> None:
        self.packed: dict[str, bytes] = {}

    @classmethod
    def of(cls, records: Mapping[str, CachedStat]) -> "PackedRecords":
        """These records, packed; if they are that already, the same object."""
        if isinstance(records, cls):
            return records
        packed_records = cls()
        packed_records.packed.update((path, _pack(record)) for path, record in records.items())
        return packed_records

    def add_row(self, path: str, row: Sequence[Any]) -> None:
        """
        Add a record as `state.db` has it, without a value for each column: of a large tree they took twice as much.

        Raises ValueError if no version of this program wrote it.
        """
        device, inode, size, mtime_ns, ctime_ns, digest, entry = row
        try:
            stat = _STAT.pack(device & _MAX_UNSIGNED, inode & _MAX_UNSIGNED, size, mtime_ns, ctime_ns)
            if len(entry) != _ENTRY_BYTES:
                raise ValueError(f"{path!r} has an entry of {len(entry)} bytes")
            self.packed[path] = stat + entry + digest
        except (struct.error, TypeError) as error:
            raise ValueError(f"{path!r} has no stat: {error}") from error

    def __getitem__(self, path: str) -> CachedStat:
        return _unpack(self.packed[path])

    def __contains__(self, path: object) -> bool:
        return path in self.packed

    def __iter__(self) -> Iterator[str]:
        return iter(self.packed)

    def __len__(self) -> int:
        return len(self.packed)


class Index:
    """Files and folders by path. Observations, never pending work: bases are compared with them in any case."""

    def __init__(self, records: Mapping[str, CachedStat]) -> None:
        """PackedRecords become the index's own, so that a large tree is never in memory twice."""
        self._records = PackedRecords.of(records).packed
        self._paths: dict[bytes, str] = {}
        self._origins: dict[bytes, str] = {}  # only of inodes that were seen elsewhere since
        self._left_ctimes: dict[bytes, int] = {}  # ctimes of inodes whose path is empty or has another inode now
        self._children: dict[str, set[str]] = {}
        for path, packed in self._records.items():
            self._link(path, packed[_INODE_PART])

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, path: str) -> bool:
        return path in self._records

    def get(self, path: str) -> CachedStat | None:
        """The last record of *path*."""
        packed = self._records.get(path)
        return _unpack(packed) if packed is not None else None

    def path_of(self, inode: Inode) -> str | None:
        """The path where an inode was last seen, even if it is empty now: the file may have moved."""
        return self._paths.get(_INODE.pack(*inode))

    def origin_of(self, inode: Inode) -> str | None:
        """The path of an inode when its entry was last known, or at its first look; later looks keep it."""
        key = _INODE.pack(*inode)
        return self._origins.get(key) or self._paths.get(key)

    def changed_ns(self, inode: Inode) -> int | None:
        """The ctime of an inode at the last look, at any path; None: it was never seen."""
        key = _INODE.pack(*inode)
        packed = self._records.get(self._paths.get(key, ""))
        if packed is not None and packed.startswith(key):
            return _packed_ctime_ns(packed)
        return self._left_ctimes.get(key)

    def forget_inode(self, inode: Inode) -> None:
        """Drop the history of an inode number that belongs to a new file now."""
        key = _INODE.pack(*inode)
        for mapping in (self._paths, self._origins, self._left_ctimes):
            mapping.pop(key, None)

    def paths(self) -> Iterable[str]:
        """All paths."""
        return self._records.keys()

    def has_digest(self, path: str, digest: bytes) -> bool:
        """Whether *path* has this digest on record."""
        packed = self._records.get(path)
        return packed is not None and packed[_DIGEST] == digest

    def paths_below(self, directory: str) -> Iterator[str]:
        """The paths below a directory, without itself; the index may change during the iteration."""
        pending = list(self._children.get(directory, ()))
        while pending:
            path = pending.pop()
            pending += self._children.get(path, ())
            if path in self._records:
                yield path

    def children_of(self, directory: str) -> Iterator[str]:
        """The paths of the direct children of *directory*: its pages, folders and attachments, no deeper ones."""
        for path in self._children.get(directory, ()):
            if path.endswith(f"/{ASSETS}"):
                yield from self.paths_below(path)
                continue
            for entry_path in (path, f"{path}/{INDEX_FILE}"):
                if entry_path in self._records:
                    yield entry_path

    def differs(self, path: str, stat: Stat) -> bool:
        """Whether *stat* differs from the record of *path*. A directory differs if its inode does."""
        packed = self._records.get(path)
        if packed is None:
            return True
        if stat.is_directory:
            return not packed.startswith(_INODE.pack(stat.device, stat.inode))
        return not packed.startswith(_STAT.pack(*stat[:5]))

    def unchanged_path(self, path: str, stat: Stat) -> str | None:
        """The stored string equal to *path* if *stat* matches its record; else None."""
        last_path = self.path_of((stat.device, stat.inode))
        return last_path if last_path == path and not self.differs(path, stat) else None

    def record(self, path: str, cached: CachedStat) -> None:
        """Record *path*."""
        previous, packed = self._records.get(path), _pack(cached)
        key = packed[_INODE_PART]
        if previous is not None and not previous.startswith(key):
            self._left_ctimes[previous[_INODE_PART]] = _packed_ctime_ns(previous)
        self._records[path] = packed
        self._left_ctimes.pop(key, None)
        self._link(path, key)

    def set_entry(self, path: str, entry: EntryId) -> CachedStat | None:
        """Set the entry of the file at *path* and return its new record."""
        self.drop_origin(path)
        record = self.get(path)
        if record is not None:
            record = record._replace(entry=entry)
            self._records[path] = _pack(record)
        return record

    def drop_origin(self, path: str) -> None:
        """Drop the origin of the inode at *path*: its entry is known now."""
        if (packed := self._records.get(path)) is not None:
            self._origins.pop(packed[_INODE_PART], None)

    def forget(self, path: str) -> None:
        """Drop the record of *path*: it is empty now."""
        if (packed := self._records.pop(path, None)) is not None:
            self._left_ctimes[packed[_INODE_PART]] = _packed_ctime_ns(packed)
        while path and path not in self._records and not self._children.get(path):
            self._children.pop(path, None)
            parent = path.rpartition("/")[0]
            self._children.get(parent, set()).discard(path)
            path = parent

    def forget_lost_inodes(self) -> None:
        """Drop the history of inodes that no path has: the system gives their numbers to new files."""
        self._paths = {packed[_INODE_PART]: path for path, packed in self._records.items()}
        self._origins = {key: path for key, path in self._origins.items() if key in self._paths}
        self._left_ctimes.clear()

    def rename(self, old: str, new: str) -> None:
        """Apply our own rename of a file or directory, with everything below it."""
        self._insert_below(new, self._remove_below(old))
        self._origins = {key: renamed_path(path, old, new) for key, path in self._origins.items()}

    def exchange(self, first: str, second: str) -> None:
        """Apply an exchange of two files or directories."""
        first_records, second_records = self._remove_below(first), self._remove_below(second)
        self._insert_below(first, second_records)
        self._insert_below(second, first_records)
        for key, path in self._origins.items():
            new_path = renamed_path(path, first, second)
            self._origins[key] = new_path if new_path != path else renamed_path(path, second, first)

    def _remove_below(self, top: str) -> list[tuple[str, CachedStat]]:
        records = [(path, record) for path in [top, *self.paths_below(top)] if (record := self.get(path)) is not None]
        for path, _ in records:
            self.forget(path)
        return [(path[len(top) :], record) for path, record in records]

    def _insert_below(self, top: str, records: list[tuple[str, CachedStat]]) -> None:
        for below, record in records:
            is_settled = _INODE.pack(record.device, record.inode) not in self._origins
            self.record(top + below, record)
            if is_settled:
                self.drop_origin(top + below)

    def _link(self, path: str, key: bytes) -> None:
        """Link *path* to its inode, packed, and to all its parents, also to those that are no folders (`assets`)."""
        if (last_path := self._paths.get(key, path)) != path:
            self._origins.setdefault(key, last_path)
        self._paths[key] = path
        while path:
            parent = path.rpartition("/")[0]
            siblings = self._children.get(parent)
            if siblings is None:
                siblings = self._children[parent] = set()
            elif path in siblings:
                return
            siblings.add(path)
            path = parent


def _pack(record: CachedStat) -> bytes:
    """The record as bytes: as values it takes four times as much memory."""
    return _STAT.pack(*record[:5]) + record.entry.bytes + record.digest


def _unpack(packed: bytes) -> CachedStat:
    """The inverse of _pack()."""
    device, inode, size, mtime_ns, ctime_ns = _STAT.unpack_from(packed)
    return CachedStat(
        device, inode, size, mtime_ns, ctime_ns, Digest(packed[_DIGEST]), EntryId(UUID(bytes=packed[_ENTRY]))
    )


def _packed_ctime_ns(packed: bytes) -> int:
    """The ctime of a packed record."""
    changed_ns: int = _STAT.unpack_from(packed)[4]
    return changed_ns


def is_complete(tree: Tree, index: Index, ignore: Ignore, path: str) -> bool:
    """
    Whether a change at *path* is complete: a known file has other content, or the path is not synced.

    A missing or new name may be half of a rename, an empty file may be about to be filled. The answer is a hint, as
    the change is; it may be asked in another thread than that of the scans.
    """
    if not may_be_synced(path):
        return True
    try:
        stat = tree.stat(path)
    except (OSError, Refused):
        return False
    if path not in index:
        return stat is None or (not stat.is_directory and ignore.rules.excludes(path))
    return stat is not None and stat.is_file and stat.size > 0 and not _is_renamed(index, path, stat)


def _is_renamed(index: Index, path: str, stat: Stat) -> bool:
    """Whether the file was last seen under another name."""
    last_path = index.path_of((stat.device, stat.inode))
    if last_path is None or last_path == path:
        return False
    record = index.get(last_path)  # a new file may be there, and this one may have the inode number of its old one
    return record is not None and (record.device, record.inode) == (stat.device, stat.inode)
