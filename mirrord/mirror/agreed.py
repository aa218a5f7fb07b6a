"""What the daemon last agreed on with Postgres, read from its `state.db` by processes that are not the daemon."""

import logging
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from urllib.parse import quote

from mirrord.errors import Refused
from mirrord.mirror.state import PATH, Seen, seen_from, signed
from mirrord.mirror.tree import Tree

_PATIENCE = 0.2  # seconds for the daemon to end a change
_AT_ONCE = 500  # inodes in one question
_MANY = 2_000  # paths: reading all there are is quicker then

log = logging.getLogger(__name__)


class Agreed:
    """One tree's `state.db`, opened for reading when it is first asked; safe to use from several threads."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._guard = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def close(self) -> None:
        """Close the file; the next question opens it anew."""
        with self._guard:
            self._close()

    def of(self, paths: Sequence[str]) -> dict[str, Seen]:
        """
        The files at *paths* as they were when row and file were last equal; without those of which that is not known.

        Nothing where the daemon's state cannot be read now; it is only a cache.
        """
        with self._guard:
            try:
                database = self._opened()
                return dict(_rows(database, paths)) if database is not None else {}
            except (sqlite3.Error, OSError, Refused, ValueError) as error:
                log.debug("state_not_read", extra={"error": str(error)})
                self._close()
                return {}

    def at_inodes(self, inodes: Collection[tuple[int, int]]) -> dict[tuple[int, int], list[tuple[str, Seen]]]:
        """What was noted of files and directories with these devices and inodes, with the paths they were at."""
        found: dict[tuple[int, int], list[tuple[str, Seen]]] = defaultdict(list)
        with self._guard:
            try:
                database = self._opened()
                for path, seen in _rows_at_inodes(database, inodes) if database is not None else ():
                    found[seen.device, seen.inode].append((path, seen))
            except (sqlite3.Error, OSError, Refused, ValueError) as error:
                log.debug("state_not_read", extra={"error": str(error)})
                self._close()
        return found

    def _opened(self) -> sqlite3.Connection | None:
        found = self._tree.stat(PATH)
        here = (found.device, found.inode) if found is not None and found.is_file else None
        if here != self._file:
            self._close()
        if self._database is None and here is not None:
            name = f"file:{quote(str(self._tree.root / PATH))}?mode=ro"
            self._database = sqlite3.connect(
                name, uri=True, isolation_level=None, check_same_thread=False, timeout=_PATIENCE
            )
            self._file = here
        return self._database

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = self._file = None


def _rows_at_inodes(database: sqlite3.Connection, inodes: Collection[tuple[int, int]]) -> Iterator[tuple[str, Seen]]:
    """The table has no index for a question that is asked this rarely; SQLite reads it faster than we would."""
    numbers = [signed(inode) for _, inode in inodes]
    for first in range(0, len(numbers), _AT_ONCE):
        some = numbers[first : first + _AT_ONCE]
        marks = ", ".join("?" * len(some))
        for path, *values in database.execute(f"SELECT * FROM seen WHERE inode IN ({marks})", some):
            seen = seen_from(*values)
            if (seen.device, seen.inode) in inodes:
                yield path, seen


def _rows(database: sqlite3.Connection, paths: Sequence[str]) -> Iterator[tuple[str, Seen]]:
    if len(paths) > _MANY:
        for path, *values in database.execute("SELECT * FROM seen"):
            yield path, seen_from(*values)
        return
    for path in paths:
        for _, *values in database.execute("SELECT * FROM seen WHERE path = ?", (path,)):
            yield path, seen_from(*values)
