"""Vaults of Obsidian: pictures beside the notes, in the root, in a folder below the note's and in one of the vault."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from mirrord.domain.entry import digest_of
from tests.support.commands import Near
from tests.support.harness import Mirrord, eventually
from tests.support.trees import contents

SETTING = ".obsidian/app.json"
FOLDERS = {"root": "/", "beside": "./", "below": "./pics", "fixed": "Files/Media"}
PICTURES = {
    "root": "photo.png",
    "beside": "Daily/photo.png",
    "below": "Daily/pics/photo.png",
    "fixed": "Files/Media/photo.png",
}
BYTES = b"\x89PNG \x00\xff"
NOTE = "# Monday\n\n![[photo.png]]\n"

Begin = Callable[[str], Mirrord]


@pytest.fixture
def begin(admin_dsn: str, tmp_path: Path) -> Iterator[Begin]:
    """Starts a daemon on a vault whose attachments are where FOLDERS says, with a picture there."""
    with Near(tmp_path, tenant=f"vault-{uuid4().hex[:8]}", dsn=admin_dsn) as started:

        def begun(where: str) -> Mirrord:
            put(started, SETTING, json.dumps({"attachmentFolderPath": FOLDERS[where]}).encode())
            put(started, "Daily/Monday.md", NOTE.encode())
            put(started, PICTURES[where], BYTES)
            put(started, "Board.canvas", b"{}")
            started.up()
            return started

        yield begun


def put(mirrord: Mirrord, path: str, data: bytes) -> None:
    mirrord.file(path).parent.mkdir(parents=True, exist_ok=True)
    mirrord.file(path).write_bytes(data)


def row(mirrord: Mirrord, name: str) -> tuple[object, ...] | None:
    return mirrord.app.execute(
        "SELECT a.id, p.name, a.digest, a.media_type FROM attachment AS a LEFT JOIN page AS p ON p.id = a.parent_id "
        "WHERE a.name = %s AND a.deleted_at IS NULL",
        [name],
    ).fetchone()


def insert(mirrord: Mirrord, name: str, data: bytes, parent: object = None) -> None:
    mirrord.app.execute("INSERT INTO blob (digest, part, bytes) VALUES (%s, 0, %s)", [digest_of(data), data])
    values = [parent, name, digest_of(data), len(data)]
    mirrord.app.execute("INSERT INTO attachment (parent_id, name, digest, size) VALUES (%s, %s, %s, %s)", values)


def meant(mirrord: Mirrord) -> str | None:
    """What the note's embedded picture means."""
    target = mirrord.app.execute(
        "SELECT a.name FROM page_link AS l JOIN attachment AS a ON a.id = l.target_id WHERE l.target = 'photo.png'"
    ).fetchone()
    return target[0] if target else None


def is_equal(mirrord: Mirrord) -> bool:
    mirrord.flush()
    problems = mirrord.app.execute("SELECT sentence FROM problem").fetchall()
    return set(mirrord.check().values()) <= {"OK"} and not problems


@pytest.mark.parametrize("where", FOLDERS)
def test_pictures_of_a_vault_are_synced_linked_exported_and_the_same_after_a_restart(
    begin: Begin, where: str, tmp_path: Path
) -> None:
    mirrord = begin(where)
    path = PICTURES[where]
    first_row = eventually(lambda: row(mirrord, "./photo.png"), "a row of the picture")
    above = path.rpartition("/")[0].rpartition("/")[2] or None
    assert first_row[1:] == (above, digest_of(BYTES), "image/png")
    eventually(lambda: meant(mirrord) == "./photo.png", "the meaning of the link")
    assert is_equal(mirrord)

    exported = tmp_path / "exported"
    assert mirrord.run("export", str(exported), *mirrord.places, "--tenant", mirrord.tenant).returncode == 0
    assert (exported / path).read_bytes() == BYTES
    assert (exported / "Daily/Monday.md").read_text() == NOTE
    assert not (exported / "Board.canvas").exists()

    mirrord.stop()
    mirrord.file(path).write_bytes(BYTES + b"changed while nobody looked")
    mirrord.up()
    eventually(lambda: (again := row(mirrord, "./photo.png")) and again[2] != first_row[2], "the new bytes in the row")
    again = row(mirrord, "./photo.png")
    assert again is not None
    assert again[0] == first_row[0]
    assert is_equal(mirrord)


