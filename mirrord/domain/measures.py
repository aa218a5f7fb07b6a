"""What is measured of one tenant's mirror, latency histograms included."""

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


Endpoint = tuple[str, int] | str  # of the metrics: a loopback address and a port, or the path of a Unix socket


@dataclass(frozen=True, slots=True)
class Waiting:
    """The numbers of items that wait for a person, counted by the database."""

    conflicts: int
    halts: int
    problems: int
    approvals: int


@dataclass(frozen=True, slots=True)
class Work:
    """
    Long work in progress. total: None if unknown.

    what: `scan` (of the whole tree), `import` (many files or rows at once), `derive` (documents of many pages),
    `command` (an approved command, such as the import of a survey).
    """

    what: str
    done: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Measures:
    """
    moves: completed actions since the start. pending: known changes not yet synced. leases: number of leases held.
    feed_seconds: age of the first unread change of rows; feed_changes: number of known unread changes.
    waiting: None until counted.
    """

    tenant: str
    moves: int = 0
    pending: int = 0
    leases: int = 0
    feed_seconds: float = 0.0
    feed_changes: int = 0
    file_to_row: Latencies = field(default_factory=Latencies)
    row_to_file: Latencies = field(default_factory=Latencies)
    scans: Latencies = field(default_factory=Latencies)
    waiting: Waiting | None = None


OTHER_TENANTS = "other"
MAX_TENANTS = 100  # tenants with measurements of their own


def limit_tenants(several: Sequence[Measures], max_tenants: int = MAX_TENANTS) -> list[Measures]:
    """The measurements of at most *max_tenants* tenants, the first by name, and all others combined as OTHER."""
    ordered = sorted(several, key=lambda measures: measures.tenant)
    if len(ordered) <= max_tenants:
        return ordered
    separate = [measures for measures in ordered if measures.tenant != OTHER_TENANTS][:max_tenants]
    names = {measures.tenant for measures in separate}
    return [*separate, _sum([measures for measures in ordered if measures.tenant not in names])]


def _sum(several: Sequence[Measures]) -> Measures:
    counted = [measures.waiting for measures in several if measures.waiting is not None]
    return Measures(
        OTHER_TENANTS,
        moves=sum(measures.moves for measures in several),
        pending=sum(measures.pending for measures in several),
        leases=sum(measures.leases for measures in several),
        feed_seconds=max(measures.feed_seconds for measures in several),
        feed_changes=sum(measures.feed_changes for measures in several),
        file_to_row=combine([measures.file_to_row for measures in several]),
        row_to_file=combine([measures.row_to_file for measures in several]),
        scans=combine([measures.scans for measures in several]),
        waiting=_sum_waiting(counted) if counted else None,
    )


def _sum_waiting(counted: Sequence[Waiting]) -> Waiting:
    return Waiting(
        conflicts=sum(waiting.conflicts for waiting in counted),
        halts=sum(waiting.halts for waiting in counted),
        problems=sum(waiting.problems for waiting in counted),
        approvals=sum(waiting.approvals for waiting in counted),
    )
