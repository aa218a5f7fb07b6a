"""Files that a program keeps open for writing: after a while they are read as they are, now and then (SYNC 1.5)."""

import time
from collections.abc import Callable

PATIENCE = 30.0  # seconds for which a file that is open for writing is left alone
SNAPSHOT = 5.0  # seconds between two readings afterwards


class Held:
    """When each file was first found open for writing, or last read nevertheless. clock: seconds, monotonic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}

    def is_due(self, path: str) -> bool:
        """Whether *path*, found open for writing once more, is to be read as it is."""
        return self._clock() >= self._due.setdefault(path, self._clock() + PATIENCE)

    def was_read(self, path: str) -> None:
        """A snapshot was taken; the next one is due in a while."""
        self._due[path] = self._clock() + SNAPSHOT

    def is_free(self, path: str) -> None:
        """Nobody has *path* open for writing any more."""
        self._due.pop(path, None)
