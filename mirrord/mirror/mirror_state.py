"""
`.mirrord/state.db`: what files looked like when their digests were taken, and the mirror's counters.

It is a cache: it may be deleted, damaged or read-only at any moment, at the cost of time only.
"""

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from uuid import UUID

from mirrord.domain.entry import Base, Digest, EntryId, Kind, Place
from mirrord.errors import Refused
from mirrord.mirror.seen_files import PackedRecords
from mirrord.mirror.state_file import CachedStat, cache_of, open_in_memory, open_state_file, transaction
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY
from mirrord.mirror.write.journal import PRIVATE_MODE

STATE_PATH = f"{STATE_DIRECTORY}/state.db"

_STORE_SEEN = "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_STORE_UNRECORDED_BASE = "INSERT OR REPLACE INTO unrecorded_base VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_BASE_COLUMNS = 9  # columns of the table unrecorded_base
_UNRECORDED_BASES = """
SELECT base.*, seen.device, seen.inode, seen.size, seen.mtime_ns, seen.ctime_ns, seen.digest, seen.entry
  FROM unrecorded_base AS base LEFT JOIN seen ON seen.path = base.path AND seen.entry = base.entry"""

log = logging.getLogger(__name__)
T = TypeVar("T")


class State:
    """The open cache of one tree; safe to use from several threads. No method fails because of the file."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._guard = threading.Lock()
        self._file: tuple[int, int] | None = None
        self._rested: Stat | None = None  # of the file when it was closed; its inode may have become another file's
        self._is_another = False  # whether it was another file when it was opened again
        self._last_stored: tuple[str, CachedStat] | None = None  # the newest change of a record, if it was one alone
        self._connection: sqlite3.Connection | None = self._open_or_rebuild()

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()

    @property
    def is_open(self) -> bool:
        """Whether the file is open: rest() closes it, and the next use opens it."""
        return self._connection is not None

    def rest(self) -> None:
        """Close the file until it is needed again: it takes memory and descriptors. A cache in memory stays."""
        with self._guard:
            if self._file is not None and self._connection is not None:
                self._connection.close()
                self._connection, self._rested = None, self._stat_file()

    def is_in_place(self) -> bool:
        """Whether the file is still the one in the tree; if not, open a new State. True for a cache in memory."""
        if self._is_another:
            return False
        if self._file is None:
            return True
        with self._guard:
            return self._is_same(self._tree.stat(STATE_PATH))

    @property
    def is_durable(self) -> bool:
        """Whether stored records outlive this process: the file could be opened."""
        return self._file is not None

    def load(self) -> PackedRecords:
        """All records, by path."""

        def load() -> PackedRecords:
            records = PackedRecords()
            for path, *row in self._database.execute("SELECT * FROM seen"):
                records.add_row(path, row)
            return records

        return self._run_or_default(load, PackedRecords())

    def store(self, changed: Mapping[str, CachedStat], removed: Iterable[str] = ()) -> None:
        """Store *changed* and delete *removed*, in this order; a crash loses at most the last moments."""
        rows = [_seen_row(path, cached) for path, cached in changed.items()]

        def store() -> None:
            self._last_stored, removed_rows = None, [(path,) for path in removed]
            with cache_of(self._database, len(rows)), transaction(self._database) as database:
                database.executemany(_STORE_SEEN, rows)
                database.executemany("DELETE FROM seen WHERE path = ?", removed_rows)
            if len(changed) == 1 and not removed_rows:
                (self._last_stored,) = changed.items()

        self._run_or_default(store, None)

    def has_just_stored(self, changed: Mapping[str, CachedStat]) -> bool:
        """Whether the last change of records was to store *changed*, one record."""
        return len(changed) == 1 and next(iter(changed.items())) == self._last_stored

    def load_unrecorded(self) -> dict[EntryId, Digest]:
        """The digests of files that were written for new entries, and perhaps not recorded in Postgres."""

        def load() -> dict[EntryId, Digest]:
            rows = self._database.execute("SELECT entry, digest FROM unrecorded")
            return {EntryId(UUID(bytes=entry)): Digest(digest) for entry, digest in rows}

        return self._run_or_default(load, {})

    def note_unrecorded(self, digests: Mapping[EntryId, Digest]) -> None:
        """Add files that are about to be written for new entries."""
        rows = [(entry.bytes, digest) for entry, digest in digests.items()]

        def note() -> None:
            with transaction(self._database) as database:
                database.executemany("INSERT OR REPLACE INTO unrecorded VALUES (?, ?)", rows)

        self._run_or_default(note, None)

    def load_unrecorded_bases(self) -> list[tuple[Base, CachedStat | None]]:
        """
        The bases of files that were written, and perhaps not recorded in Postgres, with the files as written.

        None instead of the file for directories, which were made or not.
        """

        def load() -> list[tuple[Base, CachedStat | None]]:
            rows = list(self._database.execute(_UNRECORDED_BASES))
            return [
                (
                    _base_of_row(base_columns),
                    cached_stat_from_row(stat_columns) if stat_columns[0] is not None else None,
                )
                for base_columns, stat_columns in ((row[:_BASE_COLUMNS], row[_BASE_COLUMNS:]) for row in rows)
            ]

        return self._run_or_default(load, [])

    def note_unrecorded_base(self, base: Base, cached: CachedStat) -> None:
        """Add the base of a file that was just written, with the record of the file."""
        assert base.path is not None
        seen_row, base_row = _seen_row(base.path, cached), _row_of_base(base)

        def note() -> None:
            self._last_stored = None
            with transaction(self._database) as database:
                database.execute(_STORE_SEEN, seen_row)
                database.execute(_STORE_UNRECORDED_BASE, base_row)

        self._run_or_default(note, None)

    def note_unrecorded_directories(self, bases: Iterable[Base]) -> None:
        """Add the bases of directories that are about to be made."""
        rows = [_row_of_base(base) for base in bases]

        def note() -> None:
            with transaction(self._database) as database:
                database.executemany(_STORE_UNRECORDED_BASE, rows)

        self._run_or_default(note, None)

    def forget_unrecorded(self, entries: Iterable[EntryId]) -> None:
        """Drop files that are recorded now, or were not written."""
        rows = [(entry.bytes,) for entry in entries]

        def forget() -> None:
            with transaction(self._database) as database:
                database.executemany("DELETE FROM unrecorded WHERE entry = ?", rows)
                database.executemany("DELETE FROM unrecorded_base WHERE entry = ?", rows)

        self._run_or_default(forget, None)

    def get(self, key: str) -> str | None:
        """A counter; None if it was never set, or is lost."""
        query = "SELECT value FROM counter WHERE key = ?"
        row = self._run_or_default(lambda: self._database.execute(query, (key,)).fetchone(), None)
        return row[0] if row else None

    def set(self, key: str, value: str) -> None:
        """Set a counter durably: after the return it survives a power cut, if the file is writable at all."""
        self._change_counter("INSERT OR REPLACE INTO counter VALUES (?, ?)", key, value)

    def delete(self, key: str) -> None:
        """Delete a counter, as durably."""
        self._change_counter("DELETE FROM counter WHERE key = ?", key)

    def _change_counter(self, statement: str, *values: str) -> None:
        def store() -> None:
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute(statement, values)
            self._database.execute("PRAGMA synchronous = NORMAL")

        self._run_or_default(store, None)

    @property
    def _database(self) -> sqlite3.Connection:
        """The open file; needs the guard, because it may have to be opened again."""
        if self._connection is None:
            self._connection = self._open_again()
        return self._connection

    def _open_again(self) -> sqlite3.Connection:
        """Raises sqlite3.Error if it cannot be opened now, for want of descriptors for instance: it stays as it is."""
        try:
            if self._is_same(self._tree.stat(STATE_PATH)):
                return self._open_file()
        except (Refused, OSError) as error:
            failure = sqlite3.OperationalError(str(error))
            failure.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise failure from error
        self._is_another, self._last_stored = True, None
        return self._open_or_rebuild()

    def _is_same(self, stat: Stat | None) -> bool:
        """Whether *stat* is that of the file that is open, or was closed."""
        if stat is None:
            return False
        return stat == self._rested if self._connection is None else (stat.device, stat.inode) == self._file

    def _stat_file(self) -> Stat | None:
        try:
            return self._tree.stat(STATE_PATH)
        except (Refused, OSError):
            return None

    def _run_or_default(self, action: Callable[[], T], otherwise: T) -> T:
        with self._guard:
            try:
                return action()
            except (sqlite3.DatabaseError, ValueError) as error:
                log.warning("state_failed", extra={"root": str(self._tree.root), "error": str(error)})
                if _is_damaged(error):
                    self.close()
                    self._last_stored = None
                    self._delete_files()
                    self._connection = self._open_or_rebuild()
                return otherwise

    def _open_or_rebuild(self) -> sqlite3.Connection:
        for _ in range(2):
            try:
                return self._open_file()
            except (sqlite3.DatabaseError, OSError) as error:
                log.warning("state_rebuilt", extra={"root": str(self._tree.root), "error": str(error)})
                self._delete_files()
        log.warning("state_kept_in_memory", extra={"root": str(self._tree.root)})
        self._file = None
        return open_in_memory()

    def _open_file(self) -> sqlite3.Connection:
        self._tree.make_directories(STATE_DIRECTORY, PRIVATE_MODE)
        stat = self._tree.stat(STATE_PATH)
        if stat and not stat.is_file:
            raise OSError(f"{STATE_PATH} is not a regular file")
        database = open_state_file(self._tree.root / STATE_PATH)
        status = os.stat(self._tree.root / STATE_PATH)
        self._file = (status.st_dev, status.st_ino)
        return database

    def _delete_files(self) -> None:
        with suppress(OSError), self._tree.open_directory(STATE_DIRECTORY) as machine:
            for suffix in ("-wal", "-shm", ""):
                with suppress(FileNotFoundError):
                    kernel.unlink(machine, "state.db" + suffix)


def cached_stat_from_row(values: Sequence[Any]) -> CachedStat:
    """The record in a row of the table `seen`. values: its columns without the path."""
    device, inode, size, mtime_ns, ctime_ns, digest, entry = values
    times = mtime_ns, ctime_ns  # before 1970 they are negative
    return CachedStat(_unsigned(device), _unsigned(inode), size, *times, Digest(digest), EntryId(UUID(bytes=entry)))


def _seen_row(path: str, cached: CachedStat) -> tuple[Any, ...]:
    return (path, *map(to_signed, cached[:5]), cached.digest, cached.entry.bytes)


def _row_of_base(base: Base) -> tuple[Any, ...]:
    place, parent = base.place, base.place.parent.bytes if base.place.parent is not None else None
    identity = base.entry.bytes, base.kind.value, base.path
    return (*identity, parent, place.name, int(place.index), base.version, base.digest, base.claimed)


def _base_of_row(row: Sequence[Any]) -> Base:
    """The inverse of _row_of_base()."""
    entry, kind, path, parent, name, is_index, version, digest, claimed = row
    place = Place(EntryId(UUID(bytes=parent)) if parent is not None else None, name, bool(is_index))
    return Base(EntryId(UUID(bytes=entry)), Kind(kind), path, place, version, Digest(digest), claimed)


def _is_damaged(error: Exception) -> bool:
    if not isinstance(error, sqlite3.DatabaseError):
        return True  # a value that no version of this program writes
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def to_signed(number: int) -> int:
    """Inode and device numbers use all 64 bits; SQLite's integers are signed."""
    return number - (1 << 64) if number >= 1 << 63 else number


def _unsigned(number: int) -> int:
    """The inverse of to_signed()."""
    return number + (1 << 64) if number < 0 else number
