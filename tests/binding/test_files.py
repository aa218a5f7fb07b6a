"""Files of an app are attachments of its pages, from a column or from the disk; the app is right, in both modes."""

import os
import shutil
from pathlib import Path

import pytest

from tests.binding.knowledge_base import BoundWorld
from tests.support.entries import value
from tests.support.harness import eventually

TABLES = """
CREATE TABLE kb.notes (
    id serial PRIMARY KEY, parent_id integer REFERENCES kb.notes, title text NOT NULL, body text, deleted_at timestamptz
);
CREATE TABLE kb.uploads (
    id serial PRIMARY KEY, note_id integer REFERENCES kb.notes ON DELETE CASCADE, file_name text, content bytea,
    storage_path text, is_hidden boolean NOT NULL DEFAULT false
);
"""
MAPPING = """
[binding]
name = "kb"
mode = "{mode}"
[page]
table = "kb.notes"
id = "id"
title = "title"
parent = "parent_id"
deleted = "deleted_at"
[body]
column = "body"
format = "markdown"
[files]
table = "kb.uploads"
id = "id"
page = "note_id"
name = "file_name"
filter = {{ is_hidden = false }}
{source}
"""
FIRST, SECOND = b"\x89PNG first \x00\xff", b"\x89PNG second"


@pytest.fixture
def uploads(tmp_path: Path) -> Path:
    """The directory in which the app keeps its files."""
    directory = tmp_path / "uploads"
    directory.mkdir()
    return directory


@pytest.fixture
def notes(world: BoundWorld) -> BoundWorld:
    """Two tables, with a page and another one below it; the mapping is in mode `in`, from a column."""
    world.app.connection.execute(TABLES.encode())
    world.app.connection.execute(
        "INSERT INTO kb.notes (title, body, parent_id) VALUES ('Beans', 'Green.', NULL), ('Soil', 'Brown.', 1)"
    )
    bind_columns(world)
    return world


def bind_columns(world: BoundWorld, mode: str = "in") -> None:
    world.mapping.write_text(MAPPING.format(mode=mode, source='bytes = "content"'))


def bind_directory(world: BoundWorld, directory: Path, mode: str = "in") -> None:
    world.mapping.write_text(MAPPING.format(mode=mode, source=f'path = "{directory}/{{storage_path}}"'))


def start(world: BoundWorld) -> None:
    world.bind("add", str(world.mapping))
    world.mirrord.up()


def upload(world: BoundWorld, name: str | None, content: bytes | None, note: int | None = 1, path: str = "") -> int:
    query = "INSERT INTO kb.uploads (file_name, content, note_id, storage_path) VALUES (%s, %s, %s, %s) RETURNING id"
    return int(world.app.connection.execute(query, [name, content, note, path]).fetchone()[0])  # type: ignore[index]


def bytes_of(world: BoundWorld, path: str) -> bytes | None:
    file = world.mirrord.root / path
    return file.read_bytes() if file.is_file() else None


def await_bytes(world: BoundWorld, path: str, content: bytes | None) -> None:
    eventually(
        lambda: bytes_of(world, path) == content,
        f"{path} has {content!r}; there were {attachments_of(world)}",
    )


def attachments_of(world: BoundWorld) -> list[str]:
    root = world.mirrord.root
    files = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(str(file) for file in files if file.suffix != ".md" and not file.parts[0].startswith("."))


def await_problem(world: BoundWorld, *parts: str) -> None:
    def has_problem() -> bool:
        return any(all(part in problem["sentence"] for part in parts) for problem in world.status()["problems"])

    eventually(has_problem, f"a problem has {parts}; there are {world.status()['problems']}")


def sentences_of(world: BoundWorld) -> list[str]:
    return [problem["sentence"] for problem in world.status()["problems"]]


@pytest.mark.parametrize("mode", ["in", "both"])
def test_files_of_a_column_are_attachments_and_follow_their_rows(notes: BoundWorld, mode: str) -> None:
    bind_columns(notes, mode)
    upload(notes, "photo.png", FIRST)
    upload(notes, "deep.png", FIRST, note=2)
    upload(notes, "of no page.png", FIRST, note=None)
    start(notes)
    await_bytes(notes, "Beans/assets/photo.png", FIRST)
    await_bytes(notes, "Beans/Soil/assets/deep.png", FIRST)
    notes.app.connection.execute("UPDATE kb.uploads SET content = %s WHERE id = 1", [SECOND])
    await_bytes(notes, "Beans/assets/photo.png", SECOND)
    notes.app.connection.execute("UPDATE kb.uploads SET file_name = 'pods.png' WHERE id = 1")
    await_bytes(notes, "Beans/assets/pods.png", SECOND)
    notes.app.connection.execute("UPDATE kb.uploads SET note_id = 2 WHERE id = 1")
    await_bytes(notes, "Beans/Soil/assets/pods.png", SECOND)
    notes.app.connection.execute("UPDATE kb.notes SET title = 'Peas' WHERE id = 1")
    await_bytes(notes, "Peas/Soil/assets/deep.png", FIRST)
    notes.app.connection.execute("UPDATE kb.uploads SET is_hidden = true WHERE id = 2")
    await_bytes(notes, "Peas/Soil/assets/deep.png", None)
    notes.app.connection.execute("DELETE FROM kb.uploads WHERE id = 1")
    await_bytes(notes, "Peas/Soil/assets/pods.png", None)
    notes.await_rest()
    assert attachments_of(notes) == []
    assert sentences_of(notes) == []


