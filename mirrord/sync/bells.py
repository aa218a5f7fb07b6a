"""How engines learn that rows changed: by the bell, and by looking at the clocks, because a bell may be lost."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress

from mirrord.db import states
from mirrord.db.connect import Database
from mirrord.db.doorbell import rings
from mirrord.db.ticker import tick
from mirrord.domain.entry import TenantId
from mirrord.errors import Unavailable
from mirrord.sync.backoff import Backoff
from mirrord.sync.engine import Engine
from mirrord.sync.pausing import pause

log = logging.getLogger(__name__)

POLL = 1.0  # seconds between looks at the clocks
POLL_BUSY = 0.1  # seconds, for BUSY seconds after a change
POLL_SHARE = 0.002  # seconds at least between two looks, for each tenant
BUSY = 5.0


class Bells:
    """Wakes the engines of one daemon. dsn: the administrator's or operator's, not yet the daemon's role."""

    def __init__(self, dsn: str, engines: Mapping[TenantId, Engine], stop: asyncio.Event) -> None:
        self._dsn = dsn
        self._engines = engines
        self._stop = stop
        self._changed = -BUSY

    async def listen(self) -> None:
        """Wake whoever's bell rings, until the daemon stops. While the connection is lost the poll goes on."""
        await self._insist(self._listen, self._bell_lost)

    async def tick(self) -> None:
        """Ring for all who listen, in place of the transactions, until the daemon stops."""
        await self._insist(lambda _: tick(self._dsn, self._stop), _ticker_lost)

    async def poll(self, database: Database, ready: asyncio.Event) -> None:
        """The safety net below the bell: one statement for all tenants."""
        await pause(self._stop, None, ready)
        while not self._stop.is_set():
            busy = time.monotonic() - self._changed < BUSY
            await pause(self._stop, min(POLL, max(POLL_BUSY, POLL_SHARE * len(self._engines))) if busy else POLL)
            with suppress(Unavailable):
                async with database.autocommit() as connection:
                    seqs = await states.seqs(connection, list(self._engines))
                for tenant, seq in seqs.items():
                    cursor = self._engines[tenant].feed.cursor
                    self._engines[tenant].feed.newest = seq
                    if seq < cursor:
                        self._engines[tenant].handshake.doubt()
                    if seq != cursor:
                        self._ring(tenant)

    async def _listen(self, backoff: Backoff) -> None:
        async for tenant in rings(self._dsn, list(self._engines), self._stop):
            backoff.succeeded()
            for one in self._engines if tenant is None else [tenant]:
                self._ring(one)

    def _ring(self, tenant: TenantId) -> None:
        self._changed = time.monotonic()
        self._engines[tenant].ring()

    def _bell_lost(self, error: Unavailable) -> None:
        """The server that comes back may be another one, or this one as it was earlier."""
        log.warning("bell_lost", extra={"error": str(error)})
        for engine in self._engines.values():
            engine.handshake.doubt()

    async def _insist(
        self, act: Callable[[Backoff], Coroutine[object, object, None]], lost: Callable[[Unavailable], None]
    ) -> None:
        backoff = Backoff()
        while not self._stop.is_set():
            try:
                await act(backoff)
            except Unavailable as error:
                lost(error)
                await pause(self._stop, backoff.pause())


def _ticker_lost(error: Unavailable) -> None:
    log.warning("ticker_lost", extra={"error": str(error)})