def test_an_app_inserts_and_deletes_files_beside_pages_and_renames_their_folder(begin: Begin) -> None:
    mirrord = begin("beside")
    eventually(lambda: row(mirrord, "./photo.png"), "a row of the picture")
    daily = mirrord.app.execute("SELECT id FROM page WHERE name = 'Daily'").fetchone()
    assert daily is not None

    insert(mirrord, "./from app.png", b"made by an app", daily[0])
    insert(mirrord, "./odd.xyz", b"of an ending that nobody lists")
    insert(mirrord, "./Daily.md", b"not a page", daily[0])
    insert(mirrord, "./Daily", b"not the folder")
    insert(mirrord, "./a/b~", b"not half a save", daily[0])
    insert(mirrord, "plain.png", b"where it always was", daily[0])
    eventually(lambda: contents(mirrord.file("Daily/from app.png")) == b"made by an app", "the inserted file")
    eventually(lambda: contents(mirrord.file("odd.xyz")), "the file with an ending of its own")
    eventually(lambda: contents(mirrord.file("Daily/assets/plain.png")), "the file below assets")
    eventually(lambda: contents(mirrord.file("Daily/Daily.md_")) == b"not a page", "the file that is no page")
    eventually(lambda: contents(mirrord.file("Daily (2)")) == b"not the folder", "the file that is not the folder")
    eventually(lambda: contents(mirrord.file("Daily/a-b~_")), "the file that is no editor's")
    assert is_equal(mirrord)

    mirrord.app.execute("UPDATE page SET name = 'Diary' WHERE name = 'Daily'")
    eventually(lambda: contents(mirrord.file("Diary/from app.png")), "the file in the renamed folder")
    assert is_equal(mirrord)

    put(mirrord, "odd.xyz", b"changed in the tree")
    changed = digest_of(b"changed in the tree")
    eventually(lambda: (current := row(mirrord, "./odd.xyz")) and current[2] == changed, "the bytes of the file")
    mirrord.restart()
    assert is_equal(mirrord)
    assert row(mirrord, "./odd.xyz") is not None

    mirrord.app.execute("DELETE FROM attachment WHERE name IN ('./from app.png', './odd.xyz')")
    eventually(lambda: not mirrord.file("Diary/from app.png").exists(), "the deleted file to go")
    eventually(lambda: not mirrord.file("odd.xyz").exists(), "the other deleted file to go")
    deleted, trash = {b"made by an app", b"changed in the tree"}, mirrord.root / ".mirrord/trash"
    eventually(lambda: deleted <= {file.read_bytes() for file in trash.glob("d.*")}, "the bytes in the trash")
    assert is_equal(mirrord)


def test_files_renamed_moved_and_deleted_in_the_tree_are_the_same_attachments(begin: Begin) -> None:
    mirrord = begin("beside")
    first = eventually(lambda: row(mirrord, "./photo.png"), "a row of the picture")
    mirrord.file("Daily/photo.png").rename(mirrord.file("Daily/view.png"))
    assert eventually(lambda: row(mirrord, "./view.png"), "the new name")[0] == first[0]
    mirrord.file("Daily").rename(mirrord.file("Diary"))
    eventually(lambda: (current := row(mirrord, "./view.png")) and current[1] == "Diary", "the new folder")
    mirrord.file("Diary/assets").mkdir()
    mirrord.file("Diary/view.png").rename(mirrord.file("Diary/assets/view.png"))
    assert eventually(lambda: row(mirrord, "view.png"), "the name below assets")[0] == first[0]
    mirrord.file("Diary/assets/view.png").rename(mirrord.file("view.png"))
    assert eventually(lambda: row(mirrord, "./view.png"), "the name in the root")[0] == first[0]
    mirrord.file("view.png").unlink()
    eventually(lambda: row(mirrord, "./view.png") is None, "the deleted row")
    assert is_equal(mirrord)


