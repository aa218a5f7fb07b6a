"""Records: categories, collections and segments as files and as rows."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.tree_locks import records_lock
from tests.support.commands import Near
from tests.support.editors import save, save_in_place
from tests.support.harness import Mirrord, eventually
from tests.support.health import assert_over, assert_said, differing, look_everywhere, problem
from tests.support.trees import contents

Row = tuple[UUID, str | None, dict[str, object] | None, int]

BOOKS = "# What I read\ndir: Books  # since school\npatterns:\n  - novels/**\n  - essays/**\n"


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module."""
    with Near(tmp_path_factory.mktemp("records"), tenant="records", dsn=admin_dsn) as started:
        started.up()
        yield started


def _row(mirrord: Mirrord, kind: str, key: str) -> Row | None:
    row = mirrord.app.execute(
        "SELECT id, text, data, version FROM record WHERE kind = %s AND key = %s AND deleted_at IS NULL", [kind, key]
    ).fetchone()
    return (row[0], row[1], row[2], row[3]) if row else None


def _data(mirrord: Mirrord, kind: str, key: str) -> dict[str, object] | None:
    row = _row(mirrord, kind, key)
    return row[2] if row else None


def _category(mirrord: Mirrord, key: str, text: str = BOOKS) -> str:
    """A category that both sides know; its path."""
    path = f".records/categories/{key}.yaml"
    save(mirrord.file(path), text)
    eventually(lambda: (row := _row(mirrord, "category", key)) is not None and row[1] == text, f"a row of {path}")
    return path


def _write(mirrord: Mirrord, key: str, change: dict[str, object]) -> None:
    """An app changes some values."""
    cursor = mirrord.app.execute("UPDATE record SET data = data || %s WHERE key = %s", [Jsonb(change), key])
    assert cursor.rowcount == 1


def _trashed(mirrord: Mirrord, text: str) -> bool:
    trash = mirrord.root / ".mirrord" / "trash"
    return any(path.read_bytes() == text.encode() for path in trash.glob("d.*") if path.suffix != ".json")


def test_a_file_becomes_a_row_with_its_bytes_and_its_values(mirrord: Mirrord) -> None:
    _category(mirrord, "books")
    assert _data(mirrord, "category", "books") == {"dir": "Books", "patterns": ["novels/**", "essays/**"]}
    assert mirrord.app.execute("SELECT dir, patterns FROM category WHERE name = 'books'").fetchone() == (
        "Books",
        ["novels/**", "essays/**"],
    )


def test_an_app_changes_one_value_and_every_other_byte_stays(mirrord: Mirrord) -> None:
    path = _category(mirrord, "films")
    _write(mirrord, "films", {"patterns": ["novels/**", "dramas/**", "essays/**"]})
    expected = BOOKS.replace("  - essays", "  - dramas/**\n  - essays")
    eventually(lambda: mirrord.text(path) == expected, "the new value in the file")
    row = _row(mirrord, "category", "films")
    assert row is not None
    assert (row[1], row[3]) == (expected, 2)


def _give(mirrord: Mirrord, key: str, text: str) -> None:
    """An app gives a record another text."""
    assert mirrord.app.execute("UPDATE record SET text = %s WHERE key = %s", [text, key]).rowcount == 1


def test_a_text_that_an_app_gives_is_the_file_byte_for_byte_and_read(mirrord: Mirrord) -> None:
    path, text = _category(mirrord, "given"), "# of an app\r\ndir:   'Films'  # kept\r\n"
    with mirrord.frozen():
        _give(mirrord, "given", "dir: Lost?\n")
        _give(mirrord, "given", text)
        assert _row(mirrord, "category", "given")[2:] == (None, 3)  # type: ignore[index]
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="not read yet"):
            _write(mirrord, "given", {"dir": "Soon"})
    eventually(lambda: contents(mirrord.file(path)) == text.encode(), "the text in the file")
    eventually(lambda: _data(mirrord, "category", "given") == {"dir": "Films"}, "what it says")
    rows = mirrord.app.execute("SELECT text FROM record_revision WHERE key = 'given' ORDER BY version").fetchall()
    assert [row[0] for row in rows] == [BOOKS, "dir: Lost?\n", text]
    _write(mirrord, "given", {"dir": "Books"})
    changed = text.replace("Films", "Books").encode()
    eventually(lambda: contents(mirrord.file(path)) == changed, "the value in the file")


