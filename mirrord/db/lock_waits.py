"""How long transactions wait for locks of apps: tenants share connections, and who waits keeps one from the others."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from mirrord.domain.entry import TenantId

LOCK_TIMEOUT = 700  # milliseconds; Postgres looks for deadlocks after a second, and would end the app's transaction
SHORT_LOCK_TIMEOUT = 100  # milliseconds; many times what a commit holds its tenant's clock for
HELD_SECONDS = 2.0  # after a wait in vain, for which its tenant's transactions wait only shortly


class LockWaits:
    """
    Whose transactions may wait for LOCK_TIMEOUT: those of tenants of which none waited in vain lately, and no more at a
    time than half of the connections. All others wait for SHORT_LOCK_TIMEOUT.
    """

    def __init__(self, connections: int) -> None:
        self._most = max(1, connections // 2)
        self._patient = 0
        self._vain_at: dict[TenantId, float] = {}

    @contextmanager
    def limited(self, tenant: TenantId) -> Iterator[int]:
        """For one transaction of *tenant*: the milliseconds that it may wait for a lock."""
        patient = self._patient < self._most and not self._is_held(tenant)
        self._patient += patient
        try:
            yield LOCK_TIMEOUT if patient else SHORT_LOCK_TIMEOUT
        except psycopg.errors.LockNotAvailable:
            if patient:
                self._vain_at[tenant] = time.monotonic()
            raise
        finally:
            self._patient -= patient

    def _is_held(self, tenant: TenantId) -> bool:
        """Whether a transaction of *tenant* waited at full length, and in vain, a short time ago."""
        if time.monotonic() - self._vain_at.get(tenant, -HELD_SECONDS) < HELD_SECONDS:
            return True
        self._vain_at.pop(tenant, None)
        return False
