"""What an engine does by the clock: scan, comparison, purge."""

import asyncio
import logging
import time
from contextlib import suppress

import psycopg

from mirrord.db.content.tombstone_purge import purge_batch
from mirrord.errors import Fenced, Unavailable
from mirrord.sync.engine import Engine
from mirrord.sync.observation.mirror_handles import DAEMON_ACTOR, Sides
from mirrord.sync.timing import pause

log = logging.getLogger(__name__)

SCAN_SECONDS = 60.0  # seconds between scans of the whole tree
SCAN_FACTOR = 200  # the pause is at least so many times the duration of a scan
REREAD_SECONDS = 86_400.0  # seconds between readings of every file
COMPARE_SECONDS = 600.0  # seconds between full compares of rows with bases
PURGE_SECONDS = 86_400.0  # seconds between searches for tombstones past their time


async def make_rounds(engine: Engine, stop: asyncio.Event) -> None:
    """Scan, compare, read and purge, each at its interval, until *stop*."""
    compared_at = reread_at = purged_at = time.monotonic()
    while not stop.is_set():
        await pause(stop, max(SCAN_SECONDS, SCAN_FACTOR * engine.scan_seconds))
        engine.request_scan()
        now = time.monotonic()
        if now - compared_at > COMPARE_SECONDS:
            compared_at = now
            engine.request_comparison()
        if now - reread_at > REREAD_SECONDS:
            reread_at = now
            engine.request_reread()
        if now - purged_at > PURGE_SECONDS:
            purged_at = now
            await purge_tombstones(engine.sides)


async def purge_tombstones(sides: Sides) -> int:
    """Purge every tombstone past its time; returns their number. After a failure the next purge tries again."""
    count = 0
    with suppress(Unavailable, Fenced, psycopg.errors.IntegrityError):
        while sides.lease is not None:
            async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
                purged = await purge_batch(connection, sides.tenant)
            if not purged:
                break
            count += len(purged)
    if count:
        log.info("purged", extra={"tenant": sides.name, "entries": count})
    return count