def test_a_text_that_cannot_be_read_stays_in_its_row_until_another_is_given(mirrord: Mirrord) -> None:
    path = _category(mirrord, "unread")
    _give(mirrord, "unread", "dir: [\n")
    eventually(lambda: "What an app wrote" in (problem(mirrord, path) or ""), "the problem")
    assert mirrord.text(path) == BOOKS
    _give(mirrord, "unread", "dir: Read\n")
    eventually(lambda: mirrord.text(path) == "dir: Read\n", "the text in the file")
    assert_over(mirrord, path)


@pytest.mark.parametrize("change", ["text = NULL", "text = 'dir: A\n', data = '{}'"])
def test_a_text_is_given_whole_and_alone(mirrord: Mirrord, change: str) -> None:
    _category(mirrord, "alone")
    with pytest.raises(psycopg.errors.CheckViolation):
        mirrord.app.execute(f"UPDATE record SET {change} WHERE key = 'alone'")


def test_agents_settle_no_conflict_and_nobody_settles_it_twice(mirrord: Mirrord, disputed: tuple[str, int]) -> None:
    app, settle = mirrord.app, "SELECT mirrord.settle_conflict(%s, %s)"
    with app.transaction(force_rollback=True):
        app.execute("""SET LOCAL mirrord.actor = '{"kind": "agent", "name": "a"}'""")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute(settle, [disputed[1], "took-row"])
    with pytest.raises(psycopg.errors.CheckViolation):
        app.execute(settle, [disputed[1], "forgot"])
    assert app.execute(settle, [disputed[1], "took-row"]).fetchone() == (True,)
    assert app.execute(settle, [disputed[1], "took-row"]).fetchone() == (False,)


def test_an_inserted_row_becomes_a_file_and_a_deleted_one_goes_to_the_trash(mirrord: Mirrord) -> None:
    mirrord.app.execute(
        "INSERT INTO record (kind, key, data) VALUES ('collection', 'reading', %s)",
        [Jsonb({"categories": ["books", "films"]})],
    )
    path, text = ".records/collections/reading.yaml", "categories:\n  - books\n  - films\n"
    eventually(lambda: mirrord.text(path) == text, "the file of an inserted record")

    mirrord.app.execute("DELETE FROM record WHERE key = 'reading'")
    eventually(lambda: not mirrord.file(path).exists(), "the file of a deleted record to go")
    eventually(lambda: _trashed(mirrord, text), "its bytes in the trash")


def test_a_removed_file_ends_its_row_and_a_new_one_continues_it(mirrord: Mirrord) -> None:
    path = _category(mirrord, "passing")
    first = _row(mirrord, "category", "passing")
    mirrord.file(path).unlink()
    eventually(lambda: _row(mirrord, "category", "passing") is None, "the row's end")
    save(mirrord.file(path), "dir: Again\n")
    second = eventually(lambda: _row(mirrord, "category", "passing"), "the row again")
    assert first is not None
    assert second[0] == first[0]


def test_segments_are_written_as_canonical_json_and_seen_one_by_one(mirrord: Mirrord) -> None:
    page = str(uuid4())
    segments = {"b": {"start": 4, "end": 9, "label": "Ana", "kind": "speaker"}, "a": {"start": 0, "end": 3}}
    mirrord.app.execute("INSERT INTO record (kind, key, data) VALUES ('segment', %s, %s)", [page, Jsonb(segments)])
    text = eventually(lambda: mirrord.text(f".records/segments/{page}.json"), "the file of the segments")
    assert text.startswith('{\n  "a": {\n    "end": 3,\n    "start": 0\n  },\n')
    rows = mirrord.app.execute(
        "SELECT id, first, behind, label FROM segment WHERE page_id = %s ORDER BY first", [page]
    ).fetchall()
    assert rows == [("a", 0, 3, None), ("b", 4, 9, "Ana")]


