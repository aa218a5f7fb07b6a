"""Keeps the leases of a daemon's mirrors, and writes the progress of their work into their rows."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from mirrord import app
from mirrord.daemon.running_mirror import RunningMirror
from mirrord.db import mirror_leases
from mirrord.db.database import Database
from mirrord.errors import Refused, Unavailable
from mirrord.sync.timing import pause
from mirrord.telemetry import engine_reports

log = logging.getLogger(__name__)

BEAT_SECONDS_PER_MIRROR = 0.01  # seconds at least between two heartbeats, for each mirror


class MirrorRows:
    """
    The rows of a daemon's mirrors, kept up to date.

    mirrors: those that are open, which may change. degraded: gets a sentence while a lease is not held.
    """

    def __init__(self, mirrors: Mapping[str, RunningMirror], degraded: dict[str, str]) -> None:
        self._mirrors = mirrors
        self._degraded = degraded
        self._states = engine_reports.States()

    async def renew(self, database: Database, stop: asyncio.Event) -> None:
        """Keep the leases; a mirror that lost its lease writes nothing until it has a new one."""
        while not stop.is_set():
            await pause(stop, mirror_leases.RENEWAL_SECONDS)
            mirrors = dict(self._mirrors)
            held_leases = {
                lease: mirror for mirror in mirrors.values() if (lease := mirror.opened.sides.lease) is not None
            }
            cursors = {
                lease.mirror: mirror.engine.feed.cursor
                for lease, mirror in held_leases.items()
                if mirror.engine.is_idle
            }
            with suppress(Unavailable):
                with self._states.new_states(mirrors.values()) as news:
                    states_of = {lease.mirror: news[lease] for lease in news}
                    renewed = await mirror_leases.renew_leases(database, list(held_leases), states_of, cursors)
                for name, mirror in mirrors.items():
                    await self._keep_lease(name, mirror, renewed)

    async def _keep_lease(self, name: str, mirror: RunningMirror, renewed: set[Any]) -> None:
        sides = mirror.opened.sides
        if sides.lease is not None and sides.lease.mirror in renewed:
            sides.note_renewal()
            self._degraded.pop(f"lease {name}", None)
            return
        sides.lease = None
        try:
            await app.take_lease(sides, root_locked=False)
        except Refused as error:
            self._degraded[f"lease {name}"] = str(error)
        else:
            log.warning("lease_regained", extra={"tenant": name})
            mirror.engine.handshake.doubt()
            mirror.engine.request_comparison()

    async def publish_states(self, database: Database, stop: asyncio.Event) -> None:
        """Write the progress of long work into the mirrors' rows."""
        while not stop.is_set():
            await pause(stop, max(engine_reports.BEAT_SECONDS, BEAT_SECONDS_PER_MIRROR * len(self._mirrors)))
            await self._states.write_long_work(database, list(self._mirrors.values()))
