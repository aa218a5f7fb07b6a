"""Conflicts from end to end: a daemon, its tree, its rows, and the commands that settle them."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from mirrord.domain.entry import digest_of
from mirrord.operations.three_way_diff import ROW_MARK
from tests.support.commands import Done, Near, commands
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.health import look_everywhere
from tests.support.rows import Page


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module."""
    with Near(tmp_path_factory.mktemp("conflicts"), tenant="conflicts", dsn=admin_dsn) as started:
        started.up()
        yield started


def command(mirrord: Mirrord, *arguments: str) -> Done:
    """Run a `mirrord` command on this installation."""
    assert mirrord.dsn is not None
    return commands(mirrord.dsn, mirrord.tenant, mirrord.directory)(*arguments)


def change_both(mirrord: Mirrord, path: str, *, file: str, row: str, before: str = "colour?\n") -> Page:
    """Both sides change one line before either has heard of the other; the row as it was before."""
    if mirrord.page(path) is None:
        save(mirrord.file(path), before)
    page = eventually(lambda: mirrord.page(path), f"a row of {path}")
    with mirrord.frozen():
        save(mirrord.file(path), file)
        mirrord.app.execute("UPDATE page SET markdown = %s WHERE id = %s", [row, page.id])
    return page


def conflicts(mirrord: Mirrord) -> list[dict[str, Any]]:
    query = (
        "SELECT id, entry_id, sibling_id, path, kind, resolution, resolved_at IS NULL AS open FROM conflict ORDER BY id"
    )
    names = ("number", "entry", "sibling", "path", "kind", "resolution", "open")
    return [dict(zip(names, row, strict=True)) for row in mirrord.app.execute(query).fetchall()]


def conflict_of(mirrord: Mirrord, path: str) -> dict[str, Any]:
    """The open conflict of a path."""
    return eventually(
        lambda: next(
            (conflict for conflict in conflicts(mirrord) if conflict["path"] == path and conflict["open"]), None
        ),
        f"a conflict of {path}",
    )


def siblings(mirrord: Mirrord, stem: str) -> list[Path]:
    return sorted(mirrord.root.glob(f"**/{stem} (conflict*"))


def sibling_of(mirrord: Mirrord, stem: str) -> Path:
    return eventually(lambda: next(iter(siblings(mirrord, stem)), None), f"a sibling of {stem}")


def settled(mirrord: Mirrord, number: int) -> str | None:
    resolution: str | None = next(
        conflict["resolution"] for conflict in conflicts(mirrord) if conflict["number"] == number
    )
    return resolution


def trashed(mirrord: Mirrord) -> list[bytes]:
    return [file.read_bytes() for file in (mirrord.root / ".mirrord/trash").iterdir() if file.suffix != ".json"]


def test_taking_the_file_writes_its_text_back_and_puts_the_sibling_into_the_trash(mirrord: Mirrord) -> None:
    change_both(mirrord, "Take file.md", file="red\n", row="blue\n")
    number = conflict_of(mirrord, "Take file.md")["number"]
    sibling = sibling_of(mirrord, "Take file")
    content = sibling.read_bytes()
    result = command(mirrord, "conflicts", "take-file", str(number))
    assert result.code == 0, result.err

    eventually(lambda: mirrord.text("Take file.md") == "red\n", "the file's text in the file")
    eventually(lambda: not sibling.exists(), "the sibling to go")
    look_everywhere(mirrord)
    page = mirrord.page("Take file.md")
    assert page is not None
    assert page.markdown == "red\n"
    assert content in trashed(mirrord)
    assert mirrord.check() == {}


def test_a_merged_text_from_an_editor_is_the_pages(mirrord: Mirrord) -> None:
    change_both(mirrord, "Edited.md", file="red\n", row="blue\n")
    number = conflict_of(mirrord, "Edited.md")["number"]
    editor = mirrord.directory / "editor.py"
    editor.write_text(
        f"import sys; text = open(sys.argv[1]).read(); assert {ROW_MARK!r} in text, text\n"
        "assert 'red' in text and 'blue' in text; open(sys.argv[1], 'w').write('violet, by an editor\\n')\n",
        encoding="utf-8",
    )
    ours, theirs = pty.openpty()
    completed = subprocess.run(
        [
            *(sys.executable, "-c", "from mirrord.cli import main; main()"),
            *("conflicts", "take-merged", str(number), "--tenant", mirrord.tenant),
            *("--mirror", str(mirrord.mirror), "--data", str(mirrord.data), "--dsn", str(mirrord.dsn)),
        ],
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "VISUAL": f"{sys.executable} {editor}"},
    )
    os.close(ours)
    os.close(theirs)
    assert completed.returncode == 0, completed.stderr
    eventually(lambda: mirrord.text("Edited.md") == "violet, by an editor\n", "the merged text in the file")


