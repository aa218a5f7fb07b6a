"""The world of one run: a Postgres, a tenant, two daemons that mirror it into two roots, and an app."""

import asyncio
import hashlib
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo

from mirrord.db import tenant_rows
from mirrord.db.database import Database, app_dsn
from mirrord.db.migrate import migrate
from mirrord.db.server.embedded_server import EmbeddedPostgres
from mirrord.db.server.server_files import Postmaster, is_server_of
from mirrord.domain.entry import TenantId
from mirrord.mirror.heartbeat import Heartbeat, request_flush
from mirrord.mirror.process_setup import prepare_process
from tests.faults.forks import Forks
from tests.support.harness import Awaited, Mirrord, Process, eventually
from tests.support.rows import Connection

T = TypeVar("T")

MIRRORS = 2
PATIENCE = 120.0  # seconds for everything that must end


class Late(Awaited):
    """A daemon lives and was not ready in time: the machine is busy, or it never will be."""


class Quick(Mirrord):
    """A daemon of a cluster's host; it may be killed, frozen and let go on."""

    is_expected_up = False  # whether it should be running now
    asleep = False

    def __init__(self, directory: Path, forks: Forks, *, tenant: str, dsn: str) -> None:
        """*forks*: where its daemons come from."""
        super().__init__(directory, tenant=tenant, dsn=dsn)
        self._forks = forks

    def begin(self) -> None:
        """Start it if it does not run; it is not waited for."""
        if not self.running:
            self.is_expected_up = True
            self.start()

    def end(self, number: signal.Signals) -> None:
        """Stop it with a signal and wait until it is gone."""
        self.wake()
        self.is_expected_up = False
        if self.running:
            self._end(number, PATIENCE)
        self.end_workers()

    def freeze(self) -> None:
        """It does nothing from now on, and does not know."""
        if self.running:
            os.kill(self.pid, signal.SIGSTOP)
            self.asleep = True

    def wake(self) -> None:
        """It goes on."""
        if self.asleep:
            self.asleep = False
            os.kill(self.pid, signal.SIGCONT)

    def wait_ready(self, seconds: float = PATIENCE) -> None:
        """As of every daemon. Raises Late where it still starts."""
        try:
            super().wait_ready(seconds)
        except Awaited as error:
            if self.running:
                raise Late(str(error)) from error
            raise

    def settle(self, watch: Callable[[], None] = lambda: None) -> None:
        """Return when the daemon has nothing more to do. watch: is called again and again until then."""
        eventually(Heartbeat(self.mirror).is_alive, "the first beat of a daemon", PATIENCE)
        request_flush(self.mirror, PATIENCE, watch)

    def whole_log(self) -> str:
        """Everything all daemons started here have said."""
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def _begun(self, *words: str) -> Process:
        return self._forks.start(words, log=self.log, cwd=self.directory, env=self._environment())


class Cluster:
    """
    A Postgres for many runs, that may be stopped as a power cut does.

    Connections of oracles are kept: a new one has Postgres read its catalogue and plan every statement anew.
    hosts: where the daemons of each mirror come from.
    """

    def __init__(self, directory: Path, *, brief: bool = True) -> None:
        """*brief*: what is played takes seconds, so daemons hurry and nobody vacuums; else all is as people have it."""
        self._embedded = EmbeddedPostgres(directory)
        self._brief = brief
        self.hosts = tuple(Forks(hurried=brief) for _ in range(MIRRORS))
        self._loop = asyncio.Runner()
        self._database: Database | None = None
        self._administrator: Connection | None = None

    def __enter__(self) -> Self:
        prepare_process()  # oracles read trees: else each file is looked at twice, 0.3 s apart
        self._embedded.start()
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # processes die here, machines do not
            if self._brief:
                connection.execute("ALTER SYSTEM SET autovacuum = off")  # rows are few
            connection.execute("SELECT pg_reload_conf()")
        asyncio.run(migrate(self.dsn))
        return self

    def __exit__(self, *_: object) -> None:
        for host in self.hosts:
            host.close()
        self._disconnect()
        self._loop.close()
        self._embedded.stop()

    @property
    def dsn(self) -> str:
        """A superuser's connection string."""
        return self._embedded.dsn()

    @property
    def directory(self) -> Path:
        """Where Postgres keeps its files."""
        return self._embedded.cluster

    def crash(self) -> None:
        """As `pg_ctl stop -m immediate`: no connection is closed, nothing is written; recovery follows at the start."""
        running = Postmaster.read_record(self._embedded.cluster)
        assert running is not None, "Postgres does not run"
        self._disconnect()
        os.kill(running.pid, signal.SIGQUIT)
        eventually(lambda: not is_server_of(running.pid, running.cluster), "the end of Postgres", PATIENCE)

    def start(self) -> None:
        """Start it again."""
        self._embedded.start()

    @contextmanager
    def administered(self) -> Iterator[Connection]:
        """A connection that sees the rows of every tenant."""
        if self._administrator is None:
            self._administrator = psycopg.connect(self.dsn, autocommit=True)
        yield self._administrator
        self._administrator.execute("RESET ALL")

    def work(self, act: Callable[[Database], Awaitable[T]]) -> T:
        """What *act* does with a database that is kept; no thread of it goes on, so that this process may fork."""

        async def worked() -> T:
            # One thread for files: a run makes the same calls in the same order as the run before.
            with ThreadPoolExecutor(1) as files:
                asyncio.get_running_loop().set_default_executor(files)
                if self._database is None:
                    named = make_conninfo(self.dsn, application_name="oracle")  # acts cut those of mirrord
                    self._database = Database(named, size=2)
                    await self._database.pool.open()
                return await act(self._database)

        return self._loop.run(worked())

    def add_tenant(self, name: str) -> TenantId:
        """A tenant of a run's own."""
        return self.work(lambda database: tenant_rows.ensure_tenant(database, name))

    def _disconnect(self) -> None:
        if self._administrator is not None:
            self._administrator.close()
        if self._database is not None:
            self._loop.run(self._database.pool.close())
        self._administrator = self._database = None


