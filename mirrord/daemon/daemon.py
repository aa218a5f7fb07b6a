"""What `mirrord up` runs: opens the mirrors, keeps leases, heartbeat and its own Postgres, and closes them."""

import asyncio
import logging
import os
import time
from collections.abc import Coroutine, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from mirrord import app
from mirrord.binding.binding_loop import BindingLoop, NotedTenants
from mirrord.binding.joint_saves import JointSaves
from mirrord.daemon.lease_renewal import BEAT_SECONDS_PER_MIRROR, MirrorRows
from mirrord.daemon.mirror_reports import MirrorReports
from mirrord.daemon.mirror_rounds import MirrorRounds
from mirrord.daemon.postgres_care import keep_postgres
from mirrord.daemon.running_mirror import RequestDesk, RunningMirror, Watching, close_mirrors
from mirrord.daemon.shared_parts import SharedParts
from mirrord.daemon.wake_ups import Notifications
from mirrord.db.content.tenant_pasts import TenantPast, load_pasts
from mirrord.db.database import Database
from mirrord.db.notify_channel import BOUND_PAYLOAD, ROWS, UNDO_PAYLOAD, Wakes, set_notify
from mirrord.domain.entry import TenantId
from mirrord.errors import Halted, Unavailable
from mirrord.mirror.heartbeat import Heartbeat
from mirrord.mirror.write.tree_locks import Lock
from mirrord.sync.timing import Backoff, StopEvent, pause, run_some_at_once, run_together

log = logging.getLogger(__name__)

OPENED_TOGETHER = 8  # mirrors that are opened at the same time: each waits for the disk and for Postgres
MAX_CONNECTIONS = 8  # at most, one of them for leases; a single mirror uses three
BEAT_SECONDS = 3.0  # seconds between equal heartbeats