def test_a_conflict_is_settled_while_the_daemon_is_down(mirrord: Mirrord) -> None:
    change_both(mirrord, "Down.md", file="red\n", row="blue\n")
    number = conflict_of(mirrord, "Down.md")["number"]
    sibling = sibling_of(mirrord, "Down")
    mirrord.stop()
    result = command(mirrord, "conflicts", "take-file", str(number))
    assert result.code == 0, result.err
    assert mirrord.text("Down.md") == "blue\n"
    mirrord.up()
    eventually(lambda: mirrord.text("Down.md") == "red\n", "the file's text in the file")
    eventually(lambda: not sibling.exists(), "the sibling to go")


def test_deleting_the_siblings_file_settles_the_conflict(mirrord: Mirrord) -> None:
    change_both(mirrord, "Delete.md", file="red\n", row="blue\n")
    number = conflict_of(mirrord, "Delete.md")["number"]
    sibling = sibling_of(mirrord, "Delete")
    look_everywhere(mirrord)
    sibling.unlink()
    eventually(lambda: settled(mirrord, number) == "sibling-deleted", "the conflict to be settled")


def test_renaming_the_siblings_file_makes_it_a_page_of_its_own(mirrord: Mirrord) -> None:
    change_both(mirrord, "Rename.md", file="red\n", row="blue\n")
    conflict = conflict_of(mirrord, "Rename.md")
    look_everywhere(mirrord)
    sibling_of(mirrord, "Rename").rename(mirrord.file("Red.md"))
    eventually(lambda: settled(mirrord, conflict["number"]) == "sibling-renamed", "the conflict to be settled")
    page = mirrord.page("Red.md")
    assert page is not None
    assert page.id == conflict["sibling"]


def test_a_sibling_edited_on_both_sides_has_a_conflict_of_its_own(mirrord: Mirrord) -> None:
    change_both(mirrord, "Twice.md", file="red\n", row="blue\n")
    outer = conflict_of(mirrord, "Twice.md")
    sibling = sibling_of(mirrord, "Twice")
    look_everywhere(mirrord)
    head = sibling.read_text(encoding="utf-8").removesuffix("red\n")
    path = str(sibling.relative_to(mirrord.root))
    change_both(mirrord, path, file=f"{head}dark red\n", row=f"{head}light red\n")
    inner = conflict_of(mirrord, path)
    assert inner["entry"] == outer["sibling"]
    eventually(lambda: len(siblings(mirrord, "Twice")) == 2, "a sibling of the sibling")
    look_everywhere(mirrord)

    assert command(mirrord, "conflicts", "take-file", str(outer["number"])).code == 4
    assert command(mirrord, "conflicts", "take-file", str(inner["number"])).code == 0
    eventually(lambda: sibling.read_text(encoding="utf-8") == f"{head}dark red\n", "the inner choice in the file")
    look_everywhere(mirrord)
    seen_state = json.loads(command(mirrord, "conflicts", "show", str(outer["number"]), "--json").out)["seen"]
    assert command(mirrord, "conflicts", "take-file", str(outer["number"]), "--seen", seen_state).code == 0
    eventually(lambda: mirrord.text("Twice.md") == "dark red\n", "the outer choice in the file")
    eventually(lambda: siblings(mirrord, "Twice") == [], "both siblings to go")


def test_an_attachment_changed_on_both_sides_is_kept_twice_and_listed(mirrord: Mirrord) -> None:
    def row() -> tuple[Any, ...] | None:
        return mirrord.app.execute("SELECT id, digest FROM attachment WHERE name = 'plan.png'").fetchone()

    file = mirrord.file("assets/plan.png")
    file.parent.mkdir(exist_ok=True)
    save(file, b"colour?")
    attachment = eventually(row, "a row of the attachment")
    with mirrord.frozen():
        save(file, b"red")
        mirrord.app.execute("INSERT INTO blob (digest, part, bytes) VALUES (%s, 0, 'blue')", [digest_of(b"blue")])
        write_bytes(mirrord, attachment[0], b"blue")
    conflict = conflict_of(mirrord, "assets/plan.png")
    assert (conflict["kind"], conflict["entry"]) == ("attachment", attachment[0])
    sibling = sibling_of(mirrord, "plan")
    assert (sibling.parent, sibling.suffix) == (file.parent, ".png")
    assert sibling.read_bytes() == b"red"
    eventually(lambda: file.read_bytes() == b"blue", "the row's bytes in the file")
    look_everywhere(mirrord)

    assert command(mirrord, "conflicts", "take-file", str(conflict["number"])).code == 0
    eventually(lambda: file.read_bytes() == b"red", "the file's bytes back")
    eventually(lambda: not sibling.exists(), "the sibling to go")
    look_everywhere(mirrord)
    assert {b"red", b"blue"} <= set(trashed(mirrord))
    assert mirrord.check() == {}


