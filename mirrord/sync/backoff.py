"""Pauses between repeated attempts."""

import random

FIRST_PAUSE_SECONDS = 0.5  # seconds
MAX_PAUSE_SECONDS = 5.0  # seconds


class Backoff:
    """Pauses that double; each is shortened at random, so that many daemons do not retry at the same moment."""

    def __init__(self) -> None:
        self._attempts = 0

    def next_pause_seconds(self) -> float:
        """Seconds to wait before the next attempt."""
        longest = min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(self._attempts, 10))
        self._attempts += 1
        return longest * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        """Start again with the shortest pause."""
        self._attempts = 0
