"""One engine process of `mirrord up --processes N`: a daemon that works on its share of the tenants."""

import asyncio
import faulthandler
import logging
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvloop

from mirrord import app
from mirrord.config import Config
from mirrord.daemon.daemon import MAX_CONNECTIONS, Daemon
from mirrord.daemon.running_mirror import RunningMirror, Watching, close_mirrors
from mirrord.daemon.tenant_claims import TenantClaims
from mirrord.daemon.wake_ups import Notifications
from mirrord.db.database import Database
from mirrord.db.process_pool import PoolMember
from mirrord.domain.entry import TenantId
from mirrord.errors import MirrordError, Unavailable
from mirrord.mirror.engine_desk import EngineDesk
from mirrord.mirror.heartbeat import Heartbeat
from mirrord.mirror.process_setup import (
    TERMINAL_SIGNALS,
    end_with_parent,
    end_without_memory,
    prepare_process,
)
from mirrord.sync.timing import pause, run_together
from mirrord.telemetry.engine_reports import dump_measures
from mirrord.telemetry.process_reports import log_to

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0  # seconds until a tenant that could not be opened is tried again
LISTEN_SECONDS = 0.5  # seconds at least between two starts to listen, because the mirrors changed
MEASURE_SECONDS = 2.0  # seconds between two stores of the measurements
MIN_CONNECTIONS, CONNECTIONS_OF_ALL = 2, 30  # of one process at least, of all at most, but for one of each process


