"""Files that cannot be taken as they are: each is named in a sentence, none is changed, the others go on syncing."""

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import value
from tests.support.harness import Mirrord, eventually
from tests.support.health import assert_listed, assert_over, assert_said, assert_syncs, problem
from tests.support.readonly import read_only

SECRET = "nobody may read this"
LATIN = "Grüße aus Köln\n".encode("latin-1")


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module; each has names of its own."""
    with Near(tmp_path_factory.mktemp("files"), tenant="bad-files", dsn=admin_dsn) as started:
        started.up()
        yield started


@pytest.fixture
def outside(mirrord: Mirrord, tmp_path: Path) -> Iterator[Path]:
    """A directory beside the tree, with a page in it that must be neither read nor changed."""
    page = tmp_path / "secret.md"
    page.write_text(SECRET)
    yield tmp_path
    assert page.read_text() == SECRET
    assert list(tmp_path.iterdir()) == [page]
    rows = "SELECT count(*) FROM mirrord.page_revision WHERE markdown LIKE %s"
    assert value(mirrord.app, rows, f"%{SECRET}%") == 0


def test_a_file_that_is_not_utf_8_waits_until_it_is(mirrord: Mirrord) -> None:
    save(mirrord.file("Latin.md"), LATIN)
    assert_listed(mirrord, "Latin.md", "'Latin.md'", "not UTF-8", "save it as UTF-8")
    assert_syncs(mirrord)
    assert mirrord.file("Latin.md").read_bytes() == LATIN
    assert mirrord.page("Latin.md") is None
    save(mirrord.file("Latin.md"), LATIN.decode("latin-1"))
    eventually(lambda: _markdown(mirrord, "Latin.md") == LATIN.decode("latin-1"), "a row of the file in UTF-8")
    assert_over(mirrord, "Latin.md")


def test_a_synced_file_that_stops_being_utf_8_keeps_its_row_and_is_not_overwritten(mirrord: Mirrord) -> None:
    save(mirrord.file("Stops.md"), "one\n\ntwo\n")
    page = eventually(lambda: mirrord.page("Stops.md"), "a row of Stops.md")
    save(mirrord.file("Stops.md"), LATIN)
    assert_listed(mirrord, "Stops.md", "not UTF-8")
    mirrord.app.execute("UPDATE mirrord.page SET markdown = E'one, from the row\n\ntwo\n' WHERE id = %s", [page.id])
    assert_syncs(mirrord)
    assert mirrord.file("Stops.md").read_bytes() == LATIN
    assert _markdown(mirrord, "Stops.md") == "one, from the row\n\ntwo\n"
    save(mirrord.file("Stops.md"), "one\n\ntwo, from the file\n")
    merged = "one, from the row\n\ntwo, from the file\n"
    eventually(lambda: mirrord.text("Stops.md") == merged, "both edits in the mended file")
    eventually(lambda: _markdown(mirrord, "Stops.md") == merged, "both edits in the row")
    assert_over(mirrord, "Stops.md")


def test_a_file_with_nul_bytes_waits_until_it_has_none(mirrord: Mirrord) -> None:
    save(mirrord.file("Zero.md"), b"before\0after\n")
    assert_listed(mirrord, "Zero.md", "'Zero.md'", "NUL character (byte 6)")
    assert_syncs(mirrord)
    assert mirrord.file("Zero.md").read_bytes() == b"before\0after\n"
    save(mirrord.file("Zero.md"), "before after\n")
    eventually(lambda: _markdown(mirrord, "Zero.md") == "before after\n", "a row of the mended file")
    assert_over(mirrord, "Zero.md")


def test_a_page_with_broken_yaml_is_synced_as_it_is(mirrord: Mirrord) -> None:
    broken = "---\ntitle: [never closed\n---\nThe body.\n"
    save(mirrord.file("Yaml.md"), broken)
    assert_listed(mirrord, "Yaml.md", "'Yaml.md'", "front matter", "line 3")
    assert_syncs(mirrord)
    assert mirrord.text("Yaml.md") == broken
    assert _markdown(mirrord, "Yaml.md") == broken
    save(mirrord.file("Yaml.md"), broken.replace("[never closed", "closed"))
    assert_over(mirrord, "Yaml.md")
    assert value(mirrord.app, "SELECT title FROM mirrord.page WHERE name = 'Yaml'") == "closed"


def test_a_page_of_5_megabytes_is_synced_byte_for_byte_while_others_go_on(mirrord: Mirrord) -> None:
    text = "# Big\n\n" + "A paragraph of *some* words, and of some `more`.\n\n" * (5 * 1024 * 1024 // 50)
    save(mirrord.file("Big.md"), text)
    assert_syncs(mirrord)
    eventually(lambda: _markdown(mirrord, "Big.md") == text, "a row of 5 MB", 60.0)
    edited = text.replace("# Big\n", "# Bigger\n")
    mirrord.app.execute("UPDATE mirrord.page SET markdown = %s WHERE name = 'Big'", [edited])
    eventually(lambda: mirrord.text("Big.md") == edited, "a file of 5 MB", 60.0)
    assert problem(mirrord, "Big.md") is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("two\nlines.md", "contains a line break"),
        ("-dash.md", "begins with a dash"),
        ("dot..md", "ends in a blank or a dot"),
        ("CON.md", "device on Windows"),
        ("n" * 252 + ".md", "so long"),
    ],
    ids=["newline", "leading-dash", "trailing-dot", "device", "255-bytes"],
)
def test_a_page_whose_name_is_not_portable_is_synced_and_says_so(mirrord: Mirrord, name: str, why: str) -> None:
    save_here = mirrord.file(name)
    save_here.write_bytes(b"first\n")
    page = eventually(lambda: mirrord.page(name), f"a row of {name!r}")
    mirrord.app.execute("UPDATE mirrord.page SET markdown = E'second\n' WHERE id = %s", [page.id])
    eventually(lambda: mirrord.text(name) == "second\n", f"the row's text in {name!r}")
    assert_listed(mirrord, name, repr(name), why)
    assert_syncs(mirrord)
    plain = f"Portable {page.id}.md"
    save_here.rename(mirrord.file(plain))
    moved = eventually(lambda: mirrord.page(plain), "the row to be renamed")
    assert moved.id == page.id
    assert_over(mirrord, name)


@pytest.mark.parametrize(
    ("names", "numbered"),
    [
        ([unicodedata.normalize(form, "Café.md") for form in ("NFC", "NFD")], "Café (2).md"),
        (["a.md", "A.md"], "a (2).md"),
    ],
    ids=["NFC-and-NFD", "case"],
)
def test_of_two_names_that_readers_take_for_one_the_later_gets_a_number(
    mirrord: Mirrord, names: list[str], numbered: str
) -> None:
    first, second = names
    save(mirrord.file(first), f"{first} came first\n")
    eventually(lambda: mirrord.page(first), f"a row of {first!r}")
    save(mirrord.file(second), f"{second} came second\n")

    def spelled() -> Path | None:
        """Of names that differ in spelling only, the one that the numbered file has."""
        keys = {unicodedata.normalize("NFC", path.name).casefold(): path for path in mirrord.root.iterdir()}
        return keys.get(numbered.casefold())

    twin = eventually(spelled, f"a file {numbered!r}")
    assert_listed(mirrord, twin.name, f"was {second!r}", "number")
    assert mirrord.text(first) == f"{first} came first\n"
    assert twin.read_text(encoding="utf-8") == f"{second} came second\n"
    assert _markdown(mirrord, twin.name) == f"{second} came second\n"
    assert_syncs(mirrord)
    twin.rename(mirrord.file(f"Mended {numbered}"))
    assert_over(mirrord, twin.name)


def test_a_symbolic_link_to_a_file_outside_is_neither_read_nor_replaced(mirrord: Mirrord, outside: Path) -> None:
    link = mirrord.file("Link.md")
    link.symlink_to(outside / "secret.md")
    assert_listed(mirrord, "Link.md", "'Link.md'", "symbolic link", "not followed")
    mirrord.app.execute("INSERT INTO mirrord.page (name, markdown) VALUES ('Link', 'a row of that name')")
    assert_syncs(mirrord)
    assert link.readlink() == outside / "secret.md"
    link.unlink()
    eventually(lambda: (mirrord.text("Link.md") or "").endswith("a row of that name"), "the row's file")
    assert_over(mirrord, "Link.md")


def test_a_symbolic_link_to_a_directory_outside_is_not_entered(mirrord: Mirrord, outside: Path) -> None:
    link = mirrord.file("Linked")
    link.symlink_to(outside)
    assert_listed(mirrord, "Linked", "'Linked'", "symbolic link", "not followed")
    mirrord.app.execute(
        "WITH folder AS (INSERT INTO mirrord.page (name, markdown) VALUES ('Linked', 'above') RETURNING id) "
        "INSERT INTO mirrord.page (parent_id, name, markdown) SELECT id, 'Below', 'below' FROM folder"
    )
    assert_syncs(mirrord)
    assert link.readlink() == outside
    assert mirrord.page("Linked/secret.md") is None
    link.unlink()
    eventually(lambda: mirrord.text("Linked/Below.md"), "the file below the folder whose link is gone", 60.0)
    assert_over(mirrord, "Linked")


def test_a_page_swapped_for_a_link_keeps_its_row(mirrord: Mirrord, outside: Path) -> None:
    file = mirrord.file("Swapped.md")
    save(file, "the page\n")
    page = eventually(lambda: mirrord.page("Swapped.md"), "a row of Swapped.md")
    file.unlink()
    file.symlink_to(outside / "secret.md")
    assert_listed(mirrord, "Swapped.md", "symbolic link")
    mirrord.app.execute("UPDATE mirrord.page SET markdown = E'an edit\n' WHERE id = %s", [page.id])
    assert_syncs(mirrord)
    assert file.readlink() == outside / "secret.md"
    file.unlink()
    eventually(lambda: mirrord.text("Swapped.md") == "an edit\n", "the row's edit in place of the link")
    assert_over(mirrord, "Swapped.md")


def test_a_fifo_is_named_and_never_opened(mirrord: Mirrord) -> None:
    pipe = mirrord.file("Pipe.md")
    os.mkfifo(pipe)
    assert_listed(mirrord, "Pipe.md", "'Pipe.md'", "named pipe")
    assert_syncs(mirrord)
    pipe.unlink()
    save(pipe, "a file now\n")
    eventually(lambda: _markdown(mirrord, "Pipe.md") == "a file now\n", "a row of the file")
    assert_over(mirrord, "Pipe.md")


def test_a_directory_that_cannot_be_written_keeps_its_files_until_it_can(mirrord: Mirrord) -> None:
    save(mirrord.file("Shut/Page.md"), "as it was\n")
    page = eventually(lambda: mirrord.page("Shut/Page.md"), "a row of Shut/Page.md")
    with read_only(mirrord.file("Shut")):
        mirrord.app.execute("UPDATE mirrord.page SET markdown = E'as it is\n' WHERE id = %s", [page.id])
        eventually(lambda: problem(mirrord, "Shut/Page.md"), "a problem of Shut/Page.md")
        assert_said(mirrord, "Shut/Page.md", "'Shut/Page.md'", "is not mirrored", "bind mount is on 'Shut'")
        assert_syncs(mirrord)
        assert mirrord.text("Shut/Page.md") == "as it was\n"
    eventually(lambda: mirrord.text("Shut/Page.md") == "as it is\n", "the row's text in a directory open again", 90.0)
    assert_over(mirrord, "Shut/Page.md")


def test_status_says_every_sentence_to_a_person(mirrord: Mirrord) -> None:
    save(mirrord.file("Said.md"), LATIN)
    os.mkfifo(mirrord.file("Said too.md"))
    assert_listed(mirrord, "Said.md", "UTF-8")
    output = mirrord.run("status").stdout
    listed = mirrord.app.execute("SELECT sentence FROM mirrord.problem").fetchall()
    assert len(listed) >= 2
    assert [sentence for (sentence,) in listed if sentence not in output] == []


def test_problems_that_were_mended_while_the_daemon_was_down_are_over_when_it_is_up(mirrord: Mirrord) -> None:
    save(mirrord.file("Down/Gone.md"), LATIN)
    save(mirrord.file("Down/Mended.md"), LATIN)
    save(mirrord.file("Down/Yaml.md"), "---\na: [\n---\n")
    save(mirrord.file("Down/Left.md"), "---\na: [\n---\n")
    assert_listed(mirrord, "Down/Gone.md", "UTF-8")
    mirrord.stop()
    mirrord.file("Down/Gone.md").unlink()
    save(mirrord.file("Down/Mended.md"), "mended\n")
    save(mirrord.file("Down/Yaml.md"), "---\na: []\n---\n")
    mirrord.up()
    for name in ("Gone", "Mended", "Yaml"):
        assert_over(mirrord, f"Down/{name}.md")
    assert_listed(mirrord, "Down/Left.md", "front matter")


def _markdown(mirrord: Mirrord, path: str) -> str | None:
    page = mirrord.page(path)
    return page.markdown if page else None
