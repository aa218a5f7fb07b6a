"""A Postgres cluster that initdb and the migrations made once for all workers of a test run, and copies of it."""

import asyncio
import fcntl
import subprocess
from pathlib import Path

import psycopg
from psycopg import sql

from mirrord.db.migrate import migrate
from mirrord.db.server.embedded_server import EmbeddedPostgres
from tests.support.memory import run_directory

TEMPLATE = "migrated"  # the name of a database that has the newest schema and no rows


def place_cluster(data: Path) -> None:
    """
    Put a cluster where an embedded server of the data directory *data* would have initdb make one.

    It has the database TEMPLATE, too. All copies have one system identifier: mirrord takes them for one server.
    """
    data.mkdir(parents=True, exist_ok=True)
    directory = run_directory()
    if directory is None:
        _make_cluster(data)
        return
    with (directory / "cluster.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / "cluster").exists():
            _make_cluster(directory / "making")
            (directory / "making").rename(directory / "cluster")
    subprocess.run(["cp", "-a", str(directory / "cluster" / "pg"), str(data)], check=True)


def _make_cluster(data: Path) -> None:
    embedded = EmbeddedPostgres(data)
    embedded.start()
    with psycopg.connect(embedded.dsn(database="postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
    asyncio.run(migrate(embedded.dsn(database=TEMPLATE)))
    embedded.stop()
    embedded.log.unlink()
