"""Attachments: opaque bytes through the same engine as pages."""

import os
from collections.abc import Iterator
from uuid import UUID

import pytest

from mirrord.db.content.stored_bytes import PART_BYTES
from mirrord.domain.entry import digest_of
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.health import assert_said, look_everywhere
from tests.support.trees import contents


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module."""
    with Near(tmp_path_factory.mktemp("attachments"), tenant="attachments", dsn=admin_dsn) as started:
        started.up()
        yield started


def _put(mirrord: Mirrord, path: str, data: bytes) -> None:
    mirrord.file(path).parent.mkdir(parents=True, exist_ok=True)
    mirrord.file(path).write_bytes(data)


def _row(mirrord: Mirrord, name: str) -> tuple[UUID, bytes, int, str | None, int] | None:
    return mirrord.app.execute(
        "SELECT id, digest, size, media_type, version FROM attachment WHERE name = %s AND deleted_at IS NULL", [name]
    ).fetchone()


def _bytes(mirrord: Mirrord, digest: bytes) -> bytes:
    rows = mirrord.app.execute("SELECT bytes FROM blob WHERE digest = %s ORDER BY part", [digest]).fetchall()
    return b"".join(row[0] for row in rows)


def _insert(mirrord: Mirrord, name: str, data: bytes, *, digest: bytes | None = None) -> None:
    digest = digest or digest_of(data)
    parts = [data[start : start + PART_BYTES] for start in range(0, max(1, len(data)), PART_BYTES)]
    for number, part in enumerate(parts):
        mirrord.app.execute("INSERT INTO blob (digest, part, bytes) VALUES (%s, %s, %s)", [digest, number, part])
    mirrord.app.execute("INSERT INTO attachment (name, digest, size) VALUES (%s, %s, %s)", [name, digest, len(data)])


def test_a_file_below_assets_becomes_a_row_with_its_bytes(mirrord: Mirrord) -> None:
    data = os.urandom(2 * PART_BYTES + 17)
    _put(mirrord, "Trip/assets/2024/photo.jpg", data)

    row = eventually(lambda: _row(mirrord, "2024/photo.jpg"), "a row of the photo")
    assert row[1] == digest_of(data)
    assert row[2:4] == (len(data), "image/jpeg")
    assert _bytes(mirrord, row[1]) == data
    parent = mirrord.app.execute(
        "SELECT page.name, page.kind FROM attachment JOIN page ON page.id = attachment.parent_id "
        "WHERE attachment.id = %s",
        [row[0]],
    ).fetchone()
    assert parent == ("Trip", "folder")


def test_a_changed_file_is_a_new_version_of_the_same_attachment(mirrord: Mirrord) -> None:
    _put(mirrord, "assets/plan.svg", b"<svg/>")
    first = eventually(lambda: _row(mirrord, "plan.svg"), "a row of the plan")
    _put(mirrord, "assets/plan.svg", b"<svg><g/></svg>")
    eventually(
        lambda: (row := _row(mirrord, "plan.svg")) is not None and row[1] != first[1], "the new bytes in the row"
    )
    second = _row(mirrord, "plan.svg")
    assert second is not None
    assert second[0] == first[0]
    assert second[4] == first[4] + 1


def test_an_inserted_row_becomes_a_file_and_a_deleted_one_goes_to_the_trash(mirrord: Mirrord) -> None:
    data = os.urandom(PART_BYTES + 1)
    _insert(mirrord, "from app.bin", data)
    file = mirrord.file("assets/from app.bin")
    eventually(lambda: contents(file) == data, "the file of an inserted attachment")

    mirrord.app.execute("DELETE FROM attachment WHERE name = 'from app.bin'")
    eventually(lambda: not file.exists(), "the file of a deleted attachment to go")
    trash = mirrord.root / ".mirrord" / "trash"
    eventually(
        lambda: any(path.read_bytes() == data for path in trash.glob("d.*") if path.suffix != ".json"),
        "the bytes in the trash",
    )


def test_bytes_that_do_not_match_their_digest_are_listed_and_not_written(mirrord: Mirrord) -> None:
    _insert(mirrord, "wrong.bin", b"these", digest=digest_of(b"those"))
    eventually(
        lambda: mirrord.app.execute("SELECT 1 FROM problem WHERE code = 'blob'").fetchone(), "the listed problem"
    )
    assert not mirrord.file("assets/wrong.bin").exists()
    assert_said(mirrord, "assets/wrong.bin", "mirrord.blob", "BLAKE2b-256")
    mirrord.app.execute("DELETE FROM attachment WHERE name = 'wrong.bin'")


def test_an_app_gives_an_attachment_other_bytes_if_they_are_there(mirrord: Mirrord) -> None:
    _put(mirrord, "assets/given.txt", b"one")
    attachment = eventually(lambda: _row(mirrord, "given.txt"), "a row of the file")[0]
    give = "UPDATE attachment SET digest = %s, size = 3 WHERE id = %s"
    bring = "INSERT INTO blob (digest, part, bytes) VALUES (%s, 0, %s)"
    mirrord.app.execute(bring, [digest_of(b"two"), b"two"])
    mirrord.app.execute(give, [digest_of(b"two"), attachment])
    eventually(lambda: contents(mirrord.file("assets/given.txt")) == b"two", "the other bytes in the file")

    mirrord.app.execute(give, [digest_of(b"six"), attachment])
    missing = "SELECT sentence FROM problem WHERE code = 'blob' AND path LIKE '%%given.txt'"
    eventually(lambda: mirrord.app.execute(missing, []).fetchone(), "the listed problem")
    assert contents(mirrord.file("assets/given.txt")) == b"two"
    mirrord.app.execute(bring, [digest_of(b"six"), b"six"])
    eventually(lambda: contents(mirrord.file("assets/given.txt")) == b"six", "the bytes that were missing")
    eventually(lambda: mirrord.app.execute(missing, []).fetchone() is None, "the end of the problem")


def test_a_renamed_file_keeps_its_id(mirrord: Mirrord) -> None:
    _put(mirrord, "assets/old.txt", b"the same bytes")
    before = eventually(lambda: _row(mirrord, "old.txt"), "a row of the file")
    mirrord.file("assets/old.txt").rename(mirrord.file("assets/new.txt"))
    after = eventually(lambda: _row(mirrord, "new.txt"), "the row of the renamed file")
    assert after[0] == before[0]


def test_a_page_and_its_image_move_with_their_folder(mirrord: Mirrord) -> None:
    save(mirrord.file("Here/Page.md"), "![](./assets/i.png)\n")
    _put(mirrord, "Here/assets/i.png", b"png")
    image = eventually(lambda: _row(mirrord, "i.png"), "a row of the image")
    look_everywhere(mirrord)
    mirrord.app.execute("UPDATE page SET name = 'There' WHERE name = 'Here'")
    eventually(lambda: mirrord.file("There/assets/i.png").exists(), "the image in the renamed folder")
    look_everywhere(mirrord)
    assert mirrord.text("There/Page.md") == "![](./assets/i.png)\n"
    again = _row(mirrord, "i.png")
    assert again is not None
    assert (again[0], again[4]) == (image[0], image[4])
