"""Rate limits: a burst, refilled within a minute."""

import time
from collections import OrderedDict
from dataclasses import dataclass

_MAX_CLIENTS = 10_000  # remembered at once; the longest idle one is dropped first


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class RateLimit:
    """Allows each client *minute* calls per minute."""

    def __init__(self, minute: int) -> None:
        self._per_minute = minute
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def allows(self, client: str) -> bool:
        """Whether *client* may make another call; if so, the call is counted."""
        now = time.monotonic()
        bucket = self._buckets.setdefault(client, _Bucket(self._per_minute, now))
        self._buckets.move_to_end(client)
        if len(self._buckets) > _MAX_CLIENTS:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._per_minute, bucket.tokens + (now - bucket.filled_at) * self._per_minute / 60)
        bucket.filled_at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True
