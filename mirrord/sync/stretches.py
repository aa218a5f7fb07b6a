"""Progress of long work: imports, and scans of a whole tree."""

import time
from dataclasses import dataclass

from mirrord.domain.measures import Work

IMPORT_ENTRIES = 200  # entries waiting: an import
LONG_SCAN_SECONDS = 1.0  # seconds after which a scan is reported


@dataclass(slots=True)
class ImportProgress:
    """The progress of an import: a time in which many entries wait."""

    _done_before: int = 0  # entries done when it began

    def progress(self, waiting: int, done: int) -> Work | None:
        """
        The progress; None: few entries wait. done: since the start of the daemon.

        Poll every few seconds: the import is taken to begin at the first poll that finds many.
        """
        if waiting < IMPORT_ENTRIES:
            self._done_before = done
            return None
        return Work("import", done - self._done_before, done - self._done_before + waiting)


@dataclass(slots=True)
class ScanProgress:
    """A scan of a whole tree. expected: the probable number of files and directories; seen: their number so far."""

    expected: int
    count: int = 0
    _started_at: float = 0.0

    def __post_init__(self) -> None:
        self._started_at = time.monotonic()

    def set_count(self, count: int) -> None:
        """Set the number seen so far; called by the thread that scans."""
        self.count = count

    def progress(self) -> Work | None:
        """The progress; None: the scan began just now, and is probably over soon."""
        if time.monotonic() - self._started_at < LONG_SCAN_SECONDS:
            return None
        return Work("scan", self.count, self.expected if self.expected >= self.count > 0 else None)
