"""A whole mirrord in a directory of its own: the daemon as a process, its tree, its Postgres, an app's connection."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import psycopg

import mirrord
from mirrord.db.server.embedded_server import EmbeddedPostgres
from tests.support.rows import Connection, Page, page_at
from tests.support.trees import contents

T = TypeVar("T")

PATIENCE = 60.0  # seconds; generous, for machines that are busy with other tests
PAUSE = 0.005  # seconds between the first looks at a condition
LONGEST_PAUSE = 0.05  # seconds; each look is a query or a whole command, and what is awaited needs the processors, too

_COMMAND = (sys.executable, "-c", "from mirrord.cli import main; main()")
_OURS = ("MIRROR", "TENANT_ID", "PG")  # prefixes of environment variables that would redirect a daemon


class Awaited(AssertionError):
    """Something that had to happen did not happen in time."""


def eventually(
    condition: Callable[[], T | None], expectation: str, seconds: float = PATIENCE, *, pause: float | None = None
) -> T:
    """
    The first true value *condition* gives; it is asked again after each *pause*, in seconds.

    pause: None for pauses that grow to a tenth of the time waited so far.
    expectation: the end of a sentence that begins with "In vain awaited for 60 s: ".
    Raises Awaited after *seconds*, with *expectation* and the last value.
    """
    begin = time.monotonic()
    while not (value := condition()):
        waited = time.monotonic() - begin
        if waited > seconds:
            raise Awaited(f"In vain awaited for {seconds:g} s: {expectation}. Last seen: {value!r}")
        time.sleep(growing_pause(waited) if pause is None else pause)
    return value


def growing_pause(waited: float) -> float:
    """Seconds until the next look, after so many of waiting."""
    return min(max(PAUSE, waited / 10), LONGEST_PAUSE)


class Process(Protocol):
    """A daemon's, as subprocess has it."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, number: int, /) -> None: ...