def test_a_renamed_record_keeps_its_id_and_two_may_swap_their_names(mirrord: Mirrord) -> None:
    first, other = _category(mirrord, "one", "dir: One\n"), _category(mirrord, "other", "dir: Other\n")
    before = {key: _row(mirrord, "category", key) for key in ("one", "other")}
    aside = mirrord.file(first).with_name(".aside")
    with mirrord.frozen():
        mirrord.file(first).rename(aside)
        mirrord.file(other).rename(mirrord.file(first))
        aside.rename(mirrord.file(other))
    eventually(lambda: _data(mirrord, "category", "one") == {"dir": "Other"}, "the swapped names")
    after = {key: _row(mirrord, "category", key) for key in ("one", "other")}
    assert before["one"] is not None
    assert after["other"] is not None
    assert after["other"][:3] == before["one"][:3]
    mirrord.file(first).rename(mirrord.file(".records/categories/third.yaml"))
    third = eventually(lambda: _row(mirrord, "category", "third"), "the renamed record")
    assert before["other"] is not None
    assert third[0] == before["other"][0]


def test_both_sides_change_different_values_and_both_changes_stay(mirrord: Mirrord) -> None:
    path = _category(mirrord, "music")
    with mirrord.frozen():
        save_in_place(mirrord.file(path), BOOKS.replace("dir: Books", "dir: Music"))
        _write(mirrord, "music", {"description": "what I hear"})
    expected = BOOKS.replace("dir: Books", "dir: Music") + "description: what I hear\n"
    eventually(lambda: mirrord.text(path) == expected, "both changes in the file")
    look_everywhere(mirrord)
    assert _data(mirrord, "category", "music") == {
        "dir": "Music",
        "patterns": ["novels/**", "essays/**"],
        "description": "what I hear",
    }
    assert mirrord.app.execute("SELECT 1 FROM conflict WHERE path = %s", [path]).fetchone() is None


@pytest.fixture
def disputed(mirrord: Mirrord) -> tuple[str, int]:
    """A category whose both sides changed the same value: its path, and the number of the conflict."""
    key = f"disputed{uuid4().hex[:8]}"
    path = _category(mirrord, key)
    with mirrord.frozen():
        save(mirrord.file(path), BOOKS.replace("dir: Books", "dir: Of the file"))
        _write(mirrord, key, {"dir": "Of the row"})
    query = "SELECT id FROM conflict WHERE path = %s AND resolved_at IS NULL"
    conflict = eventually(lambda: mirrord.app.execute(query, [path]).fetchone(), "the conflict")
    eventually(lambda: "dir: Of the row" in (mirrord.text(path) or ""), "the row's text in the file")
    return path, conflict[0]


def test_of_one_value_the_rows_stays_and_the_files_text_is_a_conflict(
    mirrord: Mirrord, disputed: tuple[str, int]
) -> None:
    path, number = disputed
    cursor = mirrord.app.execute(
        "SELECT base_text, file_text, row_text, sibling_id FROM conflict WHERE id = %s", [number]
    )
    texts = [BOOKS.replace("dir: Books", f"dir: {directory}") for directory in ("Books", "Of the file", "Of the row")]
    assert cursor.fetchone() == (*texts, None)
    assert mirrord.text(path) == texts[2]
    assert [path.name for path in mirrord.file(path).parent.glob("*conflict*")] == []
    assert path in mirrord.run("conflicts", "list", "--tenant", mirrord.tenant).stdout


def test_a_person_takes_the_files_text_of_a_record(mirrord: Mirrord, disputed: tuple[str, int]) -> None:
    path, number = disputed
    completed = mirrord.run("conflicts", "take-file", str(number), "--tenant", mirrord.tenant)
    assert (completed.returncode, completed.stderr) == (0, "")
    eventually(lambda: "dir: Of the file" in (mirrord.text(path) or ""), "the file's text again")
    row = mirrord.app.execute("SELECT resolution FROM conflict WHERE id = %s", [number]).fetchone()
    assert row == ("took-file",)


