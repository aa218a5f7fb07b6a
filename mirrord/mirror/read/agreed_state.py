"""What the daemon last agreed on with Postgres, read from its `state.db`; files moved or written since."""

import logging
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from urllib.parse import quote

from mirrord.domain.entry import Digest, EntryId
from mirrord.errors import Busy, Refused
from mirrord.mirror.mirror_state import STATE_PATH, cached_stat_from_row, to_signed
from mirrord.mirror.state_file import CachedStat
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import written_copies

_BUSY_SECONDS = 0.2  # for the daemon to end a change
_MAX_INODES = 500  # in one query
_MAX_PATHS = 2_000  # of queries by path; for more paths, reading the whole table is faster
MAX_READ_FILES = 200  # files whose bytes are read: a tree without a daemon is not read completely for its ids
_MAX_DIGESTS = 10_000  # of files whose bytes were read, kept in memory

log = logging.getLogger(__name__)


class AgreedState:
    """One tree's `state.db`, opened for reading at the first query; safe to use from several threads."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.written = WrittenFiles(tree)
        self._guard = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._was_sought = False

    def close(self) -> None:
        """Close the file; the next query opens it again."""
        with self._guard:
            self._close_database()

    def by_paths(self, paths: Sequence[str]) -> dict[str, CachedStat]:
        """
        The files at *paths* as they were when row and file were last equal; unknown paths are left out.

        Empty if the daemon's state cannot be read now; it is only a cache.
        """
        with self._guard:
            try:
                database = self._open_current()
                return _read_by_paths(database, paths, self._tree.moved_from) if database is not None else {}
            except (sqlite3.Error, OSError, Refused, ValueError) as error:
                log.debug("state_not_read", extra={"error": str(error)})
                self._close_database()
                return {}

    def by_inodes(self, inodes: Collection[tuple[int, int]]) -> dict[tuple[int, int], list[tuple[str, CachedStat]]]:
        """
        Recorded paths and states of files and directories, by device and inode.

        Commands ask by_paths() just before, so the file is not sought again.
        """
        rows_by_inode: dict[tuple[int, int], list[tuple[str, CachedStat]]] = defaultdict(list)
        with self._guard:
            try:
                database = self._database if self._was_sought else self._open_current()
                for path, row in _read_rows_at_inodes(database, inodes) if database is not None else ():
                    rows_by_inode[row.device, row.inode].append((path, row))
            except (sqlite3.Error, OSError, Refused, ValueError) as error:
                log.debug("state_not_read", extra={"error": str(error)})
                self._close_database()
        return rows_by_inode

    def _open_current(self) -> sqlite3.Connection | None:
        stat = kernel.stat_loosely((self._tree.lower or self._tree).descriptor, STATE_PATH)
        if self._file != (stat and (stat.device, stat.inode)):
            self._close_database()
            self._open_database()
        self._was_sought = True
        return self._database

    def _open_database(self) -> None:
        stat = self._tree.stat(STATE_PATH)
        if stat is None or not stat.is_file:
            return
        name = f"file:{quote(str(self._tree.root / STATE_PATH))}?mode=ro"
        self._database = sqlite3.connect(
            name, uri=True, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS
        )
        self._file = stat.device, stat.inode

    def _close_database(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = self._file = None
        self._was_sought = False


def _read_by_paths(
    database: sqlite3.Connection, paths: Sequence[str], moved_from: Mapping[str, str | None]
) -> dict[str, CachedStat]:
    if not moved_from:
        return dict(_read_rows(database, paths))
    sources = {path: source for path in paths if (source := moved_from.get(path, path)) is not None}
    rows = dict(_read_rows(database, [*sources.values()]))
    return {path: rows[source] for path, source in sources.items() if source in rows}


def _read_rows_at_inodes(
    database: sqlite3.Connection, inodes: Collection[tuple[int, int]]
) -> Iterator[tuple[str, CachedStat]]:
    """The query is rare and has no index; SQLite scans the table faster than Python would."""
    numbers = [to_signed(inode) for _, inode in inodes]
    for start in range(0, len(numbers), _MAX_INODES):
        chunk = numbers[start : start + _MAX_INODES]
        placeholders = ", ".join("?" * len(chunk))
        for path, *values in database.execute(f"SELECT * FROM seen WHERE inode IN ({placeholders})", chunk):
            row = cached_stat_from_row(values)
            if (row.device, row.inode) in inodes:
                yield path, row


def _read_rows(database: sqlite3.Connection, paths: Sequence[str]) -> Iterator[tuple[str, CachedStat]]:
    if len(paths) > _MAX_PATHS:
        for path, *values in database.execute("SELECT * FROM seen"):
            yield path, cached_stat_from_row(values)
        return
    for path in paths:
        for _, *values in database.execute("SELECT * FROM seen WHERE path = ?", (path,)):
            yield path, cached_stat_from_row(values)


class WrittenFiles:
    """Files of one tree whose bytes commands wrote; the daemon will record them later."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._entries = written_copies.WrittenEntries()
        self._digests: dict[str, tuple[Stat, Digest]] = {}

    def entries(self, files: Mapping[str, Stat], digests: Mapping[str, Digest]) -> dict[str, EntryId]:
        """
        The entries of *files* by path; empty if these are too many to read them all.

        digests: of files that the caller has read. A file that a draft left alone has no bytes of the draft.
        """
        if not 0 < len(files) <= MAX_READ_FILES:
            return {}
        lower_entries, own_entries = self._entries.of_layers(self._tree)
        entries, lower = lower_entries | own_entries, self._tree.lower
        if not entries:
            return {}
        possible = {
            path: stat
            for path, stat in files.items()
            if lower_entries or lower is None or self._tree.layer_of(path) is not lower
        }
        digest_by_path = {path: digests.get(path) or self._digest(path, stat) for path, stat in possible.items()}
        return {path: entries[digest] for path, digest in digest_by_path.items() if digest in entries}

    def _digest(self, path: str, stat: Stat) -> Digest | None:
        """None: the file cannot be read now."""
        known_stat, known_digest = self._digests.get(path, (None, None))
        if known_stat == stat:
            return known_digest
        began_ns = time.time_ns()
        try:
            digest, current_stat = self._tree.digest(path)
        except (Busy, Refused, OSError):
            return None
        if current_stat.is_settled(began_ns):
            if len(self._digests) >= _MAX_DIGESTS:
                self._digests.clear()
            self._digests[path] = current_stat, digest
        return digest


