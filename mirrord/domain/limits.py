"""Limits on the calls of one actor to one process."""

from collections import deque
from dataclasses import dataclass, field

WINDOW_SECONDS = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Limits:
    """pending: requests that wait for a person; calls, mutations: calls and changing calls in WINDOW. 0: no limit."""

    pending: int = 10
    calls: int = 1200
    mutations: int = 240


@dataclass(slots=True)
class RateLimit:
    """A counter that allows *limit* calls in any WINDOW; 0: no limit."""

    limit: int
    _moments: deque[float] = field(default_factory=deque)

    def seconds_to_wait(self, now: float) -> float:
        """Count a call at *now*, by a monotonic clock, and return 0; or the seconds until one may be counted."""
        while self._moments and self._moments[0] <= now - WINDOW_SECONDS:
            self._moments.popleft()
        if self.limit and len(self._moments) >= self.limit:
            return self._moments[0] + WINDOW_SECONDS - now
        self._moments.append(now)
        return 0.0
