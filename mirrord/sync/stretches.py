"""Work that takes so long that people want to know how far it is."""

import time
from dataclasses import dataclass

from mirrord.domain.measures import Work

MANY = 200  # entries waiting: an import
LONG = 1.0  # seconds after which a look at the whole tree is worth a word


@dataclass(slots=True)
class Stretch:
    """A time in which many entries wait."""

    _before: int = 0  # how many were done when it began

    def look(self, waiting: int, done: int) -> Work | None:
        """How far it is; None: few wait. done: since the start of the daemon. Ask often: else it began long ago."""
        if waiting < MANY:
            self._before = done
            return None
        return Work("import", done - self._before, done - self._before + waiting)


@dataclass(slots=True)
class Scanning:
    """A look at a whole tree. expected: how many files and directories there probably are; seen: so far."""

    expected: int
    seen: int = 0
    _began: float = 0.0

    def __post_init__(self) -> None:
        self._began = time.monotonic()

    def tell(self, seen: int) -> None:
        """So many were seen; called by the thread that looks."""
        self.seen = seen

    def look(self) -> Work | None:
        """How far it is; None: it began just now, and is mostly over soon."""
        if time.monotonic() - self._began < LONG:
            return None
        return Work("scan", self.seen, self.expected if self.expected >= self.seen > 0 else None)
