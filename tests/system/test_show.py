"""What mirrord shows to whoever tries it: a real vault comes across exactly, stays quiet, and is hard to lose."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.health import assert_syncs, look_everywhere
from tests.support.trees import tree

VAULT = Path(__file__).parents[3] / "shared" / "corpora" / "dendron-site"
WHILE = 5.0  # seconds in which nothing may happen
MANY, REMOVED = 100, 40


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    """An installation whose daemon is down; only it uses its database."""
    with Near(tmp_path, dsn=fresh_dsn) as installed:
        yield installed


@pytest.fixture
def pages(mirrord: Mirrord) -> dict[str, str]:
    """The text of MANY pages by path, in sync; the daemon runs."""
    texts = {f"Page {number:02}.md": f"page {number}\n" for number in range(MANY)}
    for path, text in texts.items():
        save(mirrord.file(path), text)
    mirrord.up()
    look_everywhere(mirrord)
    assert _living(mirrord) == set(texts)
    return texts


@pytest.mark.skipif(not VAULT.is_dir(), reason=f"{VAULT} is not here")
def test_a_real_vault_comes_across_byte_for_byte_and_then_nothing_is_written(mirrord: Mirrord) -> None:
    shutil.copytree(VAULT, mirrord.root)
    files = _contents(mirrord)
    mirrord.up()
    look_everywhere(mirrord)
    assert len(files) > 1000
    assert [path for path, data in files.items() if _row_of(mirrord, path) != data] == []
    _wait_derived(mirrord)
    _assert_stays(lambda: _everything(mirrord), WHILE)
    before = _rows(mirrord)

    mirrord.stop()
    shutil.rmtree(mirrord.root / ".mirrord")
    mirrord.up()
    look_everywhere(mirrord)
    assert _rows(mirrord) == before

    shutil.rmtree(mirrord.root / ".mirrord")
    eventually((mirrord.root / ".mirrord" / "id").exists, "`.mirrord` to be made again")
    look_everywhere(mirrord)
    assert _rows(mirrord) == before
    assert _contents(mirrord) == files
    assert_syncs(mirrord)


def test_check_tells_the_page_of_which_a_byte_differs(mirrord: Mirrord) -> None:
    for name in ("Same", "Other", "Gone"):
        save(mirrord.file(f"Notes/{name}.md"), f"the page {name}\n")
    mirrord.up()
    look_everywhere(mirrord)
    completed = mirrord.run("check")
    assert (completed.returncode, completed.stdout) == (0, "")
    with mirrord.frozen():
        save(mirrord.file("Notes/Other.md"), "the page other\n")
        mirrord.file("Notes/Gone.md").unlink()
        save(mirrord.file("Notes/New.md"), "new\n")
        completed = mirrord.run("check")
    assert completed.returncode == 1
    verdicts = [line.split(maxsplit=1) for line in completed.stdout.splitlines()]
    assert verdicts == [
        ["MISSING", "demo/Notes/Gone.md"],
        ["EXTRA", "demo/Notes/New.md"],
        ["DIFFERS", "demo/Notes/Other.md"],
    ]
    eventually(lambda: mirrord.check() == {}, "the daemon, going on, to make both sides equal")


def test_files_removed_by_the_dozen_wait_for_a_decision(mirrord: Mirrord, pages: dict[str, str]) -> None:
    removed = sorted(pages)[:REMOVED]
    number = _halt(mirrord, lambda: _remove(mirrord, removed), f"{REMOVED} of {MANY} entries are gone from the files")
    assert _living(mirrord) == set(pages)
    assert_syncs(mirrord)
    _resume(mirrord, number, "--discard")
    eventually(lambda: _texts(mirrord, pages) == pages, "all files, byte for byte")
    assert _living(mirrord) >= set(pages)

    number = _halt(mirrord, lambda: _remove(mirrord, removed), "are gone from the files")
    assert _living(mirrord) >= set(pages)
    _resume(mirrord, number, "--apply")
    eventually(lambda: not _living(mirrord) & set(removed), "tombstones")
    assert _living(mirrord) >= set(pages) - set(removed)
    assert _count(mirrord, "deleted_at IS NOT NULL") == REMOVED
    assert_syncs(mirrord)


def test_rows_deleted_by_the_dozen_wait_for_a_decision(mirrord: Mirrord, pages: dict[str, str]) -> None:
    removed = sorted(pages)[:REMOVED]
    number = _halt(mirrord, lambda: _delete(mirrord, removed), f"{REMOVED} of {MANY} entries are gone from the rows")
    assert _texts(mirrord, pages) == pages
    assert_syncs(mirrord)
    _resume(mirrord, number, "--discard")
    eventually(lambda: _living(mirrord) >= set(pages), "all rows")
    assert _texts(mirrord, pages) == pages

    number = _halt(mirrord, lambda: _delete(mirrord, removed), "are gone from the rows")
    assert _texts(mirrord, pages) == pages
    _resume(mirrord, number, "--apply")
    remaining = {path: text for path, text in pages.items() if path not in removed}
    eventually(lambda: _texts(mirrord, pages) == remaining, "the files to go")
    trashed = (mirrord.root / ".mirrord" / "trash").iterdir()
    texts = {entry.read_bytes().decode() for entry in trashed if entry.is_file()}
    assert texts >= {pages[path] for path in removed}
    assert_syncs(mirrord)


def _halt(mirrord: Mirrord, act: Callable[[], None], words: str) -> str:
    """Do what must halt; the halt's number, as `mirrord halts` lists it."""
    act()
    eventually(lambda: mirrord.app.execute("SELECT id FROM mirrord.halt WHERE closed_at IS NULL").fetchone(), "a halt")
    completed = mirrord.run("halts")
    assert words in completed.stdout
    number = completed.stdout.split()[0]
    assert f"mirrord resume {number} --apply" in completed.stdout
    assert f"mirrord resume {number} --discard" in completed.stdout
    assert f"Page 04.md and {REMOVED - 5} more" in completed.stdout
    assert words in mirrord.run("status").stdout
    return number


