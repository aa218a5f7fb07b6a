"""Metrics and readiness of the daemon for monitoring."""

import asyncio
from contextlib import suppress
from dataclasses import replace

from mirrord.daemon.daemon import Daemon
from mirrord.db import tenant_rows
from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from mirrord.domain.measures import Endpoint, Waiting
from mirrord.errors import Unavailable
from mirrord.sync.timing import pause
from mirrord.telemetry.local_server import make_application, serve
from mirrord.telemetry.open_metrics import MeasuresCollector, registry_of

RETRY_SECONDS = 5.0  # seconds between attempts to open the port or socket
COUNT_SECONDS = 15.0  # seconds between counts of pending decisions
MAX_TENANTS_PER_COUNT = 50  # tenants per count: with hundreds each has its turn within minutes
ANSWER_SECONDS = 2.0  # seconds for the answer of Postgres to a readiness check
POLL_SECONDS = 0.2  # seconds between checks for the first tenants to count


async def serve_metrics(daemon: Daemon, endpoint: Endpoint) -> None:
    """
    Serve metrics until the daemon stops.

    A port in use does not stop the sync: it is reported as a reason of degradation, and tried again.
    """
    counts: dict[str, Waiting] = {}
    measured = MeasuresCollector(
        lambda: [replace(measures, waiting=counts.get(measures.tenant)) for measures in daemon.measures()],
        daemon.ready.is_set,
        lambda: len(daemon.reasons()),
        lambda: daemon.process_ids,
    )
    application = make_application(registry_of(measured), lambda: _reasons_unready(daemon), endpoint)
    counting = asyncio.ensure_future(_keep_counting(daemon, counts))
    while not daemon.stop.is_set():
        try:
            daemon.degraded.pop("metrics", None)
            await serve(application, endpoint, daemon.stop)
        except Unavailable as error:
            daemon.degraded["metrics"] = f"Metrics are not served: {error}"
            await pause(daemon.stop, RETRY_SECONDS)
    await counting


async def _reasons_unready(daemon: Daemon) -> list[str]:
    """Why the daemon is not ready; sentences without paths, because every local user may ask."""
    reasons = []
    if not daemon.ready.is_set():
        reasons.append("Not every tenant has been compared yet.")
    reasons += [f"{name}: stands still for a decision." for name in daemon.halted_tenants]
    reasons += [f"{name}: the lease is not held." for name in daemon.tenants_without_lease]
    if not await _postgres_answers(daemon):
        reasons.append("Postgres does not answer.")
    return reasons


async def _postgres_answers(daemon: Daemon) -> bool:
    """Whether Postgres answers; without an open tree the last known state counts."""
    database, _ = next(iter(daemon.counted_tenants.values()), (None, None))
    if database is None:
        return "postgres" not in daemon.degraded
    with suppress(Unavailable, TimeoutError):
        async with asyncio.timeout(ANSWER_SECONDS), database.connection() as connection:
            await connection.execute("SELECT 1")
            return True
    return False


async def _keep_counting(daemon: Daemon, counts: dict[str, Waiting]) -> None:
    """Update *counts* of every tenant, in turn."""
    while not daemon.stop.is_set():
        if not daemon.ready.is_set():
            await pause(daemon.stop, POLL_SECONDS)
            continue
        counted = daemon.counted_tenants
        for name in _next_to_count(list(counted), counts):
            await _count_tenant(name, *counted[name], counts)
        await pause(daemon.stop, COUNT_SECONDS)


def _next_to_count(names: list[str], counts: dict[str, Waiting]) -> list[str]:
    """At most ONCE of *names*: new ones, then those with the oldest count; *counts* is in the order of counting."""
    counted = [name for name in counts if name in names]
    return [*(name for name in names if name not in counts), *counted][:MAX_TENANTS_PER_COUNT]


async def _count_tenant(name: str, database: Database, tenant: TenantId, counts: dict[str, Waiting]) -> None:
    with suppress(Unavailable):
        async with database.transaction(tenant) as connection:
            waiting = await tenant_rows.count_waiting(connection, tenant)
        counts.pop(name, None)
        counts[name] = waiting
