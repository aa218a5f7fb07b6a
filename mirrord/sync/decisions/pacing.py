"""When postponed work is due, and a fair share of the processors between mirrors. Pure."""

from mirrord.domain.entry import TenantId

MAX_DELAY_SECONDS = 2.0  # seconds of delay without a quiet period


def is_deferred_work_due(
    now: float,
    *,
    worked_at: float,
    waiting_since: float,
    quiet_seconds: float,
    max_delay_seconds: float = MAX_DELAY_SECONDS,
) -> bool:
    """
    Whether deferrable work is due. Times are monotonic.

    worked_at: time of the last edit that was carried over. waiting_since: time of the first one that waits.
    quiet_seconds: seconds without edits that make a quiet period. max_delay_seconds: maximum delay in seconds.
    """
    return now - worked_at > quiet_seconds or now - waiting_since > max_delay_seconds


BUSY_SECONDS = 0.2  # seconds for which a mirror counts as busy after its work
MAX_PAUSE_SECONDS = 1.0  # seconds of one pause
SHARE_PARTS = 4  # once its credit is used up, a mirror gets one of this many parts of the time
CREDIT_SECONDS = 1.0  # seconds of pause that a mirror may owe; occasional editors are never throttled


class FairShares:
    """
    The mirrors of one daemon, and which of them worked last.

    mirrors: their number. Each mirror reports its own work. Times are seconds of one clock.
    """

    def __init__(self) -> None:
        self.mirrors = 0
        self._last: TenantId | None = None
        self._last_at = self._other_at = -BUSY_SECONDS

    def join(self) -> None:
        """Count one more mirror."""
        self.mirrors += 1

    def leave(self) -> None:
        """Count one less: another process works on it now."""
        self.mirrors -= 1

    def note_work(self, tenant: TenantId, now: float) -> None:
        """Note that *tenant* works."""
        if tenant != self._last:
            self._last, self._other_at = tenant, self._last_at
        self._last_at = now

    def has_others(self, tenant: TenantId, now: float) -> bool:
        """Whether tenants other than *tenant* are busy."""
        return now - (self._other_at if tenant == self._last else self._last_at) < BUSY_SECONDS

    def pause_seconds(self, tenant: TenantId, took: float, now: float) -> float:
        """
        Seconds that *tenant* pauses after work of *took* seconds: as long, while others are busy; else none.

        So the others get at least half of the time.
        """
        return min(took, MAX_PAUSE_SECONDS) if self.has_others(tenant, now) else 0.0


class FairShare:
    """
    The share of the time for the passes of one mirror while others are busy: a quarter, plus its credit in one go.

    Changes add up between passes: a file that is saved continuously is looked at less often.

    paused_until: when its credit suffices for the next pass; it pauses so long if others are busy.
    """

    def __init__(self, company: FairShares, tenant: TenantId) -> None:
        self._company = company
        self._tenant = tenant
        self._paid_at = 0.0  # when all its work is paid for by pauses
        self.paused_until = -CREDIT_SECONDS

    def note_pass(self, began: float, now: float) -> None:
        """Note a pass from *began* until *now*."""
        self._company.note_work(self._tenant, now)
        self._paid_at = min(
            max(self._paid_at, began) + SHARE_PARTS * (now - began), now + CREDIT_SECONDS + MAX_PAUSE_SECONDS
        )
        self.paused_until = self._paid_at - CREDIT_SECONDS

    def seconds_until_pass(self, now: float) -> float:
        """Seconds until the next pass may begin."""
        return max(0.0, self.paused_until - now) if self._company.has_others(self._tenant, now) else 0.0


LOOK_SECONDS = 1.0  # seconds between looks at the root of a tree while nothing happens
LOOK_SECONDS_PER_MIRROR = 0.2  # seconds between them at least, for each mirror of the daemon
MAX_LOOK_SECONDS = 120.0  # seconds between them at most; an engine that takes no turn for 300 counts as stuck
HALT_LOOK_SECONDS = 10.0  # seconds at most between looks whether a person has decided about a halt


def seconds_between_looks(mirrors: int, *, is_halted: bool) -> float:
    """Seconds between two looks at the root of a tree at which nothing happens. mirrors: of the daemon."""
    seconds = min(MAX_LOOK_SECONDS, max(LOOK_SECONDS, LOOK_SECONDS_PER_MIRROR * mirrors))
    return min(seconds, HALT_LOOK_SECONDS) if is_halted else seconds
