"""Starts that cannot be: each ends with a sentence and an exit code, or waits and says for what."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import mirrord as package
from mirrord.db.server.embedded_server import EmbeddedPostgres
from tests.support.clusters import place_cluster
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.health import assert_syncs
from tests.support.readonly import read_only

USAGE, REFUSED = 2, 4
NOBODY = "65534"
COMMAND = (sys.executable, "-c", "from mirrord.cli import main; main()", "up", "--plain", "--tenant", "demo")


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    """An installation with a page of which no row exists yet; its daemon is down."""
    with Near(tmp_path, dsn=fresh_dsn) as installed:
        save(installed.file("Page.md"), "a page\n")
        yield installed
    assert installed.text("Page.md") == "a page\n"


def test_a_dsn_that_cannot_be_read_is_said_to_be_one(mirrord: Mirrord) -> None:
    mirrord.dsn = "no dsn at all"
    _assert_refused(mirrord, USAGE, "The DSN cannot be read")


@pytest.mark.parametrize(
    ("part", "words"), [("dbname=nowhere", '"nowhere" does not exist'), ("user=x", '"x" does not')]
)
def test_a_dsn_that_postgres_refuses_ends_with_its_reason(mirrord: Mirrord, part: str, words: str) -> None:
    mirrord.dsn = f"{mirrord.dsn} {part}"
    _assert_refused(mirrord, USAGE, "Postgres refused the connection", words)


def test_a_database_that_is_down_at_start_is_awaited(tmp_path: Path) -> None:
    place_cluster(tmp_path / "postgres")
    postgres = EmbeddedPostgres(tmp_path / "postgres")
    with Near(tmp_path, dsn=postgres.dsn()) as mirrord:
        save(mirrord.file("Page.md"), "a page\n")
        mirrord.start()
        awaited = mirrord.wait_event("postgres_awaited")
        assert "Postgres is out of reach" in awaited["error"]
        status = eventually(lambda: _with_daemon(mirrord), "a status that knows the daemon")
        assert [reason for reason in status["degraded"] if "Postgres is out of reach" in reason]
        assert mirrord.running
        try:
            postgres.start()
            mirrord.wait_ready()
            eventually(lambda: mirrord.page("Page.md"), "a row of what was saved meanwhile")
            assert_syncs(mirrord)
            status = eventually(lambda: _with_daemon(mirrord), "a status that knows the daemon")
            assert status["degraded"] == []
            mirrord.stop()
        finally:
            postgres.stop()


def test_a_daemon_that_awaits_its_database_can_be_stopped(tmp_path: Path) -> None:
    with Near(tmp_path, dsn=f"host={tmp_path} dbname=mirrord") as mirrord:
        mirrord.start()
        mirrord.wait_event("postgres_awaited")
        assert mirrord.stop() == 0
        assert not (mirrord.mirror / ".mirrord" / "daemon.json").exists()


def test_a_daemon_whose_first_comparison_is_kept_waiting_can_be_stopped(mirrord: Mirrord, fresh_dsn: str) -> None:
    mirrord.up()
    mirrord.stop()
    with psycopg.connect(fresh_dsn) as connection:
        connection.execute("LOCK TABLE mirrord.mirror_base")
        mirrord.start()
        mirrord.wait_event("start_waits")
        assert mirrord.stop() == 0


def test_a_database_of_a_newer_schema_is_left_alone(mirrord: Mirrord, fresh_dsn: str) -> None:
    with psycopg.connect(fresh_dsn, autocommit=True) as connection:
        connection.execute("INSERT INTO mirrord.migration (number, name) VALUES (9999, '9999_of_tomorrow.sql')")
        _assert_refused(mirrord, USAGE, "schema 9999", "Install a newer mirrord", "nothing was written")
        tenants = connection.execute("SELECT count(*) FROM mirrord.tenant").fetchone()
    assert tenants == (0,)
    assert [entry.name for entry in mirrord.root.iterdir()] == ["Page.md"]


def test_trees_that_are_there_are_offered_by_name_where_the_database_has_no_tenant(
    tmp_path: Path, fresh_dsn: str
) -> None:
    for name in ("notes", "work", "Not a tenant"):
        (tmp_path / "mirror" / name).mkdir(parents=True)
    places = ("--mirror", str(tmp_path / "mirror"), "--data", str(tmp_path / "data"), "--dsn", fresh_dsn)
    refused = subprocess.run([*COMMAND[:-2], *places], capture_output=True, text=True, timeout=60)
    assert refused.returncode == USAGE
    assert "mirrord up --tenant notes --tenant work" in refused.stderr


def test_a_mirror_directory_below_a_file_is_said_to_be_unwritable(mirrord: Mirrord) -> None:
    right, mirrord.mirror = mirrord.mirror, mirrord.file("Page.md") / "mirror"
    _assert_refused(mirrord, USAGE, f"The mirror directory {mirrord.mirror} cannot be written", "Not a directory")
    mirrord.mirror = right
    mirrord.up()
    assert_syncs(mirrord)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
def test_a_mirror_directory_of_somebody_else_is_said_to_be_unwritable(fresh_dsn: str) -> None:
    directory = Path(tempfile.mkdtemp())  # unlike tmp_path, others may enter it
    try:
        directory.chmod(0o777)
        (directory / "mirror").mkdir()
        (directory / "mirror").chmod(0o755)
        completed = _up_as_nobody(directory, fresh_dsn)
        assert completed.returncode == USAGE, completed.stderr
        assert f"The mirror directory {directory / 'mirror'} cannot be written: Permission denied" in completed.stderr
        assert list((directory / "mirror").iterdir()) == []
    finally:
        shutil.rmtree(directory)


@pytest.mark.parametrize("below", ["mirror", "mirror/demo"])
def test_a_mirror_directory_on_a_read_only_disk_is_said_to_be_unwritable(mirrord: Mirrord, below: str) -> None:
    directory = mirrord.directory / below
    with read_only(directory):
        _assert_refused(mirrord, USAGE, f"The mirror directory {directory} cannot be written", "Read-only file system")
    mirrord.up()
    eventually(lambda: mirrord.page("Page.md"), "a row of the page")


def test_a_second_daemon_on_the_same_root_is_refused(mirrord: Mirrord, tmp_path: Path) -> None:
    mirrord.up()
    _assert_refused(mirrord, REFUSED, f"is already mirrored by process {mirrord.pid}", "only one daemon")
    detour = Mirrord(tmp_path / "detour", dsn=mirrord.dsn)
    detour.mirror.mkdir(parents=True)
    detour.root.symlink_to(mirrord.root)
    _assert_refused(detour, REFUSED, f"is already mirrored by process {mirrord.pid}")
    assert_syncs(mirrord)
    mirrord.stop()
    mirrord.up()


def _assert_refused(mirrord: Mirrord, code: int, *words: str) -> None:
    """`mirrord up` ends with one sentence that holds *words*."""
    completed = mirrord.run("up", "--plain", "--tenant", mirrord.tenant)
    messages = [line for line in completed.stderr.splitlines() if line.startswith("mirrord: ")]
    assert completed.returncode == code, completed.stderr
    assert len(messages) == 1, completed.stderr
    assert "Traceback" not in completed.stderr
    assert [word for word in words if word not in messages[0]] == [], messages[0]


def _with_daemon(mirrord: Mirrord) -> dict[str, Any] | None:
    status = mirrord.status()
    return status if status["daemon"]["alive"] else None


def _up_as_nobody(directory: Path, dsn: str) -> subprocess.CompletedProcess[str]:
    places = ["--mirror", str(directory / "mirror"), "--data", str(directory / "data"), "--dsn", dsn]
    return subprocess.run(
        ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", *COMMAND, *places],
        cwd=directory,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(package.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
    )
