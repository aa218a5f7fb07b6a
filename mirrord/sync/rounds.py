"""Periodic work of an engine, independent of events: scans, compares, readings and purges."""

import asyncio
import logging
import time
from contextlib import suppress

import psycopg

from mirrord.db.purge import purge_some
from mirrord.errors import Fenced, Unavailable
from mirrord.sync.engine import Engine
from mirrord.sync.pausing import pause
from mirrord.sync.sides import DAEMON_ACTOR, Sides

log = logging.getLogger(__name__)

SCAN = 60.0  # seconds between scans of the whole tree
SCAN_SHARE = 200  # the pause is at least so many times the duration of a scan
REREAD = 86_400.0  # seconds between readings of every file
COMPARE = 600.0  # seconds between full compares of rows with bases
PURGE = 86_400.0  # seconds between searches for tombstones past their time


async def make_rounds(engine: Engine, stop: asyncio.Event) -> None:
    """Scan, compare, read and purge, each at its interval, until *stop*."""
    compared_at = reread_at = purged_at = time.monotonic()
    while not stop.is_set():
        await pause(stop, max(SCAN, SCAN_SHARE * engine.scan_seconds))
        engine.look_everywhere()
        now = time.monotonic()
        if now - compared_at > COMPARE:
            compared_at = now
            engine.compare_soon()
        if now - reread_at > REREAD:
            reread_at = now
            engine.read_everything()
        if now - purged_at > PURGE:
            purged_at = now
            await purge(engine.sides)


async def purge(sides: Sides) -> int:
    """Purge every tombstone past its time; returns their number. After a failure the next purge tries again."""
    count = 0
    with suppress(Unavailable, Fenced, psycopg.errors.IntegrityError):
        while sides.lease is not None:
            async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
                purged = await purge_some(connection, sides.tenant)
            if not purged:
                break
            count += len(purged)
    if count:
        log.info("purged", extra={"tenant": sides.name, "entries": count})
    return count