@dataclass(frozen=True, slots=True)
class ProcessPlace:
    """The place of a process among those that are started together. number: from 1 to count."""

    number: int
    count: int

    @property
    def connections(self) -> int:
        """Its share of the connections to Postgres, and one for leases and claims."""
        return max(MIN_CONNECTIONS, min(MAX_CONNECTIONS, CONNECTIONS_OF_ALL // self.count)) + 1


@dataclass(slots=True)
class MirrorWork:
    """What goes on for one mirror, until *stop*."""

    stop: asyncio.Event
    task: "asyncio.Future[None]"


@dataclass(slots=True)
class EngineProcess(Daemon):
    """A daemon whose tenants come and go while it runs, and whose Postgres another process looks after."""

    place: ProcessPlace = field(kw_only=True)
    _desk: EngineDesk = field(init=False)
    _claims: TenantClaims = field(init=False)
    _works: dict[str, MirrorWork] = field(default_factory=dict)
    _listening_ends: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        Daemon.__post_init__(self)
        self._desk = EngineDesk(self.config.mirror, self.place.number)
        self._watching = Watching(self.config.mirror, self.mirrors, self.degraded, self.stop, desk=self._desk)
        names = [f"{_host_of(self.config)}#{number}" for number in range(1, self.place.count + 1)]
        member = PoolMember(self.config.pool or _host_of(self.config), names[self.place.number - 1])
        self._claims = TenantClaims(self.config, member, frozenset(names))

    async def run(self, fill: Path | None = None) -> None:
        """Work on the share of this process until `stop` is set, then give it back."""
        await asyncio.to_thread(self._desk.prepare)
        try:
            await self._retry_while_unavailable(self.postgres.log_in)
            self.reached.set()
            size, dsn = self.place.connections, self.postgres.working_dsn
            async with Database(dsn, size=size, keeps_urgent=True) as database:
                await self._serve(database, fill)
        finally:
            self._parts.workers.terminate()
            await asyncio.to_thread(self._heartbeat.remove)
            log.info("stopped")

    async def _serve(self, database: Database, fill: Path | None) -> None:
        tasks = [*self._make_common_tasks(database), self._watching.run(), self._claims.keep(database, self.stop)]
        tasks += [self._follow_claims(database, fill), self._wake_engines(database)]
        tasks.append(self._mirror_rows.renew(database, self.stop))
        if self.config.metrics is not None:
            tasks.append(self._keep_measures())
        if self.config.notify == "ticker" or database.is_cluster:
            tasks.append(Notifications(self.postgres.listening_dsn, {}, self.stop, {}).tick())
        try:
            async with run_together(tasks, self.stop):
                await self.stop.wait()
        finally:
            await self._end_works(database)
            with suppress(Unavailable):
                await self._claims.leave(database)

    @property
    def _heartbeat(self) -> Heartbeat:
        return self._desk.heartbeat

    def facts(self) -> dict[str, Any]:
        """As of a whole daemon, with the tenants that it claims, and those whose engine stands still."""
        return {
            **Daemon.facts(self),
            "claimed": sorted(self._claims.claimed),
            "stuck": self.stuck_tenants(),
            "halted": self.halted_tenants,
            "without_lease": self.tenants_without_lease,
        }

    def _is_complete(self) -> bool:
        is_open = all(name in self.mirrors or f"halted {name}" in self.degraded for name in self._claims.claimed)
        return self._claims.is_complete and is_open and Daemon._is_complete(self)

    def _note_ready(self) -> None:
        self.ready.set()
        log.info("share_ready")

    async def _follow_claims(self, database: Database, fill: Path | None) -> None:
        """Open mirrors that are claimed, close others, and give their claims back."""
        while not self.stop.is_set():
            self._claims.changed.clear()
            await self._close_others(database)
            is_everything_open = await self._open_claimed(database, fill)
            if not self.ready.is_set() and self._is_complete():
                self._note_ready()
            await pause(self.stop, None if is_everything_open else RETRY_SECONDS, self._claims.changed)

    async def _close_others(self, database: Database) -> None:
        for name in [name for name in self.mirrors if name not in self._claims.claimed]:
            await self._close(database, name)
        for key in [key for key in self.degraded if self._is_of_another(key)]:
            del self.degraded[key]
        with suppress(Unavailable):
            await self._claims.give_back(database, [name for name in self._claims.surplus if name not in self.mirrors])

    def _is_of_another(self, key: str) -> bool:
        kind, _, name = key.partition(" ")
        return kind in ("halted", "lease") and name not in self._claims.claimed

    async def _open_claimed(self, database: Database, fill: Path | None) -> bool:
        """Open what is claimed and not open. False: something is left, or the claims changed meanwhile."""
        pending = [
            name for name in self._claims.claimed if name not in self.mirrors and f"halted {name}" not in self.degraded
        ]
        await self._watch_claimed(pending)
        for name in pending:
            tenant = self._claims.claimed.get(name)
            if self.stop.is_set() or tenant is None:
                break
            await self._try_to_open(database, name, tenant, fill)
        return all(name in self.mirrors or f"halted {name}" in self.degraded for name in pending)

    async def _watch_claimed(self, pending: list[str]) -> None:
        """Watch all trees before the first is opened: each change of what is watched costs a scan of all."""
        for name in pending:
            with suppress(MirrordError):
                await asyncio.to_thread(app.make_root, self.config, name)
        self._desk.trees = frozenset(self._claims.claimed) | self.mirrors.keys()

    async def _try_to_open(self, database: Database, name: str, tenant: TenantId, fill: Path | None) -> None:
        try:
            if fill is not None:
                await asyncio.to_thread(app.fill_root, self.config, name, fill)
            await self._open_or_halt(database, name, tenant, alone=False)
        except MirrordError as error:  # its former process still ends, for instance
            self.degraded[f"lease {name}"] = f"{name}: {error}"
            return
        self.degraded.pop(f"lease {name}", None)
        if (mirror := self.mirrors.get(name)) is not None:
            self._begin_work(name, mirror)

    def _begin_work(self, name: str, mirror: RunningMirror) -> None:
        stop = asyncio.Event()
        task = asyncio.ensure_future(self._work_on(mirror, stop))
        task.add_done_callback(self._stop_on_failure)
        self._works[name] = MirrorWork(stop, task)
        self._listening_ends.set()

    async def _work_on(self, mirror: RunningMirror, stop: asyncio.Event) -> None:
        async with run_together(self._make_mirror_tasks(mirror, stop), stop):
            await stop.wait()
            mirror.engine.queue.wake()

    def _stop_on_failure(self, task: "asyncio.Future[None]") -> None:
        if not task.cancelled() and task.exception() is not None:
            self.stop.set()

    async def _close(self, database: Database, name: str) -> None:
        """Finish the work on one mirror, and release its lease and its lock."""
        mirror, work = self.mirrors.pop(name), self._works.pop(name)
        work.stop.set()
        try:
            await work.task
        finally:
            await close_mirrors(database, [mirror])
        self._parts.fair_shares.leave()
        self._listening_ends.set()
        for sentence in mirror.opened.sides.tree.missing_abilities:
            self.degraded.pop(f"{name}: {sentence}", None)
        log.info("mirror_closed", extra={"tenant": name})

    async def _end_works(self, database: Database) -> None:
        for work in self._works.values():
            work.stop.set()
        await asyncio.gather(*(work.task for work in self._works.values()), return_exceptions=True)
        await close_mirrors(database, self.mirrors.values())
        for work in self._works.values():
            if (failure := work.task.exception()) is not None:
                raise failure

    async def _keep_measures(self) -> None:
        """Store the measurements for the supervisor, which serves them."""
        while not self.stop.is_set():
            with suppress(OSError):  # a full disk: the mirrors themselves may still work
                await asyncio.to_thread(self._desk.write_measures, dump_measures(self.measures()))
            await pause(self.stop, MEASURE_SECONDS)

    async def _wake_engines(self, database: Database) -> None:
        """Listen and poll for the mirrors that are open, and begin again whenever they changed."""
        while not self.stop.is_set():
            ends = self._listening_ends = asyncio.Event()
            mirrors = {mirror.opened.sides.tenant: mirror for mirror in self.mirrors.values()}
            engines = {tenant: mirror.engine for tenant, mirror in mirrors.items()}
            notifications = Notifications(self.postgres.listening_dsn, engines, ends, self._wakes_of(mirrors))
            tasks = [notifications.listen(), notifications.poll(database, self.ready), self._end_listening(ends)]
            async with run_together(tasks, ends):
                await ends.wait()
            await pause(self.stop, LISTEN_SECONDS)

    async def _end_listening(self, ends: asyncio.Event) -> None:
        await pause(self.stop, None, ends)
        ends.set()


def _host_of(config: Config) -> str:
    return f"{socket.gethostname()}:{config.mirror}"


def run_engine_process(
    config: Config, place: ProcessPlace, parent: int, fill: Path | None, log_files: tuple[Path | None, ...]
) -> None:
    """The main function of the process. parent: the process id of its supervisor, with which it ends."""
    end_with_parent(parent)
    prepare_process()
    for number in TERMINAL_SIGNALS:  # the supervisor says when to stop
        signal.signal(number, signal.SIG_IGN)
    log_to(*log_files, facts={"process": place.number})
    faulthandler.enable()
    end_without_memory()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run_until_stopped(EngineProcess(config, place=place), fill))
    except MirrordError as error:
        log.error("process_failed", extra={"error": str(error)})
        sys.exit(1)


async def _run_until_stopped(process: EngineProcess, fill: Path | None) -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, process.stop.set)
    await process.run(fill)
