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


def test_what_one_renames_and_the_other_edits_at_once_is_both_on_both(
    first_host: Mirrord, second_host: Mirrord
) -> None:
    for name in ("Plans/One.md", "Plans/Two.md", "Alone.md"):
        save(first_host.file(name), f"# {name}\n\nfirst\n\nlast\n")
    first_host.up()
    second_host.up()
    _assert_equal(first_host, second_host)
    ids = _ids(first_host)
    with _both_frozen(first_host, second_host):
        first_host.file("Plans").rename(first_host.file("Projects"))
        first_host.file("Alone.md").rename(first_host.file("Together.md"))
        save(second_host.file("Plans/One.md"), "# Plans/One.md\n\nedited there\n\nlast\n")
        save(second_host.file("Alone.md"), "# Alone.md\n\nedited there\n\nlast\n")
    eventually(lambda: second_host.text("Projects/One.md"), "the folder's new name on the other host")
    _assert_equal(first_host, second_host)
    assert "edited there" in str(first_host.text("Projects/One.md"))
    assert "edited there" in str(first_host.text("Together.md"))
    assert _ids(first_host) == ids
    assert sorted(tree(first_host.root)) == ["Projects/One.md", "Projects/Two.md", "Together.md"]


def test_a_page_that_an_app_moves_before_the_other_host_has_recorded_its_edited_copy_stays_one(
    first_host: Mirrord, second_host: Mirrord
) -> None:
    text = "# First\n\nA page that both hosts got from a backup.\n"
    save(first_host.file("Shelf/First.md"), text)
    save(second_host.file("Shelf/First.md"), f"{text}\nA line of a script.\n")
    first_host.up()
    look_everywhere(first_host)
    first_host.app.execute("UPDATE mirrord.page SET parent_id = NULL WHERE name = 'First'")
    second_host.up()
    _assert_equal(first_host, second_host)
    names = [name for (name,) in first_host.app.execute(LIVING_PAGES)]
    assert sorted(name.partition(" (conflict")[0] for name in names) == ["First", "First"]
    assert sum("conflict" in name for name in names) == 1


@pytest.mark.parametrize("spell", [str, str.upper], ids=["same names", "names in another case"])
def test_a_folder_renamed_and_rewritten_before_the_other_host_recorded_anything_makes_no_second_pages(
    first_host: Mirrord, second_host: Mirrord, spell: Callable[[str], str]
) -> None:
    texts = {name: f"# {name}\n\nWhat only {name} says, at some length.\n" for name in ("One", "Two")}
    for name, text in texts.items():
        save(first_host.file(f"Shelf/{name}.md"), text)
        save(second_host.file(f"Folder/{spell(name)}.md"), f"{text}\nA line of a script.\n")
    first_host.up()
    look_everywhere(first_host)
    second_host.up()
    _assert_equal(first_host, second_host)
    names = [name for (name,) in first_host.app.execute(LIVING_PAGES)]
    assert sorted(name for name in names if "conflict" not in name) == ["One", "Two"]
    assert len(names) == 4


@pytest.mark.parametrize("added", ["", "\nA line of an app.\n"], ids=["moved", "moved and edited"])
def test_a_page_that_an_app_moves_before_the_other_host_recorded_its_copy_moves_there(
    first_host: Mirrord, second_host: Mirrord, added: str
) -> None:
    text = "# Plan\n\nA page that both hosts got from a backup.\n"
    for host in (first_host, second_host):
        save(host.file("Box/Plan.md"), text)
    first_host.up()
    look_everywhere(first_host)
    first_host.app.execute(
        "UPDATE mirrord.page SET parent_id = NULL, name = 'New', markdown = %s WHERE name = 'Plan'", [text + added]
    )
    look_everywhere(first_host)
    second_host.up()
    _assert_equal(first_host, second_host)
    assert second_host.text("New.md") == text + added
    assert [name for (name,) in first_host.app.execute(LIVING_PAGES)] == ["New"]


def test_offline_edits_of_both_are_all_kept(first_host: Mirrord, second_host: Mirrord) -> None:
    lines = [f"line {number}" for number in range(9)]
    for name in ("Apart.md", "Same line.md", "Deleted here.md", "Untouched.md"):
        save(first_host.file(name), _text(lines))
    first_host.up()
    second_host.up()
    _assert_equal(first_host, second_host)
    first_host.stop()
    second_host.stop()
    save(first_host.file("Apart.md"), _text(["of here", *lines[1:]]))
    save(second_host.file("Apart.md"), _text([*lines[:-1], "of there"]))
    save(first_host.file("Same line.md"), _text([*lines[:4], "so here", *lines[5:]]))
    save(second_host.file("Same line.md"), _text([*lines[:4], "so there", *lines[5:]]))
    first_host.file("Deleted here.md").unlink()
    save(second_host.file("Deleted here.md"), _text([*lines, "edited there"]))
    save(first_host.file("New.md"), "made here\n")
    save(second_host.file("New.md"), "made there\n")
    first_host.up()
    look_everywhere(first_host)
    second_host.up()
    look_everywhere(second_host)
    _assert_equal(first_host, second_host)
    everything = "".join(text.decode() for text in tree(first_host.root).values())
    for token in ("of here", "of there", "so here", "so there", "edited there", "made here", "made there"):
        assert everything.count(token) == 1, token
    assert first_host.text("Apart.md") == _text(["of here", *lines[1:-1], "of there"])