@pytest.mark.parametrize("mode", ["in", "both"])
def test_what_a_person_does_to_a_file_is_taken_back_with_a_sentence(notes: BoundWorld, mode: str) -> None:
    bind_columns(notes, mode)
    upload(notes, "photo.png", FIRST)
    start(notes)
    path = "Beans/assets/photo.png"
    await_bytes(notes, path, FIRST)
    notes.await_rest()
    (notes.mirrord.root / path).write_bytes(SECOND)
    await_problem(notes, "photo.png", "was changed", "only reads files of the app")
    await_bytes(notes, path, FIRST)
    refused = "SELECT count(*) FROM mirrord.attachment_revision WHERE size = %s"
    assert value(notes.admin, refused, len(SECOND)) == 1
    (notes.mirrord.root / path).rename(notes.mirrord.root / "Beans/assets/other.png")
    await_bytes(notes, "Beans/assets/other.png", None)
    await_bytes(notes, path, FIRST)
    notes.await_rest()  # a file that goes before mirrord has noted it is written again, and nobody deleted it
    (notes.mirrord.root / path).unlink()
    await_problem(notes, "photo.png", "was deleted")
    await_bytes(notes, path, FIRST)
    notes.await_rest()
    assert attachments_of(notes) == [path]
    assert value(notes.admin, "SELECT content FROM kb.uploads") == FIRST


@pytest.mark.parametrize("mode", ["in", "both"])
def test_files_of_a_directory_follow_their_rows_and_stay_while_there_is_none(
    notes: BoundWorld, uploads: Path, mode: str
) -> None:
    bind_directory(notes, uploads, mode)
    (uploads / "2026").mkdir()
    (uploads / "2026" / "a.png").write_bytes(FIRST)
    upload(notes, "photo.png", None, path="2026/a.png")
    start(notes)
    path = "Beans/assets/photo.png"
    await_bytes(notes, path, FIRST)
    (uploads / "b.png").write_bytes(SECOND)
    notes.app.connection.execute("UPDATE kb.uploads SET storage_path = 'b.png'")
    await_bytes(notes, path, SECOND)
    uploads.rename(uploads.with_name("elsewhere"))
    notes.app.connection.execute("UPDATE kb.uploads SET storage_path = '2026/a.png'")
    await_problem(notes, "photo.png", f"the directory {uploads} cannot be read")
    assert bytes_of(notes, path) == SECOND
    uploads.with_name("elsewhere").rename(uploads)
    notes.bind("resume", "kb")
    await_bytes(notes, path, FIRST)
    eventually(lambda: sentences_of(notes) == [], f"the problem is over: {sentences_of(notes)}")


def test_a_file_that_changes_on_disk_without_its_row_is_seen_when_all_rows_are_compared(
    notes: BoundWorld, uploads: Path
) -> None:
    bind_directory(notes, uploads)
    notes.mapping.write_text(
        notes.mapping.read_text().replace('mode = "in"', 'mode = "in"\nwatch = "poll"\npoll_seconds = 1')
    )
    (uploads / "a.png").write_bytes(FIRST)
    upload(notes, "photo.png", None, path="a.png")
    start(notes)
    await_bytes(notes, "Beans/assets/photo.png", FIRST)
    (uploads / "a.png").write_bytes(SECOND)
    await_bytes(notes, "Beans/assets/photo.png", SECOND)
    upload(notes, "more.png", None, path="more.png")
    await_problem(notes, "more.png", "cannot be read")
    (uploads / "more.png").write_bytes(FIRST)
    await_bytes(notes, "Beans/assets/more.png", FIRST)
    eventually(lambda: sentences_of(notes) == [], "the problem is over")


