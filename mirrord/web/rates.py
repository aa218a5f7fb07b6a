"""How often somebody may ask: so many at once, and as many again in a minute."""

import time
from collections import OrderedDict
from dataclasses import dataclass

_MOST = 10_000  # who are remembered; who was quiet longest is forgotten first


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Rate:
    """Lets each through *minute* times a minute."""

    def __init__(self, minute: int) -> None:
        self._minute = minute
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def allows(self, who: str) -> bool:
        """Whether it may be done once more by *who*; then it counts as done."""
        now = time.monotonic()
        bucket = self._buckets.setdefault(who, _Bucket(self._minute, now))
        self._buckets.move_to_end(who)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        bucket.left = min(self._minute, bucket.left + (now - bucket.at) * self._minute / 60)
        bucket.at = now
        if bucket.left < 1:
            return False
        bucket.left -= 1
        return True