def test_a_tree_that_was_away_for_long_catches_up_and_brings_nothing_back(
    first_host: Mirrord, second_host: Mirrord
) -> None:
    for number in range(60):
        save(first_host.file(f"Page {number:02}.md"), f"page {number}\n")
    first_host.up()
    second_host.up()
    _assert_equal(first_host, second_host)
    second_host.stop()
    for number in range(20):
        first_host.file(f"Page {number:02}.md").unlink()
    for number in range(20, 40):
        save(first_host.file(f"Page {number:02}.md"), f"edited {number}\n")
    for number in range(40, 60):
        first_host.file(f"Page {number:02}.md").rename(first_host.file(f"Moved {number:02}.md"))
    eventually(lambda: first_host.page("Page 00") is None, "the deletions to spread")
    look_everywhere(first_host)
    second_host.up()
    _assert_equal(first_host, second_host)
    assert len(tree(second_host.root)) == 40


def test_a_tree_copied_with_its_id_becomes_a_mirror_of_its_own(first_host: Mirrord, second_host: Mirrord) -> None:
    save(first_host.file("Page.md"), "page\n")
    first_host.up()
    look_everywhere(first_host)
    second_host.mirror.mkdir(parents=True)
    shutil.copytree(first_host.root, second_host.root)
    save(second_host.file("Page.md"), "edited in the copy\n")
    second_host.up()
    _assert_equal(first_host, second_host)
    assert first_host.text("Page.md") == "page\n"  # a new mirror has agreed on nothing yet: the edit is kept beside it
    assert [
        path for path, text in tree(first_host.root).items() if b"edited in the copy" in text and "conflict" in path
    ]
    assert _mirror(first_host) != _mirror(second_host)
    assert_syncs(first_host)
    assert_syncs(second_host)


def test_a_daemon_whose_mirror_was_taken_over_while_it_stood_still_writes_nothing(
    first_host: Mirrord,
) -> None:
    """As after a moved root: the other daemon holds the lease of the same mirror."""
    save(first_host.file("Page.md"), "page\n")
    first_host.up()
    look_everywhere(first_host)
    page = first_host.page("Page")
    assert page is not None
    with first_host.frozen():
        _take_over(first_host)
        save(first_host.file("Page.md"), "of the zombie\n")
        first_host.app.execute("UPDATE mirrord.page SET title = 'New title' WHERE id = %s", [page.id])
        before = _rows(first_host)
    eventually(
        lambda: [reason for reason in first_host.status()["degraded"] if "held by another daemon" in reason],
        "the refusal",
    )
    assert _rows(first_host) == before
    assert first_host.text("Page.md") == "of the zombie\n"
    _give_back(first_host)
    assert_syncs(first_host)
    merged = eventually(lambda: first_host.page("Page"), "the page")
    assert merged.id == page.id
    eventually(
        lambda: "of the zombie" in str(first_host.text("Page.md")) and differing(first_host) == [],
        "both sides to agree",
    )


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
    for mirror in mirrors:
        os.kill(mirror.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for mirror in mirrors:
            os.kill(mirror.pid, signal.SIGCONT)


def _assert_equal(first_host: Mirrord, second_host: Mirrord) -> None:
    """Neither daemon has anything left to do, and the trees are the same bytes."""

    def equal() -> bool:
        look_everywhere(first_host)
        look_everywhere(second_host)
        return tree(first_host.root) == tree(second_host.root)

    eventually(equal, "two equal trees", pause=0.1)
    assert differing(first_host) == []
    assert differing(second_host) == []


def _ids(mirrord: Mirrord) -> set[object]:
    return {page for (page,) in mirrord.app.execute("SELECT id FROM mirrord.page WHERE deleted_at IS NULL")}


def _rows(mirrord: Mirrord) -> list[tuple[object, ...]]:
    return mirrord.app.execute("SELECT id, version, markdown, digest, ahead FROM mirrord.page ORDER BY id").fetchall()


def _mirror(mirrord: Mirrord) -> str:
    return (mirrord.root / ".mirrord" / "id").read_text(encoding="utf-8")


def _text(lines: list[str]) -> str:
    return "\n\n".join(lines) + "\n"
