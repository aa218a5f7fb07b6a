"""What an engine does by the clock, whether or not anything seems to have happened."""

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

SCAN = 60.0  # seconds between looks at the whole tree
SCAN_SHARE = 200  # and at least so many times what a look takes
REREAD = 86_400.0  # seconds between readings of every file
COMPARE = 600.0  # seconds between full compares of rows with bases
PURGE = 86_400.0  # seconds between searches for tombstones that are over their time


async def make_rounds(engine: Engine, stop: asyncio.Event) -> None:
    """Look, compare, read and purge, each in its turn, until *stop*."""
    compared = reread = purged = time.monotonic()
    while not stop.is_set():
        await pause(stop, max(SCAN, SCAN_SHARE * engine.scan_seconds))
        engine.look_everywhere()
        now = time.monotonic()
        if now - compared > COMPARE:
            compared = now
            engine.compare_soon()
        if now - reread > REREAD:
            reread = now
            engine.read_everything()
        if now - purged > PURGE:
            purged = now
            await purge(engine.sides)


async def purge(sides: Sides) -> int:
    """Let every tombstone go that is over its time; how many. What cannot be done now is tried another day."""
    gone = 0
    with suppress(Unavailable, Fenced, psycopg.errors.IntegrityError):
        while sides.lease is not None:
            async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
                some = await purge_some(connection, sides.tenant)
            if not some:
                break
            gone += len(some)
    if gone:
        log.info("purged", extra={"tenant": sides.name, "entries": gone})
    return gone
