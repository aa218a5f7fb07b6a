"""How long something takes, as numbers: a histogram of all, and the last of them for people."""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

# Seconds; what mirrord aims at (15, 20 and 40 ms) are among them.
BOUNDS = (0.002, 0.005, 0.01, 0.015, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.2, 2.5, 5.0, 10.0, 30.0, 60.0)
KEPT = 200  # single values
SPAN = 300.0  # seconds after which a single value tells nothing about now


@dataclass(frozen=True, slots=True)
class Recent:
    """Of the last KEPT values, as far as they are not older than SPAN. last, median, p99: seconds."""

    count: int
    last: float
    median: float
    p99: float


def _none() -> list[int]:
    return [0] * (len(BOUNDS) + 1)


@dataclass(slots=True)
class Latencies:
    """counts: how many values fell into each of BOUNDS, and beyond the last; seconds: of all values together."""

    counts: list[int] = field(default_factory=_none)
    seconds: float = 0.0
    _last: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=KEPT))

    def add(self, seconds: float, now: float) -> None:
        """One more. now: by any clock that goes on, the same for all calls."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds
        self._last.append((now, seconds))

    def recent(self, now: float) -> Recent | None:
        """None: there was nothing lately."""
        while self._last and now - self._last[0][0] > SPAN:
            self._last.popleft()
        if not self._last:
            return None
        values = sorted(seconds for _, seconds in self._last)
        return Recent(len(values), self._last[-1][1], _share(values, 0.5), _share(values, 0.99))


def together(several: Sequence[Latencies]) -> Latencies:
    """The histogram of all values of *several*."""
    counts = [sum(column) for column in zip(*(one.counts for one in several), strict=True)] or _none()
    return Latencies(counts, sum(one.seconds for one in several))


def _share(values: Sequence[float], share: float) -> float:
    """The smallest of the sorted *values* that so large a share of them does not exceed."""
    return values[max(0, -int(-len(values) * share // 1) - 1)]
