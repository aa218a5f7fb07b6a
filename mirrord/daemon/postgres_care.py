"""Looks after the embedded Postgres while the daemon runs."""

import asyncio
import logging
from contextlib import suppress

from mirrord import app
from mirrord.db.database import Database
from mirrord.errors import Unavailable, reason_of
from mirrord.sync.timing import pause

log = logging.getLogger(__name__)

RESTART_SECONDS = 10.0  # seconds after which an embedded server that ended is started again


async def keep_postgres(
    postgres: app.Postgres, database: Database, degraded: dict[str, str], stop: asyncio.Event
) -> None:
    """
    Start the embedded server again when it has been gone for RESTART_SECONDS; a server of a DSN is left alone.

    database: whose breaks show that it may be gone. degraded: gets a sentence while it cannot be looked after.
    """
    embedded, gone_seconds, breaks = postgres.embedded, 0.0, database.break_count
    while embedded is not None and not stop.is_set():
        await pause(stop, 1.0)
        if not gone_seconds and database.break_count == breaks:  # the clocks are read as often, so a break shows here
            continue
        breaks = database.break_count
        try:
            gone_seconds = 0.0 if await asyncio.to_thread(lambda: embedded.is_running) else gone_seconds + 1.0
            if gone_seconds >= RESTART_SECONDS and not stop.is_set():
                log.warning("postgres_restarted")
                with suppress(Unavailable):
                    await postgres.start()
        except OSError as error:  # no descriptor is free, for instance: try again in a second
            degraded["embedded"] = f"The embedded Postgres cannot be looked after: {reason_of(error)}"
        else:
            degraded.pop("embedded", None)