def test_a_merged_text_of_a_record_must_be_readable(mirrord: Mirrord, disputed: tuple[str, int]) -> None:
    path, number = disputed
    merged = mirrord.directory / "merged.yaml"
    merged.write_text("dir: [\n", encoding="utf-8")
    refused = mirrord.run("conflicts", "take-merged", str(number), str(merged), "--tenant", mirrord.tenant)
    assert refused.returncode != 0
    assert "line 2" in refused.stderr
    merged.write_text("dir: Of both\n", encoding="utf-8")
    assert mirrord.run("conflicts", "take-merged", str(number), str(merged), "--tenant", mirrord.tenant).returncode == 0
    eventually(lambda: mirrord.text(path) == "dir: Of both\n", "the merged text in the file")


def test_a_deleted_record_whose_name_another_has_by_now_is_not_brought_back(
    mirrord: Mirrord, disputed: tuple[str, int]
) -> None:
    path, number = disputed
    key = path.removesuffix(".yaml").rpartition("/")[2]
    with mirrord.app.transaction():
        mirrord.app.execute("UPDATE record SET deleted_at = now() WHERE key = %s", [key])
        mirrord.app.execute(
            "INSERT INTO record (kind, key, data) VALUES ('category', %s, %s)", [key, Jsonb({"dir": "A"})]
        )
    eventually(lambda: "dir: A" in (mirrord.text(path) or ""), "the other record in the file")
    arguments = ("conflicts", "take-file", str(number), "--tenant", mirrord.tenant)
    unseen = mirrord.run(*arguments)
    assert unseen.returncode == 4
    seen_state = unseen.stderr.rpartition("--seen ")[2].split()[0].strip("`.'")
    refused = mirrord.run(*arguments, "--seen", seen_state)
    assert refused.returncode == 4
    assert f"Meanwhile there is another record called {path!r}; delete or rename that first." in refused.stderr
    assert _data(mirrord, "category", key) == {"dir": "A"}


def test_the_files_text_typed_again_settles_the_conflict(mirrord: Mirrord, disputed: tuple[str, int]) -> None:
    path, number = disputed
    save(mirrord.file(path), BOOKS.replace("dir: Books", "dir: Of the file"))
    query = "SELECT resolution FROM conflict WHERE id = %s AND resolved_at IS NOT NULL"
    assert eventually(lambda: mirrord.app.execute(query, [number]).fetchone(), "the end of it") == ("same-text",)


def test_a_file_that_cannot_be_read_is_kept_on_both_sides_and_never_overwritten(mirrord: Mirrord) -> None:
    path, key, broken = _category(mirrord, "broken"), "broken", "dir: Books\npatterns: [a\n"
    save(mirrord.file(path), broken)
    eventually(lambda: (row := _row(mirrord, "category", key)) is not None and row[1:3] == (broken, None), "its text")
    eventually(lambda: problem(mirrord, path), "its problem")
    assert_said(mirrord, path, "line 3")
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="cannot be read"):
        mirrord.app.execute("UPDATE record SET data = '{}' WHERE key = 'broken'")
    look_everywhere(mirrord)
    assert mirrord.text(path) == broken

    save(mirrord.file(path), "dir: Mended\n")
    eventually(lambda: _data(mirrord, "category", key) == {"dir": "Mended"}, "the mended values")
    assert_over(mirrord, path)


def test_a_file_that_broke_while_its_row_changed_waits_until_it_is_mended(mirrord: Mirrord) -> None:
    path, broken = _category(mirrord, "breaking"), BOOKS + "description: [\n"
    with mirrord.frozen():
        save(mirrord.file(path), broken)
        _write(mirrord, "breaking", {"dir": "Of the row"})
    eventually(lambda: "both stay as they are" in (problem(mirrord, path) or ""), "the problem that says so")
    look_everywhere(mirrord)
    assert mirrord.text(path) == broken
    save(mirrord.file(path), BOOKS + "description: mended\n")
    expected = BOOKS.replace("dir: Books", "dir: Of the row") + "description: mended\n"
    eventually(lambda: mirrord.text(path) == expected, "both changes")
    assert_over(mirrord, path)


