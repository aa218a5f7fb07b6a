"""The mirrors of one daemon share its processors: what takes long leaves some of the time to others at work."""

from mirrord.domain.entry import TenantId

LATELY = 0.2  # seconds for which one that worked counts as at work
MOST = 0.5  # seconds of one rest


class Company:
    """
    mirrors: how many there are.

    Which of them worked last is told by whoever works. Times are of one clock, in seconds.
    """

    def __init__(self) -> None:
        self.mirrors = 0
        self._last: TenantId | None = None
        self._last_at = self._other_at = -LATELY

    def join(self) -> None:
        """There is one more."""
        self.mirrors += 1

    def works(self, tenant: TenantId, now: float) -> None:
        """*tenant* works."""
        if tenant != self._last:
            self._last, self._other_at = tenant, self._last_at
        self._last_at = now

    def rest(self, tenant: TenantId, took: float, now: float) -> float:
        """
        Seconds that *tenant* rests after work that took so long: as long, while others work; else none.

        So the others have half of the time at least.
        """
        others_at = self._other_at if tenant == self._last else self._last_at
        return min(took, MOST) if now - others_at < LATELY else 0.0
