"""mirrord works as mirrord_daemon, whoever migrated; the embedded server lets in nobody but its own user."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from mirrord.db.server.embedded_server import EmbeddedPostgres
from mirrord.db.working_logins import find_logins
from mirrord.errors import UserError
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import eventually

NOBODY = 65534
WHO = """
SELECT DISTINCT usename::text FROM pg_stat_activity
 WHERE application_name = 'mirrord' AND datname = current_database()"""


def test_a_daemon_with_a_superusers_dsn_works_as_its_own_role(fresh_dsn: str, tmp_path: Path) -> None:
    with Near(tmp_path, dsn=fresh_dsn) as mirrord:
        mirrord.up()
        save(mirrord.file("Page.md"), "a page\n")
        eventually(lambda: mirrord.page("Page"), "the row")
        with psycopg.connect(fresh_dsn, application_name="test") as superuser:
            assert superuser.execute(WHO.encode()).fetchall() == [("mirrord_daemon",)]


def test_a_daemon_with_the_embedded_server_works_as_its_own_role(tmp_path: Path) -> None:
    with Near(tmp_path) as mirrord:
        mirrord.up()
        with psycopg.connect(mirrord.postgres.dsn(), application_name="test") as superuser:
            assert superuser.execute(WHO.encode()).fetchall() == [("mirrord_daemon",)]


async def test_where_only_a_superuser_may_log_in_it_is_said_what_helps(fresh_dsn: str) -> None:
    with psycopg.connect(fresh_dsn, autocommit=True) as superuser:
        superuser.execute("ALTER ROLE mirrord_daemon NOLOGIN")
        try:
            with pytest.raises(UserError, match="ALTER ROLE mirrord_daemon PASSWORD"):
                await find_logins(fresh_dsn)
        finally:
            superuser.execute("ALTER ROLE mirrord_daemon LOGIN")
    assert "user=mirrord_daemon" in (await find_logins(fresh_dsn)).dsn


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that others may enter."""
    directory = Path(tempfile.mkdtemp(prefix="mirrord-logins-"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may act as another user")
def test_another_user_is_refused_though_every_door_to_the_socket_is_open(open_place: Path) -> None:
    embedded = EmbeddedPostgres(open_place)
    embedded.start()
    try:
        sockets = embedded.socket_directory
        for door in (sockets, next(sockets.glob(".s.PGSQL.*[0-9]"))):
            door.chmod(0o777)
        for role in ("postgres", "mirrord_app"):
            command = [str(EmbeddedPostgres.program_path("psql")), embedded.dsn(role), "-c", "SELECT 1"]
            refused = subprocess.run(
                command, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True, cwd="/", env={}
            )
            assert refused.returncode != 0
            assert "Peer authentication failed" in refused.stderr, refused.stderr
    finally:
        embedded.socket_directory.chmod(0o700)
        embedded.stop()