def moved_entries(
    tree: Tree,
    agreed: AgreedState,
    paths: Mapping[str, Stat | None],
    digests: Mapping[str, Digest] = MappingProxyType({}),
) -> dict[str, EntryId]:
    """
    Entries by path: of files and directories that the daemon recorded at another path and that left it, and of files
    that a command wrote and labelled. Other files are unknown.

    paths: with the stats that the caller has, None for those it has not. digests: of files that it has read.
    """
    stats = {path: stat for path, listed_stat in paths.items() if (stat := listed_stat or tree.stat(path)) is not None}
    records = agreed.by_inodes({(stat.device, stat.inode) for stat in stats.values()}) if stats else {}
    entries = {
        path: record.entry
        for path, stat in stats.items()
        for old_path, record in records.get((stat.device, stat.inode), ())
        if _was_moved(tree, path, stat, old_path, record)
    }
    unknown_files = {path: stat for path, stat in stats.items() if path not in entries and stat.is_file}
    return entries | agreed.written.entries(unknown_files, digests)


def _was_moved(tree: Tree, path: str, stat: Stat, old_path: str, record: CachedStat) -> bool:
    """Whether it is the recorded file or directory itself; a new one may have got its inode number."""
    old_stat = tree.stat(old_path)
    if old_stat is not None and (old_stat.device, old_stat.inode) == (stat.device, stat.inode):
        return False
    return tree.was_made_since(path, record.ctime_ns) is False
