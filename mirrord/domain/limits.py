"""How much one actor may ask of one process."""

from collections import deque
from dataclasses import dataclass, field

WINDOW = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Limits:
    """Requests that wait for a person at most; calls, and calls that change something, in WINDOW. 0: no limit."""

    pending: int = 10
    calls: int = 1200
    mutations: int = 240


@dataclass(slots=True)
class Rate:
    """At most *limit* in any WINDOW; 0: any number."""

    limit: int
    _moments: deque[float] = field(default_factory=deque)

    def wait(self, now: float) -> float:
        """Count one more at *now*, by a clock that never goes back; or the seconds until one more may be counted."""
        while self._moments and self._moments[0] <= now - WINDOW:
            self._moments.popleft()
        if self.limit and len(self._moments) >= self.limit:
            return self._moments[0] + WINDOW - now
        self._moments.append(now)
        return 0.0
