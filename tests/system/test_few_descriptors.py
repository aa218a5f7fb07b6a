"""A daemon that has no descriptors left goes on when there are some again, and deletes nothing meanwhile."""

import resource
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually

FILES = 60
NONE_LEFT = 5  # below what the daemon has open: every further open() fails


@pytest.fixture
def mirrord(tmp_path: Path) -> Iterator[Mirrord]:
    """With an embedded Postgres, which the daemon looks after."""
    with Near(tmp_path) as started:
        started.up()
        yield started


def limit_descriptors(pid: int, limit: int) -> int:
    """Let a process have at most so many; what its limit was."""
    was, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, hard))
    return was


def test_it_says_so_and_goes_on(mirrord: Mirrord) -> None:
    save(mirrord.file("Before.md"), "before\n")
    mirrord.flush()
    count = "SELECT count(*) FROM mirrord.page WHERE deleted_at IS NULL AND kind = 'page'"
    assert _asked(mirrord, count) == 1
    was = limit_descriptors(mirrord.pid, NONE_LEFT)
    try:
        for number in range(FILES):
            save(mirrord.file(f"Page {number}.md"), f"page {number}\n")
            save(mirrord.file(f"assets/{number}.png"), f"picture {number}\n")
        mirrord.postgres.stop()  # connections break, and cannot be made anew
        eventually(
            lambda: "connection is bad" in mirrord.log.read_text() or None, "a connection that cannot be made", 60
        )
        assert mirrord.running
    finally:
        limit_descriptors(mirrord.pid, was)

    eventually(lambda: _asked(mirrord, count) == FILES + 1 or None, "a row of every page", 90)
    mirrord.flush()
    assert _asked(mirrord, "SELECT count(*) FROM mirrord.page WHERE deleted_at IS NOT NULL") == 0
    assert len(list(mirrord.root.glob("*.md"))) == FILES + 1
    assert mirrord.running


def _asked(mirrord: Mirrord, query: str) -> int | None:
    """None while Postgres is starting."""
    try:
        row = mirrord.app.execute(query.encode()).fetchone()
    except psycopg.Error:
        return None
    return int(row[0]) if row else None