def test_no_path_leads_out_of_the_directory_nor_through_a_link(notes: BoundWorld, uploads: Path) -> None:
    secret = uploads.with_name("secret.txt")
    secret.write_text("Key.")
    (uploads / "link.png").symlink_to(secret)
    (uploads / "directory.png").symlink_to(uploads.parent)
    (uploads / "sub").mkdir()
    os.mkfifo(uploads / "pipe.png")
    (uploads / "good.png").write_bytes(FIRST)
    bind_directory(notes, uploads)
    hostile = [
        "../secret.txt",
        str(secret),
        "link.png",
        "directory.png/secret.txt",
        "sub",
        "pipe.png",
        "sub/../good.png",
    ]
    for number, path in enumerate(hostile):
        upload(notes, f"{number}.png", None, path=path)
    upload(notes, "none.png", None, path="")
    upload(notes, "good.png", None, path="good.png")
    report = notes.bind("check", str(notes.mapping), code=1)
    assert "9 files would be attachments" in report
    assert f"{len(hostile) + 1} are not carried over" in report
    start(notes)
    await_bytes(notes, "Beans/assets/good.png", FIRST)
    eventually(lambda: len(sentences_of(notes)) == len(hostile) + 1, f"each is a problem: {sentences_of(notes)}")
    notes.await_rest()
    assert attachments_of(notes) == ["Beans/assets/good.png"]
    assert value(notes.admin, "SELECT count(*) FROM mirrord.blob") == 1


def test_names_that_clash_or_are_no_names_of_files_become_ones_that_are(notes: BoundWorld) -> None:
    for name in (
        "a.png",
        "A.png",
        "a.png",
        "..",
        ".hidden",
        "x/../../y.png",
        "page.md",
        "con.png",
        "Ü\n.png",
        None,
        "",
    ):
        upload(notes, name, FIRST)
    upload(notes, "n" * 3000 + ".png", FIRST)
    start(notes)
    eventually(lambda: len(attachments_of(notes)) >= 11, f"they are files: {attachments_of(notes)}")
    count = "SELECT count(*) FROM mirrord.attachment WHERE deleted_at IS NULL AND name_key IS NOT NULL"
    eventually(lambda: value(notes.admin, count) == 12, "all have names")
    notes.await_rest()
    await_bytes(notes, "Beans/assets/page.md", FIRST)
    in_tree = [path.removeprefix("Beans/assets/") for path in attachments_of(notes)]
    assert "y.png" in in_tree
    assert len({"a.png", "A.png"} & {*in_tree}) == 1, in_tree  # of names that differ in case only one stays as it is
    assert all("/" not in name and not name.startswith(".") for name in in_tree)
    versions = notes.admin.execute("SELECT id, version FROM mirrord.attachment ORDER BY id").fetchall()
    notes.app.connection.execute("UPDATE kb.uploads SET content = content")
    notes.bind("resume", "kb")
    notes.await_rest()
    assert notes.admin.execute("SELECT id, version FROM mirrord.attachment ORDER BY id").fetchall() == versions
    assert sentences_of(notes) == []


def test_a_file_that_is_too_large_or_empty_of_bytes_is_a_problem_and_the_one_before_stays(notes: BoundWorld) -> None:
    upload(notes, "photo.png", FIRST)
    upload(notes, "nothing.png", None)
    upload(notes, "zero.png", b"")
    start(notes)
    await_bytes(notes, "Beans/assets/photo.png", FIRST)
    await_bytes(notes, "Beans/assets/zero.png", b"")
    await_problem(notes, "nothing.png", "its row has no bytes")
    notes.app.connection.execute(
        "UPDATE kb.uploads SET content = convert_to(repeat('x', (50 << 20) + 1), 'UTF8') WHERE id = 1"
    )
    await_problem(notes, "photo.png", "it has more than 50 MiB")
    assert bytes_of(notes, "Beans/assets/photo.png") == FIRST
    assert "it has more than 50 MiB" in notes.bind("check", str(notes.mapping), code=1)
    notes.app.connection.execute("UPDATE kb.uploads SET content = %s WHERE id IN (1, 2)", [SECOND])
    await_bytes(notes, "Beans/assets/photo.png", SECOND)
    await_bytes(notes, "Beans/assets/nothing.png", SECOND)
    eventually(lambda: sentences_of(notes) == [], f"the problems are over: {sentences_of(notes)}")


