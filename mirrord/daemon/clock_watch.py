"""
Whether notifications of changes get lost, as polls of the tenants' clocks show, and how often to poll. Pure.

A poll may show a change whose notification is still on its way; only one that stays away counts as lost.
"""

import math

from mirrord.domain.entry import TenantId

NOTICE_SECONDS = 0.5  # seconds after a poll has shown a change, in which its notification still comes
BUSY_SECONDS = 5.0  # seconds after a change whose notification was lost, in which more of them may come

POLL_SECONDS = 1.5  # seconds between two polls
POLL_SECONDS_PER_TENANT = 0.02  # seconds between them at least, for each tenant: each poll reads all clocks
MAX_POLL_SECONDS = 5.0  # seconds between them at most
LOST_POLL_SECONDS = 0.1  # seconds between them while notifications get lost
LOST_POLL_SECONDS_PER_TENANT = 0.002  # seconds between them at least, for each tenant, while notifications get lost


def seconds_between_polls(tenants: int, *, is_losing: bool) -> float:
    """Seconds between two polls of the clocks of *tenants*. is_losing: whether notifications get lost."""
    seconds = min(MAX_POLL_SECONDS, max(POLL_SECONDS, POLL_SECONDS_PER_TENANT * tenants))
    if is_losing:
        return min(seconds, max(LOST_POLL_SECONDS, LOST_POLL_SECONDS_PER_TENANT * tenants))
    return seconds


class ClockWatch:
    """The numbers of changes that notifications and polls have told. Times are in seconds of any one clock."""

    def __init__(self) -> None:
        self._told: dict[TenantId, int] = {}  # by a notification, or lost and known by now
        self._untold: dict[TenantId, tuple[float, int]] = {}  # since when polls show more, and the number they show
        self._lost_at = -math.inf

    def note_notice(self, tenant: TenantId, seq: int | None) -> None:
        """Note a notification of the change with the number *seq*; None: of an unknown one, at least the last shown."""
        _, shown_seq = self._untold.pop(tenant, (0.0, 0))  # notifications come in order, so later ones have their time
        told_seq = self._told.get(tenant, 0)
        self._told[tenant] = max(told_seq, shown_seq if seq is None else seq)

    def note_poll(self, tenant: TenantId, seq: int, now: float) -> None:
        """Note that the clock of *tenant* shows *seq*."""
        if seq <= self._told.get(tenant, 0):
            self._untold.pop(tenant, None)
            return
        since, _ = self._untold.get(tenant, (now, 0))
        self._untold[tenant] = since, seq
        if now - since >= NOTICE_SECONDS:
            self._lost_at, self._told[tenant] = now, seq
            del self._untold[tenant]

    def forget(self) -> None:
        """Forget all numbers: the connection was lost, and the server may be another one."""
        self._told.clear()
        self._untold.clear()

    def is_losing(self, now: float) -> bool:
        """Whether a notification was lost lately, so that changes have to be looked for."""
        return now - self._lost_at < BUSY_SECONDS
