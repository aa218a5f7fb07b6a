"""Several trees of one tenant, each with its own daemon, meet in one Postgres and become equal, byte for byte."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.health import assert_syncs, differing, look_everywhere
from tests.support.trees import tree

LIVING_PAGES = "SELECT name FROM mirrord.page WHERE deleted_at IS NULL AND kind = 'page'"


def test_what_one_renames_and_the_other_edits_at_once_is_both_on_both(here: Mirrord, there: Mirrord) -> None:
    for name in ("Plans/One.md", "Plans/Two.md", "Alone.md"):
        save(here.file(name), f"# {name}\n\nfirst\n\nlast\n")
    here.up()
    there.up()
    _assert_equal(here, there)
    ids = _ids(here)
    with _both_frozen(here, there):
        here.file("Plans").rename(here.file("Projects"))
        here.file("Alone.md").rename(here.file("Together.md"))
        save(there.file("Plans/One.md"), "# Plans/One.md\n\nedited there\n\nlast\n")
        save(there.file("Alone.md"), "# Alone.md\n\nedited there\n\nlast\n")
    eventually(lambda: there.text("Projects/One.md"), "the folder's new name on the other host")
    _assert_equal(here, there)
    assert "edited there" in str(here.text("Projects/One.md"))
    assert "edited there" in str(here.text("Together.md"))
    assert _ids(here) == ids
    assert sorted(tree(here.root)) == ["Projects/One.md", "Projects/Two.md", "Together.md"]


def test_a_page_that_an_app_moves_before_the_other_host_has_recorded_its_edited_copy_stays_one(
    here: Mirrord, there: Mirrord
) -> None:
    text = "# First\n\nA page that both hosts got from a backup.\n"
    save(here.file("Shelf/First.md"), text)
    save(there.file("Shelf/First.md"), f"{text}\nA line of a script.\n")
    here.up()
    look_everywhere(here)
    here.app.execute("UPDATE mirrord.page SET parent_id = NULL WHERE name = 'First'")
    there.up()
    _assert_equal(here, there)
    names = [name for (name,) in here.app.execute(LIVING_PAGES)]
    assert sorted(name.partition(" (conflict")[0] for name in names) == ["First", "First"]
    assert sum("conflict" in name for name in names) == 1


@pytest.mark.parametrize("spell", [str, str.upper], ids=["same names", "names in another case"])
def test_a_folder_renamed_and_rewritten_before_the_other_host_recorded_anything_makes_no_second_pages(
    here: Mirrord, there: Mirrord, spell: Callable[[str], str]
) -> None:
    texts = {name: f"# {name}\n\nWhat only {name} says, at some length.\n" for name in ("One", "Two")}
    for name, text in texts.items():
        save(here.file(f"Shelf/{name}.md"), text)
        save(there.file(f"Folder/{spell(name)}.md"), f"{text}\nA line of a script.\n")
    here.up()
    look_everywhere(here)
    there.up()
    _assert_equal(here, there)
    names = [name for (name,) in here.app.execute(LIVING_PAGES)]
    assert sorted(name for name in names if "conflict" not in name) == ["One", "Two"]
    assert len(names) == 4


@pytest.mark.parametrize("added", ["", "\nA line of an app.\n"], ids=["moved", "moved and edited"])
def test_a_page_that_an_app_moves_before_the_other_host_recorded_its_copy_moves_there(
    here: Mirrord, there: Mirrord, added: str
) -> None:
    text = "# Plan\n\nA page that both hosts got from a backup.\n"
    for host in (here, there):
        save(host.file("Box/Plan.md"), text)
    here.up()
    look_everywhere(here)
    here.app.execute(
        "UPDATE mirrord.page SET parent_id = NULL, name = 'New', markdown = %s WHERE name = 'Plan'", [text + added]
    )
    look_everywhere(here)
    there.up()
    _assert_equal(here, there)
    assert there.text("New.md") == text + added
    assert [name for (name,) in here.app.execute(LIVING_PAGES)] == ["New"]


def test_offline_edits_of_both_are_all_kept(here: Mirrord, there: Mirrord) -> None:
    lines = [f"line {number}" for number in range(9)]
    for name in ("Apart.md", "Same line.md", "Deleted here.md", "Untouched.md"):
        save(here.file(name), _text(lines))
    here.up()
    there.up()
    _assert_equal(here, there)
    here.stop()
    there.stop()
    save(here.file("Apart.md"), _text(["of here", *lines[1:]]))
    save(there.file("Apart.md"), _text([*lines[:-1], "of there"]))
    save(here.file("Same line.md"), _text([*lines[:4], "so here", *lines[5:]]))
    save(there.file("Same line.md"), _text([*lines[:4], "so there", *lines[5:]]))
    here.file("Deleted here.md").unlink()
    save(there.file("Deleted here.md"), _text([*lines, "edited there"]))
    save(here.file("New.md"), "made here\n")
    save(there.file("New.md"), "made there\n")
    here.up()
    look_everywhere(here)
    there.up()
    look_everywhere(there)
    _assert_equal(here, there)
    everything = "".join(text.decode() for text in tree(here.root).values())
    for token in ("of here", "of there", "so here", "so there", "edited there", "made here", "made there"):
        assert everything.count(token) == 1, token
    assert here.text("Apart.md") == _text(["of here", *lines[1:-1], "of there"])


def test_a_tree_that_was_away_for_long_catches_up_and_brings_nothing_back(here: Mirrord, there: Mirrord) -> None:
    for number in range(60):
        save(here.file(f"Page {number:02}.md"), f"page {number}\n")
    here.up()
    there.up()
    _assert_equal(here, there)
    there.stop()
    for number in range(20):
        here.file(f"Page {number:02}.md").unlink()
    for number in range(20, 40):
        save(here.file(f"Page {number:02}.md"), f"edited {number}\n")
    for number in range(40, 60):
        here.file(f"Page {number:02}.md").rename(here.file(f"Moved {number:02}.md"))
    eventually(lambda: here.page("Page 00") is None, "the deletions to spread")
    look_everywhere(here)
    there.up()
    _assert_equal(here, there)
    assert len(tree(there.root)) == 40


def test_a_tree_copied_with_its_id_becomes_a_mirror_of_its_own(here: Mirrord, there: Mirrord) -> None:
    save(here.file("Page.md"), "page\n")
    here.up()
    look_everywhere(here)
    there.mirror.mkdir(parents=True)
    shutil.copytree(here.root, there.root)
    save(there.file("Page.md"), "edited in the copy\n")
    there.up()
    _assert_equal(here, there)
    assert here.text("Page.md") == "page\n"  # a new mirror has agreed on nothing yet: the edit is kept beside it
    assert [path for path, text in tree(here.root).items() if b"edited in the copy" in text and "conflict" in path]
    assert _mirror(here) != _mirror(there)
    assert_syncs(here)
    assert_syncs(there)


def test_a_daemon_whose_mirror_was_taken_over_while_it_stood_still_writes_nothing(
    here: Mirrord,
) -> None:
    """As after a moved root: the other daemon holds the lease of the same mirror."""
    save(here.file("Page.md"), "page\n")
    here.up()
    look_everywhere(here)
    page = here.page("Page")
    assert page is not None
    with here.frozen():
        _take_over(here)
        save(here.file("Page.md"), "of the zombie\n")
        here.app.execute("UPDATE mirrord.page SET title = 'New title' WHERE id = %s", [page.id])
        before = _rows(here)
    eventually(lambda: [one for one in here.status()["degraded"] if "held by another daemon" in one], "the refusal")
    assert _rows(here) == before
    assert here.text("Page.md") == "of the zombie\n"
    _give_back(here)
    assert_syncs(here)
    merged = eventually(lambda: here.page("Page"), "the page")
    assert merged.id == page.id
    eventually(lambda: "of the zombie" in str(here.text("Page.md")) and differing(here) == [], "both sides to agree")


def _take_over(mirrord: Mirrord) -> None:
    _as_superuser(
        mirrord,
        "UPDATE mirrord.mirror SET token = token + 1, holder = 'another', expires_at = now() + interval '1 hour'",
    )


def _give_back(mirrord: Mirrord) -> None:
    _as_superuser(mirrord, "UPDATE mirrord.mirror SET holder = NULL, expires_at = now()")


def _as_superuser(mirrord: Mirrord, statement: str) -> None:
    assert mirrord.dsn is not None
    with psycopg.connect(mirrord.dsn, autocommit=True) as connection:
        connection.execute(statement.encode())


@contextmanager
def _both_frozen(*mirrors: Mirrord) -> Iterator[None]:
    """What happens on two hosts happens at once."""
    for one in mirrors:
        os.kill(one.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in mirrors:
            os.kill(one.pid, signal.SIGCONT)


def _assert_equal(here: Mirrord, there: Mirrord) -> None:
    """Neither daemon has anything left to do, and the trees are the same bytes."""

    def equal() -> bool:
        look_everywhere(here)
        look_everywhere(there)
        return tree(here.root) == tree(there.root)

    eventually(equal, "two equal trees", 40, pause=0.1)
    assert differing(here) == []
    assert differing(there) == []


def _ids(mirrord: Mirrord) -> set[object]:
    return {page for (page,) in mirrord.app.execute("SELECT id FROM mirrord.page WHERE deleted_at IS NULL")}


def _rows(mirrord: Mirrord) -> list[tuple[object, ...]]:
    return mirrord.app.execute("SELECT id, version, markdown, digest, ahead FROM mirrord.page ORDER BY id").fetchall()


def _mirror(mirrord: Mirrord) -> str:
    return (mirrord.root / ".mirrord" / "id").read_text(encoding="utf-8")


def _text(lines: list[str]) -> str:
    return "\n\n".join(lines) + "\n"
