"""The stage of one scenario: a tree, its rows, and an engine that works on them until all is done."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg

from mirrord import app
from mirrord.config import Config
from mirrord.db.database import Database, app_dsn
from mirrord.domain.entry import TenantId
from mirrord.errors import Unavailable
from mirrord.intake.event_files import EventReader
from mirrord.research.sources.source_kinds import DIRECTORY
from mirrord.sync.engine import Engine
from mirrord.sync.observation.mirror_handles import Sides
from tests.faults.quick import hurry
from tests.faults.world import Cluster
from tests.support.entries import value
from tests.support.rows import Connection, page_at

LOOK = 0.5  # seconds between looks everywhere
UNSETTLED = 20.0  # seconds after which an engine that still works is taken to work for ever

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CONFLICT = re.compile(r"\(conflict [^)]*\)")


@dataclass(slots=True)
class Stage:
    """One tenant and its one tree."""

    cluster: Cluster
    directory: Path
    name: str
    tenant: TenantId
    app: Connection
    dsn: str  # the engine's way to Postgres

    @property
    def root(self) -> Path:
        """Where the files are."""
        return self.directory / self.name

    def save(self, path: str, text: str) -> None:
        """As an editor does; directories are made."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def sql(self, query: str, *values: object) -> None:
        """What an app does; None of it may change nothing."""
        cursor = self.app.execute(query.encode(), values)
        assert cursor.rowcount > 0, f"nothing to do for {query}"

    def page(self, path: str) -> UUID:
        """The id of the living page at *path*."""
        page = page_at(self.app, path)
        assert page is not None, f"there is no page {path}"
        return page.id

    def tree(self) -> dict[str, bytes]:
        """What people see, by path."""
        files = [path for path in self.root.rglob("*") if path.is_file()]
        names = {str(path.relative_to(self.root)): path for path in files}
        return {name: file.read_bytes() for name, file in names.items() if not name.startswith(".mirrord")}

    def picture(self) -> dict[str, str]:
        """The tree without what differs from run to run: ids and times."""

        def plain(text: str) -> str:
            return _CONFLICT.sub("(conflict)", _UUID.sub("ID", text)).replace(f'"{self.name}"', '"TENANT"')

        return {plain(path): plain(data.decode("utf-8", "replace")) for path, data in self.tree().items()}

    def versions(self) -> int:
        """How many there are of everything."""
        query = (
            "SELECT (SELECT count(*) FROM mirrord.page_revision) + (SELECT count(*) FROM mirrord.record_revision) "
            "+ (SELECT coalesce(sum(version), 0) FROM mirrord.attachment)"
        )
        return int(value(self.app, query))

    def converge(self) -> None:
        """
        A daemon's work without its watcher: start, compare, work until nothing is left, end.

        Raises TimeoutError where that goes on for ever, and whatever would end a daemon.
        """
        self.cluster.work(lambda database: _converge(self, database, lambda: None))

    def converge_anew(self, opened: Callable[[], None] = lambda: None) -> None:
        """
        As converge(), with connections of its own, in a process that may be another one.

        opened: called when the mirror is open and the lease taken.
        """

        async def converged() -> None:
            # One thread for files: a run makes the same calls in the same order as the run before.
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
            async with Database(self.dsn, size=2) as database:
                await _converge(self, database, opened)

        asyncio.run(converged())


@contextmanager
def staged(cluster: Cluster, directory: Path, name: str) -> Iterator[Stage]:
    """A stage with nothing on it, for the length of a `with`; its files stay."""
    hurry()
    tenant = cluster.add_tenant(name)
    with psycopg.connect(app_dsn(cluster.dsn, tenant), autocommit=True) as connection:
        stage = Stage(cluster, directory, name, tenant, connection, cluster.dsn)
        stage.root.mkdir(parents=True)
        yield stage


async def _converge(stage: Stage, database: Database, opened: Callable[[], None]) -> None:
    config = Config(mirror=stage.directory, data=stage.directory / "data", dsn=stage.dsn, tenants=(stage.name,))
    mirror = await app.open_mirror(database, config, stage.name, stage.tenant)
    try:
        opened()
        await _work(Engine(mirror.sides, is_adopting=mirror.adopting))
        await _read_events(mirror.sides)
    finally:
        mirror.close()


async def _work(engine: Engine) -> None:
    await _start(engine)
    stop = asyncio.Event()
    running = asyncio.ensure_future(engine.run(stop))
    try:
        async with asyncio.timeout(UNSETTLED):
            for _ in range(2):  # what the first round wrote is compared in the second
                engine.notify()
                await _until_idle(engine, running)
    finally:
        stop.set()
        engine.queue.wake()
        await running


async def _start(engine: Engine) -> None:
    """As the daemon does: again and again while Postgres is out of reach."""
    while True:
        try:
            await engine.start()
        except Unavailable:
            await asyncio.sleep(0.01)
            with suppress(Unavailable):
                await engine.sides.database.replace_broken()
        else:
            return


async def _read_events(sides: Sides) -> None:
    reader = EventReader(sides, DIRECTORY, lambda: True)
    while not reader.is_idle:
        try:
            await reader.read_marked()
        except Unavailable:
            await asyncio.sleep(0.01)
            with suppress(Unavailable):
                await sides.database.replace_broken()


async def _until_idle(engine: Engine, running: asyncio.Future[None]) -> None:
    """A look everywhere now and then stands in for the watcher."""
    looked = 0.0
    while not running.done():
        if time.monotonic() - looked > LOOK:
            looked = time.monotonic()
            engine.request_scan()
        elif engine.is_idle:
            return
        await asyncio.sleep(0.002)