@dataclass(slots=True)
class Daemon(MirrorReports):
    """
    The daemon of `mirrord up`.

    reached: set when Postgres answers and its schema is up to date. ready: set when every tenant was compared once.
    """

    postgres: app.Postgres = field(init=False)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    stop: asyncio.Event = field(default_factory=StopEvent)
    since: float = field(default_factory=time.time)
    _watching: RequestDesk = field(init=False)
    _is_open: asyncio.Event = field(default_factory=asyncio.Event)  # set when all mirrors are open that can be
    _parts: SharedParts = field(init=False)
    _mirror_rows: MirrorRows = field(init=False)
    _pasts: dict[TenantId, TenantPast] = field(default_factory=dict)  # of tenants that are about to be opened
    _bindings_noted: NotedTenants = field(default_factory=NotedTenants)  # those of which apps wrote bound rows
    _joint_saves: JointSaves = field(init=False)

    def __post_init__(self) -> None:
        self._joint_saves = JointSaves(self._bindings_noted)
        self.postgres = app.Postgres(self.config)
        self._parts = SharedParts(self.config)
        self._mirror_rows = MirrorRows(self.mirrors, self.degraded)
        self._watching = Watching(self.config.mirror, self.mirrors, self.degraded, self.stop, self._is_open.is_set)

    async def run(self, fill: Path | None = None) -> None:
        """
        Work until `stop` is set, then finish the work under way and release everything.

        fill: a directory copied into the empty tree of a tenant.
        Raises MirrordError if it cannot start.
        """
        app.make_directory(self.config.mirror)
        with Lock(self.config.mirror):
            await self._start_postgres()
            try:
                async with Database(self.postgres.working_dsn, size=MAX_CONNECTIONS, keeps_urgent=True) as database:
                    await self._serve(database, fill)
            finally:
                self._parts.workers.terminate()
                await self.postgres.stop()
                await asyncio.to_thread(self._heartbeat.remove)
                log.info("stopped")

    async def _start_postgres(self) -> None:
        """Start the embedded server, or wait for the configured one, which may be down for now."""
        await self.postgres.start()
        backoff = Backoff()
        while not self.stop.is_set():
            try:
                await app.prepare_database(self.postgres)
                if sentence := await set_notify(self.postgres.dsn, self.config.notify):
                    self.degraded["notify"] = sentence
            except Unavailable as error:
                if self.postgres.embedded is not None:
                    raise
                if self.degraded.get("postgres") != str(error):
                    log.warning("postgres_awaited", extra={"error": str(error)})
                self.degraded["postgres"] = str(error)
                await self._beat_once()
                await pause(self.stop, backoff.next_pause_seconds())
            else:
                self.degraded.pop("postgres", None)
                self.reached.set()
                return

    async def _serve(self, database: Database, fill: Path | None) -> None:
        # What is changed from now on is reported, so that trees are scanned once. Leases are renewed from now on, too:
        # opening a thousand trees takes longer than a lease lasts.
        during_opening = [self._watching.run(), self._mirror_rows.renew(database, self.stop)]
        try:
            async with run_together(during_opening, self.stop):
                with ExitStack() as on_failure:
                    on_failure.callback(self.stop.set)
                    await self._open_first(database, fill)
                    on_failure.pop_all()
                self._is_open.set()
                if not self.stop.is_set():
                    async with run_together(self._make_tasks(database), self.stop):
                        await self.stop.wait()
                        for mirror in self.mirrors.values():
                            mirror.engine.queue.wake()  # an idle one looks at its root every 0.2 seconds a mirror
        finally:
            await close_mirrors(database, self.mirrors.values())

    async def _open_first(self, database: Database, fill: Path | None) -> None:
        if self.postgres.embedded is None:
            await self._retry_while_unavailable(partial(self._open_all, database, fill))
        else:
            await self._open_all(database, fill)

    async def _open_all(self, database: Database, fill: Path | None) -> None:
        """Open all mirrors that are not open yet; called again if Postgres went away meanwhile."""
        if self.stop.is_set():
            return
        chosen = await app.choose_tenants(database, self.config)
        missing = {name: tenant for name, tenant in chosen.items() if name not in self.mirrors}
        self._pasts = await load_pasts(database, list(missing.values()))
        openings = [
            self._fill_and_open(database, name, tenant, fill, alone=len(chosen) == 1)
            for name, tenant in missing.items()
        ]
        await run_some_at_once(openings, OPENED_TOGETHER)
        for name in [name for name in chosen if name in self.mirrors]:  # in the order of the tenants
            self.mirrors[name] = self.mirrors.pop(name)

    async def _fill_and_open(
        self, database: Database, name: str, tenant: TenantId, fill: Path | None, *, alone: bool
    ) -> None:
        if self.stop.is_set():
            return
        if fill is not None:
            await asyncio.to_thread(app.fill_root, self.config, name, fill)
        await self._open_or_halt(database, name, tenant, alone=alone)

    async def _open_or_halt(self, database: Database, name: str, tenant: TenantId, *, alone: bool) -> None:
        try:  # an unrecognised tree stops only its own tenant
            await self._open_mirror(database, name, tenant)
        except Halted as halted:
            if alone:
                raise
            log.error("tenant_halted", extra={"tenant": name, "reason": str(halted)})
            self.degraded[f"halted {name}"] = f"{name}: {halted}"

    async def _open_mirror(self, database: Database, name: str, tenant: TenantId) -> None:
        opened = await app.open_mirror(database, self.config, name, tenant, self._pasts.pop(tenant, None))
        opened.sides.companion = self._joint_saves
        self.mirrors[name] = self._parts.make_mirror(opened)
        for sentence in opened.sides.tree.missing_abilities:
            self.degraded[f"{name}: {sentence}"] = sentence
        log.info("mirror_opened", extra={"tenant": name, "start": opened.start.name, "adopting": opened.adopting})

    @property
    def _heartbeat(self) -> Heartbeat:
        return Heartbeat(self.config.mirror)

    def _make_tasks(self, database: Database) -> list[Coroutine[Any, Any, None]]:
        engines = {mirror.opened.sides.tenant: mirror.engine for mirror in self.mirrors.values()}
        wakes = self._wakes_of({mirror.opened.sides.tenant: mirror for mirror in self.mirrors.values()})
        notifications = Notifications(self.postgres.listening_dsn, engines, self.stop, wakes)
        tasks = [
            *self._make_common_tasks(database),
            notifications.listen(),
            notifications.poll(database, self.ready),
            keep_postgres(self.postgres, database, self.degraded, self.stop),
        ]
        if self.config.notify == "ticker" or database.is_cluster:
            tasks.append(notifications.tick())
        for mirror in self.mirrors.values():
            tasks += self._make_mirror_tasks(mirror, self.stop)
        return tasks

    def _make_common_tasks(self, database: Database) -> list[Coroutine[Any, Any, None]]:
        """What goes on for all mirrors together."""
        rounds = MirrorRounds(self.mirrors, self.config.history)
        return [
            rounds.scan(self.stop),
            rounds.purge(self.stop),
            rounds.rest(self.stop),
            self._keep_heartbeat(),
            self._mirror_rows.publish_states(database, self.stop),
            self._make_bindings(database).run(),
        ]

    def _make_bindings(self, database: Database) -> BindingLoop:
        bindings = BindingLoop(database, self._names_by_tenant, self.stop, self._bindings_noted)
        self._joint_saves.binding_of = bindings.writer_of
        return bindings

    def _wakes_of(self, mirrors: Mapping[TenantId, RunningMirror]) -> Wakes:
        """What notifications of *mirrors* wake beside engines."""
        return {
            UNDO_PAYLOAD: lambda tenant, _: mirrors[tenant].questions.wake(),
            BOUND_PAYLOAD: self._bindings_noted.add,
            ROWS: lambda tenant, _: self._bindings_noted.add_pages(tenant),
        }

    def _names_by_tenant(self) -> dict[TenantId, str]:
        return {mirror.opened.sides.tenant: name for name, mirror in self.mirrors.items()}

    def _make_mirror_tasks(self, mirror: RunningMirror, stop: asyncio.Event) -> list[Coroutine[Any, Any, None]]:
        """What goes on for one mirror, until *stop*."""
        return [
            self._run_engine(mirror, stop),
            mirror.consequences.run(stop),
            mirror.events.run(stop),
            mirror.outbox.run(stop),
            mirror.approver.run(stop),
            mirror.questions.run(stop),
        ]

    async def _run_engine(self, mirror: RunningMirror, stop: asyncio.Event) -> None:
        await self._retry_while_unavailable(mirror.engine.start, stop)
        if not self.ready.is_set() and self._is_complete():
            self._note_ready()
        await mirror.engine.run(stop)

    def _note_ready(self) -> None:
        self.ready.set()
        log.info("ready", extra={"seconds": round(time.time() - self.since, 3)})

    def _is_complete(self) -> bool:
        """Whether every tenant was compared once."""
        return all(mirror.engine.is_started for mirror in self.mirrors.values())

    async def _retry_while_unavailable(self, act: Any, stop: asyncio.Event | None = None) -> None:
        """Run *act*, again after every loss of Postgres, until it succeeds or *stop*, None: the daemon's, is set."""
        backoff, stop = Backoff(), stop or self.stop
        while not stop.is_set():
            try:
                await act()
            except Unavailable as error:
                log.warning("start_waits", extra={"error": str(error)})
                await self._beat_once()  # nothing else beats before there are mirrors
                await pause(stop, backoff.next_pause_seconds())
            else:
                return

    async def _keep_heartbeat(self) -> None:
        last_facts, beaten_at = dict[str, Any](), 0.0
        while not self.stop.is_set():
            facts, now = self.facts(), time.monotonic()
            if facts != last_facts or now - beaten_at >= BEAT_SECONDS:
                await self._beat_once(facts)
                self._watching.answer_requests()  # an event may be lost
                last_facts, beaten_at = facts, now
            self._parts.workers.close_idle()
            await pause(self.stop, min(BEAT_SECONDS, max(1.0, BEAT_SECONDS_PER_MIRROR * len(self.mirrors))))

    async def _beat_once(self, facts: dict[str, Any] | None = None) -> None:
        """Write one heartbeat. facts: the result of facts() just now; None: call it."""
        try:
            await asyncio.to_thread(self._heartbeat.beat, facts or self.facts())
        except OSError as error:  # a full disk: the mirror itself may still work
            self.degraded["heartbeat"] = f"{self.config.mirror} cannot be written: {error.strerror}."
        else:
            self.degraded.pop("heartbeat", None)

    def facts(self) -> dict[str, Any]:
        """The content of `daemon.json`, which `status` reads."""
        return {
            "pid": os.getpid(),
            "since": self.since,
            "ready": self.ready.is_set(),
            "data": str(self.config.data),
            "embedded": self.postgres.embedded is not None,
            "tenants": self.pulses(),
            "degraded": self.reasons(),
        }
