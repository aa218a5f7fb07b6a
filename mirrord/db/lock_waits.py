"""Limits on waits for locks of apps: tenants share connections, and a waiting transaction occupies one."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from mirrord.domain.entry import TenantId

LOCK_TIMEOUT_MS = 700  # milliseconds; Postgres looks for deadlocks after a second, and would end the app's transaction
SHORT_LOCK_TIMEOUT_MS = 100  # milliseconds; many times as long as a commit holds its tenant's clock
SHORT_WAITS_SECONDS = 2.0  # seconds of short waits for a tenant after a wait that timed out


class LockWaits:
    """
    Decides which transactions may wait for LOCK_TIMEOUT: at most half of the connections at a time, and none of a
    tenant whose last full wait timed out recently. All others wait for SHORT_LOCK_TIMEOUT.
    """

    def __init__(self, connections: int) -> None:
        self._max_full_waits = max(1, connections // 2)
        self._full_waits = 0
        self._timed_out_at: dict[TenantId, float] = {}

    @contextmanager
    def limit_wait(self, tenant: TenantId) -> Iterator[int]:
        """The milliseconds that one transaction of *tenant* may wait for a lock."""
        is_full = self._full_waits < self._max_full_waits and not self._timed_out_recently(tenant)
        self._full_waits += is_full
        try:
            yield LOCK_TIMEOUT_MS if is_full else SHORT_LOCK_TIMEOUT_MS
        except psycopg.errors.LockNotAvailable:
            if is_full:
                self._timed_out_at[tenant] = time.monotonic()
            raise
        finally:
            self._full_waits -= is_full

    def _timed_out_recently(self, tenant: TenantId) -> bool:
        """Whether a full wait of *tenant* timed out within the last HELD_SECONDS."""
        if time.monotonic() - self._timed_out_at.get(tenant, -SHORT_WAITS_SECONDS) < SHORT_WAITS_SECONDS:
            return True
        self._timed_out_at.pop(tenant, None)
        return False
