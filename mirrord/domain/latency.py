"""Durations: a histogram of all values, and a summary of the recent ones."""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

# Seconds; they include the targets of mirrord (15, 20 and 40 ms).
BOUNDS_SECONDS = (0.002, 0.005, 0.01, 0.015, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.2, 2.5, 5.0, 10.0, 30.0, 60.0)
MAX_VALUES = 200  # single values
MAX_AGE_SECONDS = 300.0  # seconds after which a single value is too old to count


@dataclass(frozen=True, slots=True)
class Recent:
    """A summary of the last KEPT values that are not older than SPAN. last, median, p99: seconds."""

    count: int
    last: float
    median: float
    p99: float


def _zero_counts() -> list[int]:
    return [0] * (len(BOUNDS_SECONDS) + 1)


@dataclass(slots=True)
class Latencies:
    """A histogram. counts: values in each of BOUNDS, and beyond the last; seconds: the sum of all values."""

    counts: list[int] = field(default_factory=_zero_counts)
    seconds: float = 0.0
    _last: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=MAX_VALUES))

    def add(self, seconds: float, now: float) -> None:
        """Add a value. now: by a monotonic clock, the same for all calls."""
        self.counts[bisect_left(BOUNDS_SECONDS, seconds)] += 1
        self.seconds += seconds
        self._last.append((now, seconds))

    def recent(self, now: float) -> Recent | None:
        """The summary of recent values; None if there are none."""
        while self._last and now - self._last[0][0] > MAX_AGE_SECONDS:
            self._last.popleft()
        if not self._last:
            return None
        values = sorted(seconds for _, seconds in self._last)
        return Recent(len(values), self._last[-1][1], _quantile(values, 0.5), _quantile(values, 0.99))


def combine(several: Sequence[Latencies]) -> Latencies:
    """The combined histogram of *several*."""
    counts = [
        sum(column) for column in zip(*(latencies.counts for latencies in several), strict=True)
    ] or _zero_counts()
    return Latencies(counts, sum(latencies.seconds for latencies in several))


def _quantile(values: Sequence[float], share: float) -> float:
    """The quantile *share* of the sorted *values*."""
    return values[max(0, -int(-len(values) * share // 1) - 1)]