def _resume(mirrord: Mirrord, number: str, decision: str) -> None:
    completed = mirrord.run("resume", number, decision)
    assert completed.returncode == 0, completed.stderr
    eventually(lambda: mirrord.run("halts").stdout == "", "the halt to be closed")


def _remove(mirrord: Mirrord, paths: list[str]) -> None:
    for path in paths:
        mirrord.file(path).unlink()


def _delete(mirrord: Mirrord, paths: list[str]) -> None:
    names = [path.removesuffix(".md") for path in paths]
    mirrord.app.execute("DELETE FROM mirrord.page WHERE name = ANY (%s) AND deleted_at IS NULL", [names])


def _living(mirrord: Mirrord) -> set[str]:
    """Paths of the living pages of the root."""
    rows = mirrord.app.execute("SELECT name FROM mirrord.page WHERE deleted_at IS NULL").fetchall()
    return {f"{name}.md" for (name,) in rows}


def _texts(mirrord: Mirrord, paths: dict[str, str]) -> dict[str, str]:
    """What files there are at *paths*."""
    return {path: text for path in paths if (text := mirrord.text(path)) is not None}


def _count(mirrord: Mirrord, condition: str) -> int:
    row = mirrord.app.execute(f"SELECT count(*) FROM mirrord.page WHERE {condition}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def _row_of(mirrord: Mirrord, path: str) -> bytes | None:
    page = mirrord.page(path)
    return page.markdown.encode() if page is not None and page.markdown is not None else None


def _contents(mirrord: Mirrord) -> dict[str, bytes]:
    """The bytes of every page file."""
    return {path: content for path, content in tree(mirrord.root).items() if path.endswith(".md")}


def _rows(mirrord: Mirrord) -> list[tuple[Any, ...]]:
    return mirrord.app.execute("SELECT id, version, digest, deleted_at FROM mirrord.page ORDER BY id").fetchall()


def _everything(mirrord: Mirrord) -> tuple[Any, ...]:
    """All versions, the feed's seq, and what would tell of a write to a file."""
    seq = mirrord.app.execute("SELECT seq FROM mirrord.tenant_clock").fetchone()
    files = [file for file in mirrord.root.rglob("*") if ".mirrord" not in file.parts]
    stats = {file: (stat := file.stat()) and (stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns) for file in files}
    return _rows(mirrord), seq, stats


def _wait_derived(mirrord: Mirrord) -> None:
    """Documents come after the texts; each is a change in the feed."""
    missing = "kind = 'page' AND deleted_at IS NULL AND content IS NULL"
    eventually(lambda: _count(mirrord, missing) == 0, "every document to be derived", 90.0, pause=0.1)


def _assert_stays(look: Callable[[], object], seconds: float) -> None:
    """*look* sees the same all the time."""
    first, end = look(), time.monotonic() + seconds
    while time.monotonic() < end:
        assert look() == first
