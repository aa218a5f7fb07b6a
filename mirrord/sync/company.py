"""The mirrors of one daemon share its processors: what takes long leaves some of the time to others at work."""

from mirrord.domain.entry import TenantId

LATELY = 0.2  # seconds for which one that worked counts as at work
MOST = 1.0  # seconds of one rest
PART = 4  # a mirror's passes get one of so many parts of the time, once it has used up its credit
CREDIT = 1.0  # seconds of rest that it may owe: who edits now and then rests never, only who goes on and on


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

    def has_others(self, tenant: TenantId, now: float) -> bool:
        """Whether others than *tenant* work."""
        return now - (self._other_at if tenant == self._last else self._last_at) < LATELY

    def rest(self, tenant: TenantId, took: float, now: float) -> float:
        """
        Seconds that *tenant* rests after work that took so long: as long, while others work; else none.

        So the others have half of the time at least.
        """
        return min(took, MOST) if self.has_others(tenant, now) else 0.0


class Share:
    """
    The part of the time that the passes of one mirror take while others work: a quarter, and its credit at once.

    Between its passes changes add up: a file that is saved all the time is looked at seldomer.
    """

    def __init__(self, company: Company, tenant: TenantId) -> None:
        self._company = company
        self._tenant = tenant
        self._paid_at = 0.0  # when it has rested enough for all that it took

    def took(self, began: float, now: float) -> None:
        """There was a pass from *began* until *now*."""
        self._company.works(self._tenant, now)
        self._paid_at = min(max(self._paid_at, began) + PART * (now - began), now + CREDIT + MOST)

    def rest(self, now: float) -> float:
        """Seconds until the next pass may begin."""
        return max(0.0, self._paid_at - CREDIT - now) if self._company.has_others(self._tenant, now) else 0.0