def write_bytes(mirrord: Mirrord, attachment: object, data: bytes) -> None:
    """What another mirror of the tenant does."""
    assert mirrord.dsn is not None
    with psycopg.connect(mirrord.dsn) as connection:
        tenant = connection.execute("SELECT id FROM mirrord.tenant WHERE name = %s", [mirrord.tenant]).fetchone()
        assert tenant is not None
        connection.execute(f"SET LOCAL mirrord.tenant = '{tenant[0]}'".encode())
        connection.execute(
            "UPDATE mirrord.attachment SET digest = %s, size = %s WHERE id = %s",
            [digest_of(data), len(data), attachment],
        )


def test_a_restored_version_reaches_the_file_and_a_deleted_page_gets_its_file_back(mirrord: Mirrord) -> None:
    save(mirrord.file("Notes/History.md"), "one\n")
    page = eventually(lambda: mirrord.page("Notes/History.md"), "a row")
    save(mirrord.file("Notes/History.md"), "two\n")
    eventually(lambda: (row := mirrord.page("Notes/History.md")) and row.version == 2, "the second version")
    assert command(mirrord, "restore", "Notes/History.md", "--version", "1").code == 0
    eventually(lambda: mirrord.text("Notes/History.md") == "one\n", "the first version in the file")

    look_everywhere(mirrord)
    mirrord.app.execute("DELETE FROM page WHERE id = %s", [page.id])
    eventually(lambda: not mirrord.file("Notes/History.md").exists(), "the file to go")
    result = command(mirrord, "restore", "Notes/History.md", "--version", "2")
    assert result.code == 0, result.err
    eventually(lambda: mirrord.text("Notes/History.md") == "two\n", "the second version in the file")
    look_everywhere(mirrord)
    assert mirrord.check() == {}


def test_what_somebody_writes_to_a_file_that_was_replaced_is_taken_in(mirrord: Mirrord) -> None:
    save(mirrord.file("Late.md"), "one\n\ntwo\n")
    page = eventually(lambda: mirrord.page("Late.md"), "a row")
    look_everywhere(mirrord)
    mirrord.app.execute("UPDATE page SET markdown = %s WHERE id = %s", ["one\n\ntwo, by a row\n", page.id])
    eventually(lambda: mirrord.text("Late.md") == "one\n\ntwo, by a row\n", "the row's text in the file")
    look_everywhere(mirrord)
    (old,) = (mirrord.root / ".mirrord/trash").glob(f"w.{page.id}.*")
    old.write_text("one, saved late\n\ntwo\n", encoding="utf-8")
    look_everywhere(mirrord)
    assert mirrord.text("Late.md") == "one, saved late\n\ntwo, by a row\n"
    texts = mirrord.app.execute("SELECT markdown FROM page_revision WHERE page_id = %s ORDER BY version", [page.id])
    assert [row[0] for row in texts.fetchall()][2:] == [
        "one, saved late\n\ntwo\n",
        "one, saved late\n\ntwo, by a row\n",
    ]
    assert b"one, saved late\n\ntwo\n" in trashed(mirrord)


def test_status_counts_the_trash(mirrord: Mirrord) -> None:
    save(mirrord.file("Trashed.md"), "text\n")
    page = eventually(lambda: mirrord.page("Trashed.md"), "a row")
    mirrord.app.execute("DELETE FROM page WHERE id = %s", [page.id])
    eventually(lambda: not mirrord.file("Trashed.md").exists(), "the file to go")
    look_everywhere(mirrord)
    files = trashed(mirrord)
    assert files
    assert mirrord.status()["trash"] == {"files": len(files), "bytes": sum(map(len, files))}


def test_a_page_that_comes_back_where_another_is_now_gets_a_number(mirrord: Mirrord) -> None:
    save(mirrord.file("Taken.md"), "first\n")
    first = eventually(lambda: mirrord.page("Taken.md"), "a row")
    look_everywhere(mirrord)
    mirrord.app.execute("DELETE FROM page WHERE id = %s", [first.id])
    eventually(lambda: not mirrord.file("Taken.md").exists(), "the file to go")
    mirrord.app.execute("INSERT INTO page (name, markdown) VALUES ('Taken', 'second')")
    eventually(lambda: mirrord.file("Taken.md").exists(), "the other page's file")
    assert command(mirrord, "restore", str(first.id), "--version", "1").code == 0
    eventually(lambda: mirrord.text("Taken (2).md") == "first\n", "the restored page beside it")
