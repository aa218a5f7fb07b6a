"""An app deletes a page while the daemon resolves the links on it: the daemon goes on."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Connection

# A transaction of the daemon that checks a foreign key waits for the row that the app has deleted.
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s"
ROUNDS = 5


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    with Near(tmp_path, dsn=fresh_dsn) as started:
        for number in range(ROUNDS):
            save(started.file(f"Source {number}.md"), f"It says [[Target {number}]].\n")
            save(started.file(f"Target {number}.md"), "A text.\n")
        started.up()
        eventually(lambda: _resolved_links(started) == ROUNDS, "all links mean a page")
        yield started


def _resolved_links(mirrord: Mirrord) -> int:
    row = mirrord.app.execute("SELECT count(*) FROM mirrord.page_link WHERE target_id IS NOT NULL").fetchone()
    return row[0] if row is not None else 0


@contextmanager
def deleting(dsn: str, name: str) -> Iterator[None]:
    """An app's transaction that deletes the page *name*, and is committed after the block."""
    with psycopg.connect(dsn) as app:
        assert app.execute("DELETE FROM mirrord.page WHERE name = %s", [name]).rowcount == 1
        yield


def _waits(admin: Connection) -> bool:
    row = admin.execute(WAITING, ["%page_link%"]).fetchone()
    return row is not None and row[0] > 0


def _have_followed(deleted: Path, renamed: Path) -> bool:
    return renamed.exists() and not deleted.exists()


def test_a_page_is_deleted_while_its_links_are_resolved(mirrord: Mirrord, fresh_dsn: str) -> None:
    with psycopg.connect(fresh_dsn, autocommit=True) as admin:
        for number in range(ROUNDS):
            source, other = mirrord.file(f"Source {number}.md"), mirrord.file(f"Other {number}.md")
            with deleting(mirrord.app_dsn, f"Source {number}"):
                rename = "UPDATE mirrord.page SET title = 'Other', name = %s WHERE name = %s"
                mirrord.app.execute(rename, [f"Other {number}", f"Target {number}"])
                eventually(lambda: _waits(admin), "the daemon waits for the app")
            eventually(partial(_have_followed, source, other), "the file goes, and the other one is renamed")
    mirrord.flush()
    assert mirrord.running
    assert not any(mirrord.file(f"Source {number}.md").exists() for number in range(ROUNDS))
