"""
`.mirrord/state.db`: what files looked like when their digests were taken, and the mirror's counters.

It is a cache: it may be deleted, damaged or read-only at any moment, at the cost of time only.
"""

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from mirrord.domain.entry import Base, Digest, EntryId, Kind, Place
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY
from mirrord.mirror.write.journal import PRIVATE_MODE

STATE_PATH = f"{STATE_DIRECTORY}/state.db"

# Of 4 KiB. With three or more SQLite takes memory for twenty at once, for each of a thousand trees.
CACHE_PAGES = 2
MANY_ROWS_CACHE_PAGES = 500
MANY_ROWS = 100  # files that are stored together, from which on the larger cache pays

_VERSION = 1
# Younger than version 1, so that files of earlier programs lack them.
_UNRECORDED_TABLES = """
CREATE TABLE IF NOT EXISTS unrecorded (entry BLOB PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID, STRICT;
CREATE TABLE IF NOT EXISTS unrecorded_base (
    entry BLOB PRIMARY KEY, kind TEXT NOT NULL, path TEXT NOT NULL, parent BLOB, name TEXT NOT NULL,
    is_index INTEGER NOT NULL, version INTEGER NOT NULL, digest BLOB NOT NULL, claimed TEXT
) WITHOUT ROWID, STRICT;
"""
_SCHEMA = f"""
CREATE TABLE seen (
    path TEXT PRIMARY KEY, device INTEGER, inode INTEGER, size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER,
    digest BLOB, entry BLOB
) WITHOUT ROWID, STRICT;
CREATE TABLE counter (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
{_UNRECORDED_TABLES}
PRAGMA user_version = {_VERSION};
"""

_STORE_SEEN = "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_STORE_UNRECORDED_BASE = "INSERT OR REPLACE INTO unrecorded_base VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_BASE_COLUMNS = 9  # columns of the table unrecorded_base
_UNRECORDED_BASES = """
SELECT base.*, seen.device, seen.inode, seen.size, seen.mtime_ns, seen.ctime_ns, seen.digest, seen.entry
  FROM unrecorded_base AS base LEFT JOIN seen ON seen.path = base.path AND seen.entry = base.entry"""

log = logging.getLogger(__name__)
T = TypeVar("T")


class CachedStat(NamedTuple):
    """A file as of the moment of its digest; entry: its entry."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    digest: Digest
    entry: EntryId

    def matches(self, stat: Stat) -> bool:
        """Whether the stat of the file is still the same."""
        return self[:5] == stat[:5]


def cached_stat(stat: Stat, digest: Digest, entry: EntryId) -> CachedStat:
    """The record of a file."""
    return CachedStat(*stat[:5], digest, entry)


class State:
    """The open cache of one tree; safe to use from several threads. No method fails because of the file."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._guard = threading.Lock()
        self._file: tuple[int, int] | None = None
        self._last_stored: tuple[str, CachedStat] | None = None  # the newest change of a record, if it was one alone
        self._database = self._open_or_rebuild()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def is_in_place(self) -> bool:
        """Whether the open file is still the one in the tree; if not, open a new State. True for a cache in memory."""
        if self._file is None:
            return True
        stat = self._tree.stat(STATE_PATH)
        return stat is not None and (stat.device, stat.inode) == self._file

    @property
    def is_durable(self) -> bool:
        """Whether stored records outlive this process: the file could be opened."""
        return self._file is not None

    def load(self) -> dict[str, CachedStat]:
        """All records, by path."""

        def load() -> dict[str, CachedStat]:
            rows = self._database.execute("SELECT * FROM seen")
            return {path: cached_stat_from_row(values) for path, *values in rows}

        return self._run_or_default(load, {})

    def store(self, changed: Mapping[str, CachedStat], removed: Iterable[str] = ()) -> None:
        """Store *changed* and delete *removed*, in this order; a crash loses at most the last moments."""
        rows = [_seen_row(path, cached) for path, cached in changed.items()]
        cache_pages = MANY_ROWS_CACHE_PAGES if len(rows) >= MANY_ROWS else CACHE_PAGES

        def store() -> None:
            self._last_stored, removed_rows = None, [(path,) for path in removed]
            with _cache_of(self._database, cache_pages), _transaction(self._database) as database:
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
            with _transaction(self._database) as database:
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
            with _transaction(self._database) as database:
                database.execute(_STORE_SEEN, seen_row)
                database.execute(_STORE_UNRECORDED_BASE, base_row)

        self._run_or_default(note, None)

    def note_unrecorded_directories(self, bases: Iterable[Base]) -> None:
        """Add the bases of directories that are about to be made."""
        rows = [_row_of_base(base) for base in bases]

        def note() -> None:
            with _transaction(self._database) as database:
                database.executemany(_STORE_UNRECORDED_BASE, rows)

        self._run_or_default(note, None)

    def forget_unrecorded(self, entries: Iterable[EntryId]) -> None:
        """Drop files that are recorded now, or were not written."""
        rows = [(entry.bytes,) for entry in entries]

        def forget() -> None:
            with _transaction(self._database) as database:
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

    def _run_or_default(self, action: Callable[[], T], otherwise: T) -> T:
        with self._guard:
            try:
                return action()
            except (sqlite3.DatabaseError, ValueError) as error:
                log.warning("state_failed", extra={"root": str(self._tree.root), "error": str(error)})
                if _is_damaged(error):
                    self._database.close()
                    self._last_stored = None
                    self._delete_files()
                    self._database = self._open_or_rebuild()
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
        database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        database.executescript(_SCHEMA)
        return database

    def _open_file(self) -> sqlite3.Connection:
        self._tree.make_directories(STATE_DIRECTORY, PRIVATE_MODE)
        stat = self._tree.stat(STATE_PATH)
        if stat and not stat.is_file:
            raise OSError(f"{STATE_PATH} is not a regular file")
        with ExitStack() as undone:
            database = sqlite3.connect(self._tree.root / STATE_PATH, isolation_level=None, check_same_thread=False)
            undone.callback(database.close)
            _prepare(database)
            undone.pop_all()
        status = os.stat(self._tree.root / STATE_PATH)
        self._file = (status.st_dev, status.st_ino)
        return database

    def _delete_files(self) -> None:
        with suppress(OSError), self._tree.open_directory(STATE_DIRECTORY) as machine:
            for suffix in ("-wal", "-shm", ""):
                with suppress(FileNotFoundError):
                    kernel.unlink(machine, "state.db" + suffix)


def _prepare(database: sqlite3.Connection) -> None:
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, _VERSION):
        raise sqlite3.DatabaseError(f"its version is {version}, this program's is {_VERSION}")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    if version == 0:
        database.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
    database.executescript(_UNRECORDED_TABLES)
    database.execute("SELECT count(*) FROM counter")
    _set_cache(database, CACHE_PAGES)


@contextmanager
def _cache_of(database: sqlite3.Connection, pages: int) -> Iterator[None]:
    """Let SQLite keep so many pages in memory within the block."""
    if pages == CACHE_PAGES:
        yield
        return
    database.execute(f"PRAGMA cache_size = {pages}")
    try:
        yield
    finally:
        _set_cache(database, CACHE_PAGES)


def _set_cache(database: sqlite3.Connection, pages: int) -> None:
    """Let SQLite keep so many pages in memory from now on, and give back what it has beyond that."""
    database.execute(f"PRAGMA cache_size = {pages}")
    database.execute("PRAGMA shrink_memory")


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield database
        database.execute("COMMIT")
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")


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
