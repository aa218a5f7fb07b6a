"""What wakes engines: notifications of changed rows, and polling because one may be lost."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress

from mirrord.daemon.clock_watch import ClockWatch, seconds_between_polls
from mirrord.db.content import entry_states
from mirrord.db.database import Database
from mirrord.db.notify_channel import BOUND_PAYLOAD, ROWS, Wakes, notified_tenants, run_ticker
from mirrord.domain.entry import TenantId
from mirrord.errors import Unavailable
from mirrord.sync.engine import Engine
from mirrord.sync.timing import Backoff, pause

log = logging.getLogger(__name__)


class Notifications:
    """
    Wakes the engines of one daemon.

    dsn: the administrator's or operator's, not yet the daemon's role. wakes: what else notifications wake, by payload.
    """

    def __init__(
        self,
        dsn: str,
        engines: Mapping[TenantId, Engine],
        stop: asyncio.Event,
        wakes: Wakes,
    ) -> None:
        self._dsn = dsn
        self._engines = engines
        self._stop = stop
        self._wakes = wakes
        self._clocks = ClockWatch()
        self._is_in_doubt = False  # whether a connection was lost since engines were woken

    async def listen(self) -> None:
        """Wake engines on notifications, until the daemon stops. While the connection is lost, polling continues."""
        await self._run_with_retries(self._listen, self._handle_lost_listener)

    async def tick(self) -> None:
        """Send notifications on behalf of the transactions, until the daemon stops."""
        await self._run_with_retries(lambda _: run_ticker(self._dsn, self._stop), _handle_lost_ticker)

    async def poll(self, database: Database, ready: asyncio.Event) -> None:
        """Poll for lost notifications, with one statement for all tenants."""
        await pause(self._stop, None, ready)
        while not self._stop.is_set():
            await pause(self._stop, self._seconds_until_poll())
            cursors = {tenant: engine.feed.cursor for tenant, engine in self._engines.items()}
            with suppress(Unavailable):
                async with database.autocommit() as connection:
                    seqs = await entry_states.load_seqs(connection, list(cursors))
                for tenant, seq in seqs.items():
                    self._compare_clock(tenant, seq, cursors[tenant])

    def _seconds_until_poll(self) -> float:
        return seconds_between_polls(len(self._engines), is_losing=self._clocks.is_losing(time.monotonic()))

    def _compare_clock(self, tenant: TenantId, seq: int, cursor: int) -> None:
        """cursor: of the feed before the clock was read; it may have passed *seq* since, by changes of our own."""
        engine = self._engines[tenant]
        self._clocks.note_poll(tenant, seq, time.monotonic())
        engine.feed.newest = seq
        if seq < cursor:
            engine.handshake.doubt()
            engine.notify()
        else:
            engine.notify(seq)

    async def _listen(self, backoff: Backoff) -> None:
        async for tenant, seq in notified_tenants(self._dsn, list(self._engines), self._stop, self._wakes):
            backoff.reset()
            if tenant is not None:
                self._clocks.note_notice(tenant, seq)
                self._wake_engine(self._engines[tenant], seq)
                if (wake := self._wakes.get(ROWS)) is not None:
                    wake(tenant, "")
            else:
                self._begin_listening()

    def _begin_listening(self) -> None:
        """Wake what may have missed a notification, but for what the clocks of tenants tell."""
        was_lost, self._is_in_doubt = self._is_in_doubt, False
        for tenant, engine in self._engines.items():
            if was_lost:  # the server may be another one, whose clocks say nothing
                engine.notify()
            if (wake := self._wakes.get(BOUND_PAYLOAD)) is not None:
                wake(tenant, "")

    def _wake_engine(self, engine: Engine, seq: int | None) -> None:
        engine.feed.newest = max(engine.feed.newest, seq or 0)
        engine.notify(math.inf if seq is None else seq)

    def _handle_lost_listener(self, error: Unavailable) -> None:
        """After a loss the server may be another one, or an earlier state of this one."""
        log.warning("listener_lost", extra={"error": str(error)})
        self._is_in_doubt = True
        self._clocks.forget()
        for engine in self._engines.values():
            engine.handshake.doubt()

    async def _run_with_retries(
        self, attempt: Callable[[Backoff], Coroutine[object, object, None]], on_loss: Callable[[Unavailable], None]
    ) -> None:
        backoff = Backoff()
        while not self._stop.is_set():
            try:
                await attempt(backoff)
            except Unavailable as error:
                on_loss(error)
                await pause(self._stop, backoff.next_pause_seconds())


def _handle_lost_ticker(error: Unavailable) -> None:
    log.warning("ticker_lost", extra={"error": str(error)})
