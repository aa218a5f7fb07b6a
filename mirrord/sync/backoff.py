"""How long to wait before something that failed is tried again."""

import random

FIRST = 0.5  # seconds
LONGEST = 5.0  # seconds


class Backoff:
    """Pauses that double; each is shortened by chance, so that many daemons do not come back in the same moment."""

    def __init__(self) -> None:
        self._attempts = 0

    def pause(self) -> float:
        """Seconds to wait before the next attempt."""
        longest = min(LONGEST, FIRST * 2.0 ** min(self._attempts, 10))
        self._attempts += 1
        return longest * random.uniform(0.5, 1.0)

    def succeeded(self) -> None:
        """The next failure is a new one."""
        self._attempts = 0