@pytest.mark.parametrize("name", ["two words.yaml", "-dash.yaml", "notes.txt", f"{'x' * 31}.yaml"])
def test_what_is_no_record_is_listed_and_left_alone(mirrord: Mirrord, name: str) -> None:
    path = f".records/categories/{name}"
    save(mirrord.file(path), "dir: Nowhere\n")
    eventually(lambda: problem(mirrord, path), "its problem")
    assert_said(mirrord, path, "NAME.yaml", "1 to 30 letters")
    look_everywhere(mirrord)
    assert_said(mirrord, path, "NAME.yaml")
    mirrord.file(path).unlink()
    assert_over(mirrord, path)


def test_two_records_whose_names_differ_by_case_are_not_both_synced(mirrord: Mirrord) -> None:
    _category(mirrord, "case")
    twin = ".records/categories/CASE.yaml"
    save(mirrord.file(twin), "dir: Twin\n")
    eventually(lambda: problem(mirrord, twin), "its problem")
    assert_said(mirrord, twin, "but for case")
    mirrord.file(twin).unlink()
    assert_over(mirrord, twin)


@pytest.mark.parametrize(
    ("kind", "key"),
    [("approval", "x"), ("category", "../x"), ("category", "a b"), ("category", ""), ("segment", "page"), ("", "x")],
)
def test_a_row_that_could_be_no_file_is_refused(mirrord: Mirrord, kind: str, key: str) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        mirrord.app.execute("INSERT INTO record (kind, key, data) VALUES (%s, %s, '{}')", [kind, key])


@pytest.mark.parametrize("data", ["[]", "1", "null", '"text"'])
def test_data_that_is_no_object_is_refused(mirrord: Mirrord, data: str) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        mirrord.app.execute("INSERT INTO record (kind, key, data) VALUES ('category', 'odd', %s::jsonb)", [data])


def test_an_editor_does_not_lose_a_record_to_a_command_that_holds_the_lock(mirrord: Mirrord) -> None:
    path = _category(mirrord, "locked")
    tree = Tree(mirrord.root)
    with records_lock(tree):
        _write(mirrord, "locked", {"dir": "Later"})
        save(mirrord.file(path), BOOKS + "description: first\n")
        eventually(lambda: "description" in (_data(mirrord, "category", "locked") or {}), "the edit in the row")
        assert mirrord.text(path) == BOOKS + "description: first\n"
    tree.close()
    expected = BOOKS.replace("dir: Books", "dir: Later") + "description: first\n"
    eventually(lambda: mirrord.text(path) == expected, "the row's change in the file")


def test_ignoring_names_with_a_dot_does_not_mean_the_records(mirrord: Mirrord) -> None:
    save(mirrord.file(".mirrorignore"), ".*\n")
    look_everywhere(mirrord)
    _category(mirrord, "unignored")
    mirrord.file(".mirrorignore").unlink()


def test_records_are_in_the_check_and_in_the_status(mirrord: Mirrord) -> None:
    path = _category(mirrord, "counted")
    look_everywhere(mirrord)
    assert differing(mirrord) == []
    with mirrord.frozen():
        mirrord.file(path).write_text("dir: Elsewhere\n", encoding="utf-8")
        assert differing(mirrord) == [f"DIFFERS {path}"]
    look_everywhere(mirrord)
    status = mirrord.status()
    rows = mirrord.app.execute("SELECT count(*) FROM record WHERE deleted_at IS NULL").fetchone()
    assert rows == (status["records"],)


def _has_moved(directory: Path, target: Path) -> bool:
    """Move it; False: the parent of *target*, which is empty until then, was removed meanwhile."""
    target.parent.mkdir(exist_ok=True)
    try:
        directory.rename(target)
    except FileNotFoundError:
        return False
    return True


def test_a_whole_directory_of_records_moves_in_and_out(mirrord: Mirrord) -> None:
    outside = mirrord.directory / "outside"
    outside.mkdir()
    for number in range(3):
        (outside / f"moved{number}.yaml").write_text(f"dir: D{number}\n", encoding="utf-8")
    target = mirrord.file(".records/collections")
    if target.exists():
        target.rename(mirrord.directory / "before")
    eventually(lambda: _has_moved(outside, target), "the move into a directory that the daemon has not just removed")
    eventually(lambda: _data(mirrord, "collection", "moved2") == {"dir": "D2"}, "the records that came")
    target.rename(outside)
    eventually(lambda: _row(mirrord, "collection", "moved2") is None, "the end of those that went")
