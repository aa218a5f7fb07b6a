"""PgBouncer before a server of Postgres."""

import json
import os
import re
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import make_conninfo

from tests.support.harness import eventually
from tests.support.servers import launch

POOLER = Path("/usr/sbin/pgbouncer")
GUIDE = Path(__file__).parents[2] / "docs/operations.md"
PORT = 6432
WAIT_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class PoolerTarget:
    """The server: the directory of its socket, and its port."""

    directory: Path
    port: int = 5432


def role_settings() -> list[str]:
    """The statements by which the guide gives a pooled role the settings of mirrord's connections."""
    return re.findall(r"^ALTER ROLE mirrord_daemon SET .*;$", GUIDE.read_text("utf-8"), re.MULTILINE)


def write_configuration(directory: Path, dsn: str, listen_dsn: str, *lines: str) -> Path:
    """A file of configuration in *directory*. lines: more of them."""
    file = directory / "mirrord.toml"
    file.write_text("\n".join([f"dsn = {json.dumps(dsn)}", f"listen_dsn = {json.dumps(listen_dsn)}", *lines, ""]))
    return file


@contextmanager
def pooled(target: PoolerTarget, directory: Path, settings: Mapping[str, str]) -> Iterator[str]:
    """PgBouncer before *target*, until the block ends; the DSN of mirrord_daemon that goes through it."""
    (directory / "users").write_text('"mirrord_daemon" ""\n"mirrord_app" ""\n')
    places = {"listen_port": str(PORT), "unix_socket_dir": str(directory), "listen_addr": ""}
    access = {"auth_type": "trust", "auth_file": str(directory / "users"), "max_client_conn": "60"}
    lines = [f"{name} = {setting}" for name, setting in {**places, **access, **settings}.items()]
    head = ["[databases]", f"* = host={target.directory} port={target.port}", "[pgbouncer]"]
    (directory / "pooler.ini").write_text("\n".join([*head, *lines, ""]))
    pid = int(launch("--log", directory / "log", POOLER, directory / "pooler.ini"))
    try:
        listener = directory / f".s.PGSQL.{PORT}"
        eventually(lambda: accepts_connections(listener), "the pooler's socket", WAIT_SECONDS)
        yield make_conninfo(host=str(directory), port=PORT, user="mirrord_daemon", dbname="notes")
    finally:
        os.kill(pid, signal.SIGTERM)
        eventually(lambda: not Path(f"/proc/{pid}").exists(), "the end of the pooler", WAIT_SECONDS)


def accepts_connections(listener: Path) -> bool:
    """Whether a server listens on the socket: its file exists a moment before that."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(listener)) == 0