class World:
    """What a run acts on. The app's connection is made anew when Postgres cut it."""

    def __init__(self, cluster: Cluster, directory: Path, name: str, *, silent: bool = False) -> None:
        """*silent*: no commit of anybody rings the bell."""
        self.cluster, self.directory, self.name = cluster, directory, name
        self.tenant = cluster.add_tenant(name)
        dsn = make_conninfo(cluster.dsn, options="-c mirrord.notify=off") if silent else cluster.dsn
        self.mirrors = [
            Quick(directory / f"host-{number}", host, tenant=name, dsn=dsn) for number, host in enumerate(cluster.hosts)
        ]
        self.silent = silent
        self.sentinel = directory / "host-0" / "mirror" / "outside"
        self.sentinel.mkdir(parents=True)
        (self.sentinel / "Untouched.md").write_text("Nobody of us may touch this.\n", encoding="utf-8")
        self.outside = digest_of_tree(self.sentinel)
        self._app: Connection | None = None

    @property
    def app(self) -> Connection:
        """An app's connection, each statement a transaction of its own."""
        if self._app is not None and (self._app.closed or self._app.broken):
            self._app = None
        if self._app is None:
            self._app = self.connect_app(autocommit=True)
            self.ring(loud=not self.silent)
        return self._app

    def connect_app(self, *, autocommit: bool) -> Connection:
        """Another connection of the app's; it waits for nobody for long."""
        connection = psycopg.connect(app_dsn(self.cluster.dsn, self.tenant), autocommit=True, connect_timeout=5)
        connection.execute("SET lock_timeout = '3s'; SET statement_timeout = '10s'")
        connection.autocommit = autocommit
        return connection

    def ring(self, *, loud: bool) -> None:
        """Whether the app's commits ring the bell."""
        self.silent = not loud
        self.app.execute(f"SET mirrord.notify = '{'on' if loud else 'off'}'".encode())

    def begin(self) -> None:
        """Start both daemons and wait until both are ready."""
        for mirror in self.mirrors:
            mirror.begin()
        for mirror in self.mirrors:
            mirror.wait_ready()

    def quiesce(self, watch: Callable[[], None] = lambda: None) -> None:
        """
        Everything runs, nothing is frozen, and no daemon has anything to do on account of another.

        watch: is called again and again until then.
        """
        for mirror in self.mirrors:
            mirror.wake()
            mirror.begin()
        for mirror in self.mirrors:
            mirror.wait_ready()
        rounds = 0
        before, now = -1, self._seq()
        while before != now:
            rounds += 1
            assert rounds <= 20, "after 20 rounds of `flush` the rows still change: the daemons answer each other"
            for mirror in self.mirrors:
                mirror.settle(watch)
            before, now = now, self._seq()

    def close(self) -> None:
        """End everything that was started here."""
        if self._app is not None:
            self._app.close()
        for mirror in self.mirrors:
            with suppress(ProcessLookupError):
                mirror.end(signal.SIGKILL)

    def _seq(self) -> int:
        """The newest version of anything; what is only derived changes the clock, not this."""
        with self.cluster.administered() as connection:
            row = connection.execute(
                "SELECT coalesce(sum(version), 0) FROM (SELECT version FROM mirrord.page WHERE tenant_id = %(t)s "
                "UNION ALL SELECT version FROM mirrord.attachment WHERE tenant_id = %(t)s "
                "UNION ALL SELECT version FROM mirrord.record WHERE tenant_id = %(t)s) AS entry",
                {"t": self.tenant},
            ).fetchone()
        assert row is not None
        return int(row[0])


def digest_of_tree(directory: Path) -> str:
    """Of every name, every byte and every time stamp of a write below *directory*."""
    digest = hashlib.blake2b()
    for path in sorted(directory.rglob("*")):
        digest.update(f"{path.relative_to(directory)} {path.stat().st_mtime_ns}\n".encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()
