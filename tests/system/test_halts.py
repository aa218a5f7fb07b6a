"""Losses that look like an accident stop, say so, and come back with one command; a pause loses nothing."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.health import assert_syncs, differing, look_everywhere, problem
from tests.support.trees import tree

MANY = 40
HALTED = 5  # exit code


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    """An installation on a database of its own, with MANY pages in sync; the daemon runs."""
    with Near(tmp_path, dsn=fresh_dsn) as installed:
        for path, text in _pages().items():
            save(installed.file(path), text)
        installed.up()
        look_everywhere(installed)
        yield installed


def _wipe(mirrord: Mirrord) -> None:
    for entry in mirrord.root.iterdir():
        if entry.name != ".mirrord":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _clean(mirrord: Mirrord) -> None:
    subprocess.run(["git", "init", "-q", str(mirrord.root)], check=True, capture_output=True)
    subprocess.run(["git", "-C", str(mirrord.root), "clean", "-q", "-fdx", "-e", ".mirrord"], check=True)


def _encrypt(mirrord: Mirrord) -> None:
    for path in _pages():
        file = mirrord.file(path)
        file.write_bytes(bytes(255 - byte for byte in file.read_bytes()))
        file.rename(file.with_name(file.name + ".locked"))


def _empty(mirrord: Mirrord) -> None:
    for path in _pages():
        mirrord.file(path).write_bytes(b"")


@pytest.mark.parametrize(
    ("disaster", "reason"),
    [(_wipe, "root-emptied"), (_clean, "root-emptied"), (_encrypt, "root-emptied"), (_empty, "all-mass-empty")],
)
def test_one_command_brings_back_what_a_disaster_took(
    mirrord: Mirrord, disaster: Callable[[Mirrord], None], reason: str
) -> None:
    before = _rows(mirrord)
    disaster(mirrord)
    halt = _halt(mirrord)
    assert (halt["reason"], halt["entries"] >= MANY) == (reason, True)
    assert _rows(mirrord) == before
    assert_syncs(mirrord)  # edits go on
    _resume(mirrord, halt, "--discard")
    eventually(lambda: {path: mirrord.text(path) for path in _pages()} == _pages(), "all files, byte for byte")
    assert {page: version for page, version in _rows(mirrord).items() if page in before} == before


def test_many_but_not_all_files_that_were_emptied_stop_too_and_may_be_meant(mirrord: Mirrord) -> None:
    emptied = sorted(_pages())[:30]
    for path in emptied:
        mirrord.file(path).write_bytes(b"")
    halt = _halt(mirrord)
    assert (halt["reason"], halt["entries"]) == ("mass-empty", 30)
    _resume(mirrord, halt, "--apply")
    query = "SELECT count(*) FROM mirrord.page WHERE markdown = ''"
    eventually(lambda: mirrord.app.execute(query).fetchone() == (30,), "the rows to be emptied")


def test_rows_that_vanished_without_a_tombstone_take_no_file_along(mirrord: Mirrord, fresh_dsn: str) -> None:
    _vanish(fresh_dsn, "name < 'Page 35'")
    halt = _compare_and_halt(mirrord)
    assert (halt["reason"], halt["paths"]) == ("database-shrank", sorted(_pages())[:35])
    assert {path: mirrord.text(path) for path in _pages()} == _pages()
    _resume(mirrord, halt, "--discard")
    eventually(lambda: len(_rows(mirrord)) == MANY, "rows made from the files")


def test_a_few_vanished_rows_are_made_again_and_many_may_be_meant(mirrord: Mirrord, fresh_dsn: str) -> None:
    _vanish(fresh_dsn, "name < 'Page 03'")
    mirrord.restart()
    eventually(lambda: len(_rows(mirrord)) == MANY, "three rows made from their files")
    _vanish(fresh_dsn, "name >= 'Page 05'")
    halt = _compare_and_halt(mirrord)
    _resume(mirrord, halt, "--apply")
    eventually(lambda: len([path for path in _pages() if mirrord.text(path)]) == 5, "the other files to go")
    assert len(_rows(mirrord)) == 5


def test_a_root_replaced_by_an_empty_checkout_is_not_touched_until_adopted(mirrord: Mirrord) -> None:
    before = _rows(mirrord)
    mirrord.root.rename(mirrord.root.with_name("away"))
    mirrord.root.mkdir()
    save(mirrord.file("README.md"), "another tree\n")
    sentence = eventually(lambda: problem(mirrord, ""), "the problem of the root")
    assert "another directory" in sentence
    mirrord.stop()
    completed = mirrord.run("up", "--plain", "--tenant", mirrord.tenant)
    assert completed.returncode == HALTED
    assert "mirrord adopt --tenant demo" in completed.stderr
    assert _rows(mirrord) == before
    assert sorted(path.name for path in mirrord.root.rglob("*.md")) == ["README.md"]

    assert mirrord.run("adopt", "--tenant", mirrord.tenant).returncode == 0
    mirrord.up()
    eventually(lambda: {path: mirrord.text(path) for path in _pages()} == _pages(), "all files in the new tree")
    eventually(lambda: mirrord.page("README.md"), "the page of what was there")
    assert {page: version for page, version in _rows(mirrord).items() if page in before} == before


def test_a_pause_holds_both_ways_and_says_since_when_and_then_everything_goes_on(mirrord: Mirrord) -> None:
    page = mirrord.page("Page 00")
    assert page is not None
    mirrord.file("PAUSE").touch()
    eventually(lambda: "Sync is paused since" in str(problem(mirrord, "")), "the pause to be told")
    save(mirrord.file("Page 01.md"), "saved in the pause\n")
    mirrord.file("Page 02.md").unlink()
    mirrord.app.execute("UPDATE mirrord.page SET markdown = 'written in the pause' WHERE id = %s", [page.id])
    mirrord.restart()
    eventually(lambda: "Sync is paused since" in str(mirrord.status()["degraded"]), "`mirrord status` to say so")
    assert mirrord.text("Page 00.md") == _pages()["Page 00.md"]
    row = mirrord.page("Page 01")
    assert row is not None
    assert row.markdown == _pages()["Page 01.md"]

    mirrord.file("PAUSE").unlink()
    eventually(lambda: mirrord.text("Page 00.md") == "written in the pause", "the row's text in its file")
    eventually(lambda: (page := mirrord.page("Page 01")) and page.markdown == "saved in the pause\n", "the save")
    eventually(lambda: mirrord.page("Page 02") is None, "the deletion")
    assert problem(mirrord, "") is None
    assert mirrord.page("PAUSE") is None


def test_a_whole_tenant_becomes_what_it_was_and_nothing_is_done_before_yes(mirrord: Mirrord) -> None:
    save(mirrord.file("assets/picture.png"), b"first")
    save(mirrord.file("Folder/Inside.md"), "inside\n")
    look_everywhere(mirrord)
    then = _now(mirrord)
    before = tree(mirrord.root)
    for number in range(10):
        save(mirrord.file(f"Page {number:02}.md"), "overwritten\n")
    save(mirrord.file("assets/picture.png"), b"second")
    save(mirrord.file("New.md"), "made since\n")
    mirrord.file("Page 11.md").rename(mirrord.file("Elsewhere.md"))
    shutil.rmtree(mirrord.file("Folder"))
    mirrord.file("Page 12.md").unlink()
    eventually(lambda: mirrord.page("Page 12") is None, "the deletion to spread")
    look_everywhere(mirrord)
    changed = tree(mirrord.root)

    preview = mirrord.run("restore-all", "--at", then.isoformat())
    assert preview.returncode == 0, preview.stderr
    assert "Nothing was done yet" in preview.stderr
    assert "3 revive, 11 change, 1 move, 1 leave" in preview.stdout
    assert tree(mirrord.root) == changed

    completed = mirrord.run("restore-all", "--at", then.isoformat(), "--delete-newer", "--yes")
    assert completed.returncode == 0, completed.stderr
    look_everywhere(mirrord)
    eventually(lambda: tree(mirrord.root) == before, "everything as it was")
    assert differing(mirrord) == []
    again = mirrord.run("restore-all", "--at", then.isoformat(), "--delete-newer")
    assert "Nothing differs." in again.stdout


def test_a_moment_that_is_none_is_said_to_be_one(mirrord: Mirrord) -> None:
    completed = mirrord.run("restore-all", "--at", "yesterday")
    assert (completed.returncode, "is no moment" in completed.stderr) == (2, True)


def _pages() -> dict[str, str]:
    return {f"Page {number:02}.md": f"page {number}\n" for number in range(MANY)}


def _halt(mirrord: Mirrord) -> dict[str, Any]:
    """The only halt, once there is one, as `mirrord halts --json` has it."""
    query = "SELECT id FROM mirrord.halt WHERE closed_at IS NULL"
    eventually(lambda: mirrord.app.execute(query).fetchone(), "a halt")
    halts: list[dict[str, Any]] = json.loads(mirrord.run("halts", "--json").stdout)
    assert len(halts) == 1
    return halts[0]


def _compare_and_halt(mirrord: Mirrord) -> dict[str, Any]:
    """Restarting compares everything, as the daemon does by itself every ten minutes."""
    mirrord.restart()
    return _halt(mirrord)


def _resume(mirrord: Mirrord, halt: dict[str, Any], decision: str) -> None:
    completed = mirrord.run("resume", str(halt["id"]), decision)
    assert completed.returncode == 0, completed.stderr
    query = "SELECT id FROM mirrord.halt WHERE closed_at IS NULL"
    eventually(lambda: mirrord.app.execute(query).fetchone() is None, "the halt to be closed")


def _vanish(dsn: str, condition: str) -> None:
    """Rows go as only a superuser can let them go: behind the triggers."""
    with psycopg.connect(dsn, autocommit=True) as connection, connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute("LOCK TABLE mirrord.page IN SHARE ROW EXCLUSIVE MODE")  # the feed's rows come last elsewhere
        for table in ("page_revision", "entry_feed", "link_name"):
            column = "page_id" if table == "page_revision" else "entry_id"
            query = f"DELETE FROM mirrord.{table} WHERE {column} IN (SELECT id FROM mirrord.page WHERE {condition})"
            connection.execute(query.encode())
        connection.execute(f"DELETE FROM mirrord.page WHERE {condition}".encode())


def _rows(mirrord: Mirrord) -> dict[UUID, int]:
    query = "SELECT id, version FROM mirrord.page WHERE deleted_at IS NULL"
    return dict(mirrord.app.execute(query).fetchall())


def _now(mirrord: Mirrord) -> datetime:
    """By Postgres' clock, which stamps versions; nothing is written in the same microsecond."""
    row = mirrord.app.execute("SELECT clock_timestamp()").fetchone()
    assert row is not None
    moment: datetime = row[0]
    return moment.astimezone(UTC) + timedelta(microseconds=1)
