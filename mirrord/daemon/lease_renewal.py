"""Keeps the leases of a daemon's mirrors, and writes the progress of their work into their rows."""

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from mirrord import app
from mirrord.daemon.running_mirror import RunningMirror
from mirrord.db import mirror_leases
from mirrord.db.database import Database, Lease
from mirrord.errors import Refused, Unavailable
from mirrord.sync.timing import pause
from mirrord.telemetry import engine_reports

log = logging.getLogger(__name__)

REPEAT_SECONDS = 60.0  # seconds after which rows are told again how far mirrors have followed the feed
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
        self._cursors: dict[str, tuple[Lease, int]] = {}  # that rows have, by the mirror's name
        self._repeated_at = time.monotonic()

    async def renew(self, database: Database, stop: asyncio.Event) -> None:
        """Keep the leases; a mirror that lost its lease writes nothing until it has a new one."""
        while not stop.is_set():
            await pause(stop, mirror_leases.RENEWAL_SECONDS)
            mirrors = dict(self._mirrors)
            leases = [lease for mirror in mirrors.values() if (lease := mirror.opened.sides.lease) is not None]
            with suppress(Unavailable):
                cursors = self._new_cursors(mirrors)
                with self._states.new_states(mirrors.values()) as news:
                    states_of = {lease.mirror: news[lease] for lease in news}
                    renewed = await mirror_leases.renew_leases(
                        database, leases, states_of, {lease.mirror: seq for lease, seq in cursors.values()}
                    )
                self._cursors |= cursors
                for name, mirror in mirrors.items():
                    await self._keep_lease(name, mirror, renewed)

    def _new_cursors(self, mirrors: Mapping[str, RunningMirror]) -> dict[str, tuple[Lease, int]]:
        """How far each of *mirrors* at rest has followed the feed, where its row may not have that yet."""
        if time.monotonic() - self._repeated_at >= REPEAT_SECONDS:  # a database may go back in time
            self._repeated_at = time.monotonic()
            self._cursors.clear()
        cursors = {
            name: (lease, mirror.engine.feed.cursor)
            for name, mirror in mirrors.items()
            if (lease := mirror.opened.sides.lease) is not None
        }
        return {
            name: cursor
            for name, cursor in cursors.items()
            if self._cursors.get(name) != cursor and mirrors[name].engine.is_idle
        }

    async def _keep_lease(self, name: str, mirror: RunningMirror, renewed: set[Any]) -> None:
        sides = mirror.opened.sides
        if sides.lease is not None and sides.lease.mirror in renewed:
            sides.note_renewal()
            if self._degraded:
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
