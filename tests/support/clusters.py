"""Postgres clusters that initdb and the migrations made once for all workers of a test run, and copies of them."""

import asyncio
import fcntl
import shutil
import subprocess
from collections.abc import Callable
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
    place_copy("cluster", data / "pg", _make_cluster)


def place_copy(name: str, target: Path, make: Callable[[Path], object]) -> None:
    """Put at *target* what *make* made, at a path it was given, when this test run first asked for *name*."""
    directory = run_directory()
    if directory is None:
        make(target)
        return
    original, new = directory / name, directory / f"{name}-new"
    with (directory / f"{name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not original.exists():
            make(new)
            new.rename(original)
    subprocess.run(["cp", "-a", str(original), str(target)], check=True)


def _make_cluster(cluster: Path) -> None:
    data = cluster.with_name(f"{cluster.name}-data")
    embedded = EmbeddedPostgres(data)
    embedded.start()
    with psycopg.connect(embedded.dsn(database="postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
    asyncio.run(migrate(embedded.dsn(database=TEMPLATE)))
    embedded.stop()
    embedded.log.unlink()
    embedded.cluster.rename(cluster)
    shutil.rmtree(data)