class Mirrord:
    """
    A daemon, up or down, that mirrors one tenant in *directory*.

    Leaving its `with` block ends the daemon, its workers and its Postgres, however the block was left.
    """

    command: tuple[str, ...] = _COMMAND  # what `mirrord` is on a command line

    def __init__(self, directory: Path, *, tenant: str = "demo", dsn: str | None = None) -> None:
        """*dsn*: a Postgres that somebody else keeps; None: an embedded one below *directory*."""
        self.directory, self.tenant, self.dsn = directory, tenant, dsn
        self.mirror, self.data = directory / "mirror", directory / "data"
        self.root = self.mirror / tenant
        self.log = directory / "daemon.log"
        self.postgres = EmbeddedPostgres(self.data)
        self.surroundings: dict[str, str] = {}  # environment variables, besides ours
        self._process: Process | None = None
        self._groups: list[int] = []  # the process group of every daemon started here
        self._log_begin = 0
        self._app: Connection | None = None
        self._app_dsn: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The process id of the daemon started last."""
        assert self._process is not None, "the daemon was never started"
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the daemon's process is alive."""
        return self._process is not None and self._process.poll() is None

    def start(self, *arguments: str) -> None:
        """Start the daemon and return at once; *arguments* are added to `mirrord up`."""
        assert not self.running, "the daemon runs already"
        self.directory.mkdir(parents=True, exist_ok=True)
        self._log_begin = self.log.stat().st_size if self.log.exists() else 0
        self._process = self._begun("up", "--plain", "--tenant", self.tenant, *self.places, *arguments)
        self._groups.append(self._process.pid)

    def _begun(self, *words: str) -> Process:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*self.command, *words],
                cwd=self.directory,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _environment(self) -> dict[str, str]:
        return {**_environment(), **self.surroundings}

    def wait_ready(self, seconds: float = 60.0) -> None:
        """Return when the daemon started last has compared everything once. Raises Awaited if it ended instead."""
        self.wait_event("ready", seconds)

    def wait_event(self, name: str, seconds: float = 60.0) -> dict[str, Any]:
        """The first event *name* in the log of the daemon started last. Raises Awaited if it ended without."""

        def logged() -> dict[str, Any] | None:
            running = self.running
            if logged_event := next((event for event in self.events() if event.get("event") == name), None):
                return logged_event
            if not running:
                raise Awaited(f"The daemon ended before it logged {name!r}; {self.log} ends with:\n{self.log_end()}")
            return None

        return eventually(logged, f"the event {name!r} in {self.log}", seconds)

    def up(self, *arguments: str) -> None:
        """Start the daemon and wait until it is ready."""
        self.start(*arguments)
        self.wait_ready()

    def stop(self, seconds: float = 30.0) -> int:
        """End the daemon as a service manager does; its exit code. An embedded Postgres ends with it."""
        return self._end(signal.SIGTERM, seconds)

    def kill(self) -> None:
        """End the daemon as a power cut does, but for Postgres, which goes on."""
        self._end(signal.SIGKILL, 10.0)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The daemon does nothing inside this block, and does not know: what happens there happens at once."""
        try:
            eventually(self._froze_between_transactions, "a moment when the daemon holds no lock")
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def restart(self) -> None:
        """Stop, start, and wait until it is ready."""
        self.stop()
        self.up()

    def close(self) -> None:
        """End everything that was started here; harmless when it has ended already."""
        if self._app is not None:
            self._app.close()
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self.stop()
            if self.running:
                self.kill()
            self.end_workers()
            self._process.wait()
        self.postgres.stop()

    def workers(self) -> list[int]:
        """Process ids of workers of the daemons started here, of those that were killed too."""
        return [pid for group in self._groups for pid in _members(group) if pid != group]

    def end_workers(self) -> None:
        """End workers that are still there, if it is a bug that they are."""
        for worker in self.workers():
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

    def run(self, *arguments: str, seconds: float = 90.0) -> subprocess.CompletedProcess[str]:
        """Run a `mirrord` command on this installation, to its end."""
        return subprocess.run(
            [*self.command, *arguments, *self.places],
            cwd=self.directory,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )

    def flush(self, seconds: float = 60.0) -> None:
        """`mirrord flush`: return when every change known now is on both sides."""
        completed = self.run("flush", "--timeout", str(seconds), seconds=seconds + 30)
        assert completed.returncode == 0, f"`mirrord flush` failed: {completed.stderr or completed.stdout}"

    def check(self) -> dict[str, str]:
        """`mirrord check`: the verdict of every path whose file and row differ; empty: both sides are equal."""
        completed = self.run("check", "--json")
        assert completed.returncode in (0, 1), f"`mirrord check` failed: {completed.stderr or completed.stdout}"
        verdicts = {
            difference["path"]: difference["verdict"] for difference in json.loads(completed.stdout)[self.tenant]
        }
        assert bool(verdicts) == bool(completed.returncode), (
            f"`mirrord check` listed {verdicts} and exited {completed.returncode}"
        )
        return verdicts

    def status(self) -> dict[str, Any]:
        """`mirrord status --json`, of this tenant: its counts, with `daemon`, `database` and `degraded` beside them."""
        completed = self.run("status", "--json")
        assert completed.returncode == 0, f"`mirrord status` failed: {completed.stderr or completed.stdout}"
        status: dict[str, Any] = json.loads(completed.stdout)
        mine: dict[str, Any] = next((tenant for tenant in status.pop("tenants") if tenant["name"] == self.tenant), {})
        return {**status, **mine}

    def create_token(self, actor: str = "tester", *options: str) -> str:
        """`mirrord tenant token`: what lets an agent of that name into this tenant; *options* are added."""
        completed = self.run("tenant", "token", self.tenant, "--actor", actor, *options)
        assert completed.returncode == 0, f"`mirrord tenant token` failed: {completed.stderr}"
        return completed.stdout.strip()

    @property
    def app_dsn(self) -> str:
        """What `mirrord dsn` prints: an app's way in. Needs a running Postgres the first time."""
        if self._app_dsn is None:
            completed = self.run("dsn", "--tenant", self.tenant)
            assert completed.returncode == 0, f"`mirrord dsn` failed: {completed.stderr}"
            self._app_dsn = completed.stdout.strip()
        return self._app_dsn

    @property
    def app(self) -> Connection:
        """An app's connection, autocommit; a new one where Postgres cut the last."""
        if self._app is None or not _answers(self._app):
            self._app = psycopg.connect(self.app_dsn, autocommit=True, connect_timeout=30)
            self._app.execute("SET statement_timeout = '20s'")  # who waits in vain for a lock fails instead
        return self._app

    def page(self, path: str) -> Page | None:
        """The living row of a page by its path in the tree; None: there is none."""
        return page_at(self.app, path)

    def file(self, path: str) -> Path:
        """Where the file of *path* is, or would be."""
        return self.root / path

    def text(self, path: str) -> str | None:
        """What a file holds now; None: there is none."""
        content = contents(self.file(path))
        return None if content is None else content.decode()

    def events(self) -> Iterator[dict[str, Any]]:
        """The log of the daemon started last, oldest first: {time, level, event, …}. Other output is skipped."""
        with self.log.open("rb") as log:
            log.seek(self._log_begin)
            for line in log:
                with suppress(ValueError):
                    yield json.loads(line)

    def log_end(self, lines: int = 20) -> str:
        """The last lines of the log, for a person."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def _froze_between_transactions(self) -> bool:
        """Stopped amid a transaction, the daemon would hold up the app: then it goes on, to be stopped later."""
        os.kill(self.pid, signal.SIGSTOP)
        with psycopg.connect(self.dsn or self.postgres.dsn(), autocommit=True) as connection:
            transactions = connection.execute(
                "SELECT FROM pg_stat_activity WHERE application_name = 'mirrord' AND xact_start IS NOT NULL"
            )
            if transactions.rowcount == 0:
                return True
        os.kill(self.pid, signal.SIGCONT)
        return False

    @property
    def places(self) -> list[str]:
        """The flags that name this installation."""
        named = ["--mirror", str(self.mirror), "--data", str(self.data)]
        return named if self.dsn is None else [*named, "--dsn", self.dsn]

    def _end(self, number: int, seconds: float) -> int:
        assert self._process is not None, "the daemon was never started"
        self._process.send_signal(number)
        return self._process.wait(seconds)


def _answers(connection: Connection) -> bool:
    with suppress(psycopg.OperationalError):
        connection.execute("SELECT 1")
        return True
    return False


def _environment() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {**inherited, "PYTHONPATH": str(Path(mirrord.__file__).parents[1])}


def _members(group: int) -> Iterator[int]:
    """The living processes of a process group (Linux)."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # proc(5): after the name in parentheses come state, parent and group.
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                yield int(stat.parent.name)