def test_a_folder_that_holds_only_a_picture_stays_when_an_app_deletes_that(begin: Begin) -> None:
    mirrord = begin("fixed")
    eventually(lambda: row(mirrord, "./photo.png"), "a row of the picture")
    mirrord.app.execute("DELETE FROM attachment WHERE name = './photo.png'")
    eventually(lambda: not mirrord.file("Files/Media/photo.png").exists(), "the deleted file to go")
    assert is_equal(mirrord)
    assert mirrord.file("Files/Media").is_dir()
    assert mirrord.app.execute("SELECT kind FROM page WHERE name = 'Media' AND deleted_at IS NULL").fetchone()


def test_a_change_of_the_vaults_setting_takes_more_in_at_once_and_never_deletes(begin: Begin) -> None:
    mirrord = begin("root")
    put(mirrord, "Daily/other.png", b"other")
    eventually(lambda: row(mirrord, "./photo.png"), "a row of the picture")
    assert is_equal(mirrord)
    assert row(mirrord, "./other.png") is None

    put(mirrord, SETTING, b'{"attachmentFolderPath": "./"}')
    eventually(lambda: row(mirrord, "./other.png"), "a row of what is taken in now")
    put(mirrord, SETTING, b'{"attachmentFolderPath": "Nowhere"}')
    put(mirrord, "late.png", b"late")
    mirrord.restart()
    assert is_equal(mirrord)
    assert row(mirrord, "./photo.png") is not None
    assert row(mirrord, "./other.png") is not None
    assert row(mirrord, "./late.png") is None

    mirrord.stop()
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (mirrord.root / ".mirrord" / name).unlink(missing_ok=True)
    put(mirrord, "photo.png", BYTES + b"!")
    mirrord.up()
    changed = digest_of(BYTES + b"!")
    eventually(
        lambda: (current := row(mirrord, "./photo.png")) and current[2] == changed, "the change of what is synced"
    )
    assert is_equal(mirrord)


def test_status_says_which_files_are_not_synced_and_what_takes_them_in(begin: Begin) -> None:
    mirrord = begin("root")
    for name in ("Daily/a.png", "Daily/b.png", "Old.markdown", "UPPER.MD", ".hidden.png", "c.png~"):
        put(mirrord, name, b"x")
    mirrord.restart()
    mirrord.flush()

    counted = eventually(lambda: mirrord.status()["not_synced"], "the files that are not synced", pause=0.5)
    assert (counted["files"], counted["endings"]) == (5, {".png": 2, ".canvas": 1, ".markdown": 1, ".MD": 1})
    assert 'attachments = ["assets/", ".obsidian", "*.png", "*.canvas"]' in counted["remedy"]
    output = mirrord.run("status", *mirrord.places).stdout
    assert "5 files are not synced: 2 .png, 1 .MD, 1 .canvas, 1 .markdown" in " ".join(output.split())

    mirrord.stop()
    (mirrord.directory / "mirrord.toml").write_text(
        '[mirror]\nattachments = ["assets/", ".obsidian", "*.png", "*.canvas"]\n'
    )
    mirrord.up()
    eventually(lambda: row(mirrord, "./Board.canvas"), "a row of the canvas")
    eventually(lambda: row(mirrord, "./a.png"), "a row of the picture")
    eventually(lambda: (mirrord.status()["not_synced"] or {}).get("files") == 2, "the two that are left", pause=0.5)
    assert is_equal(mirrord)


def test_both_sides_of_a_picture_beside_a_page_are_kept(begin: Begin) -> None:
    mirrord = begin("beside")
    first = eventually(lambda: row(mirrord, "./photo.png"), "a row of the picture")
    mirrord.flush()
    mirrord.stop()
    put(mirrord, "Daily/photo.png", b"of the file")
    mirrord.app.execute(
        "INSERT INTO blob (digest, part, bytes) VALUES (%s, 0, 'of the row')", [digest_of(b"of the row")]
    )
    mirrord.app.execute("UPDATE attachment SET digest = %s WHERE id = %s", [digest_of(b"of the row"), first[0]])
    mirrord.up()

    def kept() -> bool:
        return {file.read_bytes() for file in mirrord.file("Daily").glob("*.png")} == {b"of the file", b"of the row"}

    eventually(kept, "both pictures beside each other")
    assert contents(mirrord.file("Daily/photo.png")) == b"of the row"
    assert is_equal(mirrord)
    assert mirrord.app.execute("SELECT count(*) FROM attachment WHERE deleted_at IS NULL").fetchone() == (2,)
