"""The file of `mirror_state`, an SQLite database: its tables and records, how it is opened and changed."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from mirrord.domain.entry import Digest, EntryId
from mirrord.mirror.tree.kernel import Stat

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


def open_state_file(path: Path) -> sqlite3.Connection:
    """Open the file at *path*, which is made if it is missing. Raises sqlite3.DatabaseError if it is damaged."""
    with ExitStack() as undone:
        database = _connect(str(path))
        undone.callback(database.close)
        _prepare(database)
        undone.pop_all()
    return database


def open_in_memory() -> sqlite3.Connection:
    """The same tables in memory."""
    database = _connect(":memory:")
    database.executescript(_SCHEMA)
    return database


def _connect(place: str) -> sqlite3.Connection:
    return sqlite3.connect(place, isolation_level=None, check_same_thread=False)


def _prepare(database: sqlite3.Connection) -> None:
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, _VERSION):
        raise sqlite3.DatabaseError(f"its version is {version}, this program's is {_VERSION}")
    if version == 0:
        _create_tables(database)
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("PRAGMA journal_mode = WAL")  # syncs a new file, once
    if version:
        database.executescript(_UNRECORDED_TABLES)
    database.execute("SELECT count(*) FROM counter")
    _set_cache(database, CACHE_PAGES)


def _create_tables(database: sqlite3.Connection) -> None:
    """Create the tables without a journal: a file that a crash leaves half made is damaged, and is made again."""
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA journal_mode = OFF")
    database.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")


@contextmanager
def cache_of(database: sqlite3.Connection, rows: int) -> Iterator[None]:
    """Let SQLite keep in memory what pays for storing so many rows within the block."""
    if rows < MANY_ROWS:
        yield
        return
    database.execute(f"PRAGMA cache_size = {MANY_ROWS_CACHE_PAGES}")
    try:
        yield
    finally:
        _set_cache(database, CACHE_PAGES)


def _set_cache(database: sqlite3.Connection, pages: int) -> None:
    """Let SQLite keep so many pages in memory from now on, and give back what it has beyond that."""
    database.execute(f"PRAGMA cache_size = {pages}")
    database.execute("PRAGMA shrink_memory")


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """One transaction; an error in the block rolls it back."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield database
        database.execute("COMMIT")
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")


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
