"""Share the processors among the mirrors of one daemon: long work leaves some of the time to other busy mirrors."""

from mirrord.domain.entry import TenantId

LATELY = 0.2  # seconds for which a mirror counts as busy after its work
MOST = 1.0  # seconds of one pause
PART = 4  # once its credit is used up, a mirror gets one of this many parts of the time
CREDIT = 1.0  # seconds of pause that a mirror may owe; occasional editors are never throttled


class Company:
    """
    The mirrors of one daemon, and which of them worked last.

    mirrors: their number. Each mirror reports its own work. Times are seconds of one clock.
    """

    def __init__(self) -> None:
        self.mirrors = 0
        self._last: TenantId | None = None
        self._last_at = self._other_at = -LATELY

    def join(self) -> None:
        """Count one more mirror."""
        self.mirrors += 1

    def works(self, tenant: TenantId, now: float) -> None:
        """Note that *tenant* works."""
        if tenant != self._last:
            self._last, self._other_at = tenant, self._last_at
        self._last_at = now

    def has_others(self, tenant: TenantId, now: float) -> bool:
        """Whether tenants other than *tenant* are busy."""
        return now - (self._other_at if tenant == self._last else self._last_at) < LATELY

    def rest(self, tenant: TenantId, took: float, now: float) -> float:
        """
        Seconds that *tenant* pauses after work of *took* seconds: as long, while others are busy; else none.

        So the others get at least half of the time.
        """
        return min(took, MOST) if self.has_others(tenant, now) else 0.0


class Share:
    """
    The share of the time for the passes of one mirror while others are busy: a quarter, plus its credit in one go.

    Changes add up between passes: a file that is saved continuously is looked at less often.
    """

    def __init__(self, company: Company, tenant: TenantId) -> None:
        self._company = company
        self._tenant = tenant
        self._paid_at = 0.0  # when all its work is paid for by pauses

    def took(self, began: float, now: float) -> None:
        """Note a pass from *began* until *now*."""
        self._company.works(self._tenant, now)
        self._paid_at = min(max(self._paid_at, began) + PART * (now - began), now + CREDIT + MOST)

    def rest(self, now: float) -> float:
        """Seconds until the next pass may begin."""
        return max(0.0, self._paid_at - CREDIT - now) if self._company.has_others(self._tenant, now) else 0.0
