"""Whether what a process holds stays what it was: pure, of samples taken evenly over a soak."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LEAST_SAMPLES = 9  # three in each third


@dataclass(frozen=True, slots=True)
class Limit:
    """How much the median of a soak's last third may be above that of its second: a share, and so many units."""

    share: float
    units: float

    def above(self, before: float) -> float:
        """The most it may be, having been *before*."""
        return before * (1 + self.share) + self.units


LIMITS = {
    "memory": Limit(0.10, 5.0),  # 10⁶ bytes: allocators give back when they like
    "descriptors": Limit(0.0, 12.0),  # one for each thing under way, and eight for a worker, which come and go
    "threads": Limit(0.0, 4.0),  # of the pools, that grow to their size when they are needed
}
RULE = (
    "flat: the median of the last third is at most that of the second third, and "
    "10 % and 5 MB for memory, 12 for descriptors, 4 for threads; judged from ten minutes on"
)


def grown(name: str, limit: Limit, values: Sequence[float]) -> Iterable[str]:
    """A sentence if *values*, oldest first, are not flat, or too few to tell. The first third is for warming up."""
    if len(values) < LEAST_SAMPLES:
        yield f"GROWTH {name}: {len(values)} samples are too few to tell; let it go on for longer"
        return
    third = len(values) // 3
    before, after = statistics.median(values[third : 2 * third]), statistics.median(values[2 * third :])
    allowed = limit.above(before)
    if after > allowed:
        yield f"GROWTH {name}: from {before:g} in the second third to {after:g} in the last; {allowed:g} allowed"
