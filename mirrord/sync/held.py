"""Snapshots of files that a program keeps open for writing (docs/design/sync.md, Reading files)."""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 30.0  # seconds for which a file open for writing is not read
SNAPSHOT_SECONDS = 5.0  # seconds between two snapshots afterwards


class OpenFiles:
    """The time of the next snapshot of each file that is open for writing. clock: monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}

    def is_due(self, path: str) -> bool:
        """Whether a snapshot of *path*, which is open for writing, is due."""
        return self._clock() >= self._due.setdefault(path, self._clock() + PATIENCE_SECONDS)

    def note_snapshot(self, path: str) -> None:
        """Note a snapshot; the next one is due in SNAPSHOT seconds."""
        self._due[path] = self._clock() + SNAPSHOT_SECONDS

    def note_closed(self, path: str) -> None:
        """Note that *path* is no longer open for writing."""
        self._due.pop(path, None)