@pytest.mark.parametrize("mode", ["in", "both"])
def test_files_go_and_come_back_with_their_pages(notes: BoundWorld, mode: str) -> None:
    bind_columns(notes, mode)
    for title in ("Stays", "Stays too", "And this", "And that"):
        notes.app.connection.execute("INSERT INTO kb.notes (title) VALUES (%s)", [title])
    for number in range(12):
        upload(notes, f"{number}.png", FIRST, note=2)
    start(notes)
    await_bytes(notes, "Beans/Soil/assets/11.png", FIRST)
    notes.await_rest()
    (notes.mirrord.root / "Beans/Soil/assets/own.png").write_bytes(SECOND)
    notes.mirrord.flush()
    notes.app.connection.execute("UPDATE kb.notes SET deleted_at = now() WHERE id = 2")
    eventually(lambda: attachments_of(notes) == ["assets/own.png"], f"only the own file stays: {attachments_of(notes)}")
    notes.await_rest()
    assert notes.status()["state"] == "running"
    notes.app.connection.execute("UPDATE kb.notes SET deleted_at = NULL WHERE id = 2")
    await_bytes(notes, "Beans/Soil/assets/11.png", FIRST)
    eventually(lambda: len(attachments_of(notes)) == 13, f"all are back: {attachments_of(notes)}")
    assert sentences_of(notes) == []


def test_many_files_that_vanish_at_once_halt_the_binding(notes: BoundWorld) -> None:
    for number in range(60):
        upload(notes, f"{number}.png", FIRST)
    start(notes)
    eventually(lambda: len(attachments_of(notes)) == 60, "all files are there")
    notes.await_rest()
    notes.app.connection.execute("DELETE FROM kb.uploads WHERE id <= 40")
    assert "40 of 60 files are gone from the app" in notes.await_state("halted")["sentence"]
    assert len(attachments_of(notes)) == 60
    notes.bind("resume", "kb", "--deletions")
    deleted = "SELECT count(*) FROM mirrord.attachment WHERE deleted_at IS NOT NULL"
    eventually(lambda: value(notes.admin, deleted) == 40, "the deletions are carried over")


def test_a_page_that_is_deleted_in_mode_both_takes_its_files_along(notes: BoundWorld) -> None:
    bind_columns(notes, "both")
    for title in ("Stays", "Stays too", "And this", "And that"):
        notes.app.connection.execute("INSERT INTO kb.notes (title) VALUES (%s)", [title])
    upload(notes, "deep.png", FIRST, note=2)
    start(notes)
    await_bytes(notes, "Beans/Soil/assets/deep.png", FIRST)
    notes.await_rest()
    (notes.mirrord.root / "Beans/Soil.md").unlink()
    await_problem(notes, "'Soil' lost its file, and has it again: its directory is there.")
    notes.await_text("Beans/Soil/_index.md", "Brown.")
    notes.await_rest()
    shutil.rmtree(notes.mirrord.root / "Beans/Soil")
    query = "SELECT deleted_at IS NOT NULL FROM kb.notes WHERE id = 2"
    eventually(lambda: value(notes.admin, query), "the app has deleted the page")
    await_bytes(notes, "Beans/Soil/assets/deep.png", None)
    notes.await_rest()
    assert value(notes.admin, "SELECT count(*) FROM kb.uploads") == 1


def test_a_binding_that_is_dropped_leaves_its_files_and_knows_them_when_it_is_added_again(notes: BoundWorld) -> None:
    upload(notes, "photo.png", FIRST)
    start(notes)
    await_bytes(notes, "Beans/assets/photo.png", FIRST)
    notes.await_rest()
    triggers = "SELECT count(*) FROM pg_trigger WHERE starts_with(tgname, 'mirrord_bind_')"
    assert value(notes.admin, triggers) == 2
    notes.bind("drop", "kb")
    assert value(notes.admin, triggers) == 0
    notes.app.connection.execute("UPDATE kb.uploads SET content = %s", [SECOND])
    notes.bind("add", str(notes.mapping))
    await_bytes(notes, "Beans/assets/photo.png", SECOND)
    notes.await_rest()
    assert attachments_of(notes) == ["Beans/assets/photo.png"]


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ('bytes = "content"', "", "choose one of both"),
        ('bytes = "content"', 'bytes = "file_name"', "kb.uploads.file_name is of type text; bytes are a bytea"),
        ('page = "note_id"', 'page = "file_name"', "cannot be compared with id"),
        ('id = "id"\npage', 'id = "note_id"\npage', "kb.uploads.note_id is no id"),
        ('name = "file_name"', 'name = "label"', "kb.uploads has no column label"),
        ('table = "kb.uploads"', 'table = "kb.notes"', "`files.table` must be a table of its own"),
        ('bytes = "content"', 'path = "{storage_path}"', "use an absolute path with a column"),
        ('bytes = "content"', 'pth = "/srv/{storage_path}"', "Did you mean `files.path`?"),
    ],
)
def test_a_mapping_of_files_that_cannot_be_is_refused(
    notes: BoundWorld, before: str, after: str, sentence: str
) -> None:
    notes.mapping.write_text(notes.mapping.read_text().replace(before, after))
    assert sentence in notes.bind("check", str(notes.mapping), code=2)
