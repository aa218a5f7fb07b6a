"""Folders: renamed as one, deleted as one batch, never with what nobody meant (docs/design/sync.md, F1 to F6)."""

from pathlib import Path

import pytest

from mirrord.sync import deletions
from tests.support.entries import add_folder, add_page, change, delete, place, value
from tests.support.mirrors import Mirror
from tests.support.rows import Connection, page_of

MANY = 1_000


def seq(mirror: Mirror) -> int:
    """The tenant's clock."""
    last_seq: int = value(mirror.app, "SELECT coalesce(max(seq), 0) FROM mirrord.entry_feed")
    return last_seq


def fed_since(mirror: Mirror, before: int) -> int:
    """How many entries the feed names since then."""
    count: int = value(mirror.app, "SELECT count(*) FROM mirrord.entry_feed WHERE seq > %s", before)
    return count


async def test_f1_a_renamed_folder_is_one_update_of_its_row_however_many_pages_it_holds(mirror: Mirror) -> None:
    mirror.write({f"Old/Sub/{number}.md": f"page {number}\n" for number in range(MANY)})
    await mirror.settle()
    (folder,) = mirror.ids("Old")
    versions, before = mirror.versions(), seq(mirror)
    mirror.rename(("Old", "New"))
    await mirror.settle()
    assert mirror.ids("New") == [folder]
    assert {entry for entry, version in mirror.versions().items() if version != versions[entry]} == {folder}
    assert fed_since(mirror, before) == 1
    change(mirror.app, folder, name="Newer")
    await mirror.settle()
    assert len(mirror.files()) == MANY
    assert all(path.startswith("Newer/Sub/") for path in mirror.files())
    assert {entry for entry, version in mirror.versions().items() if version != versions[entry]} == {folder}
    assert mirror.problems() == {}


async def test_f1_a_folder_moved_into_another_keeps_everything_in_it(mirror: Mirror) -> None:
    mirror.write({"In/Deep/page.md": "p\n", "In/note.md": "n\n", "In/note/child.md": "c\n", "To/_index.md": "to\n"})
    await mirror.settle()
    ids = mirror.ids("In", "In/Deep", "In/Deep/page", "In/note", "In/note/child")
    mirror.rename(("In", "To/In"))
    await mirror.settle()
    assert mirror.ids("To/In", "To/In/Deep", "To/In/Deep/page", "To/In/note", "To/In/note/child") == ids
    change(mirror.app, ids[0], parent_id=None, name="Out")
    await mirror.settle()
    assert mirror.files().keys() == {"Out/Deep/page.md", "Out/note.md", "Out/note/child.md", "To/_index.md"}
    assert mirror.count_living() == 6


async def test_f2_a_folder_deleted_in_files_becomes_tombstones_in_one_transaction(mirror: Mirror) -> None:
    mirror.write({f"Gone/Sub/{number}.md": "text\n" for number in range(5)} | {"Kept.md": "kept\n"})
    await mirror.settle()
    before = seq(mirror)
    _remove(mirror.root / "Gone")
    await mirror.settle()
    assert mirror.rows().keys() == {"Kept"}
    stamps = value(mirror.app, "SELECT count(DISTINCT seq) FROM mirrord.entry_feed WHERE seq > %s", before)
    assert (stamps, fed_since(mirror, before)) == (1, 7)


async def test_f2_a_large_folder_deleted_in_files_waits_for_a_decision(mirror: Mirror) -> None:
    mirror.write(
        {f"Gone/{number}.md": "text\n" for number in range(30)} | {f"Kept {n}.md": "kept\n" for n in range(10)}
    )
    await mirror.settle()
    _remove(mirror.root / "Gone")
    await mirror.settle()
    assert value(mirror.app, "SELECT count(*) FROM mirrord.halt WHERE closed_at IS NULL") == 1
    assert len(mirror.rows()) == 41


async def test_f3_a_page_changed_in_postgres_outlives_its_folders_deletion_in_files(mirror: Mirror) -> None:
    mirror.write({"Gone/Sub/edited.md": "old\n", "Gone/Sub/same.md": "same\n", "Gone/_index.md": "index\n"})
    await mirror.settle()
    folder, sub, edited, same = mirror.ids("Gone", "Gone/Sub", "Gone/Sub/edited", "Gone/Sub/same")
    _remove(mirror.root / "Gone")
    change(mirror.app, edited, markdown="new\n")
    await mirror.settle()
    assert mirror.ids("Gone", "Gone/Sub", "Gone/Sub/edited") == [folder, sub, edited]
    assert "new\n" in mirror.files()["Gone/Sub/edited.md"]
    assert "Gone/Sub/same.md" not in mirror.files()
    lost = page_of(mirror.app, same)
    assert lost is not None
    assert lost.deleted


async def test_f4_a_folder_deleted_in_postgres_stays_with_what_is_not_synced_in_it(mirror: Mirror) -> None:
    mirror.write({"Stays.md": "a tree that loses all it has would halt\n"})
    mirror.write({"Gone/page.md": "page\n", "Gone/_index.md": "index\n", "Gone/Sub/deep.md": "deep\n"})
    mirror.write({"Gone/Sub/plan.ods": "not synced\n", ".mirrorignore": "*.draft.md\n", "Gone/a.draft.md": "ignored\n"})
    await mirror.settle()
    folder, sub = mirror.ids("Gone", "Gone/Sub")
    delete(mirror.app, folder)
    await mirror.settle()
    files = {path: text for path, text in mirror.files().items() if path != "Stays.md"}
    assert files == {"Gone/Sub/plan.ods": "not synced\n", "Gone/a.draft.md": "ignored\n"}
    assert mirror.ids("Gone", "Gone/Sub") == [folder, sub]
    assert mirror.count_living() == 3


async def test_f4_a_page_made_in_a_folder_while_postgres_deletes_it_keeps_the_folder(mirror: Mirror) -> None:
    mirror.write({"Gone/page.md": "page\n"})
    await mirror.settle()
    (folder,) = mirror.ids("Gone")
    delete(mirror.app, folder)
    mirror.write({"Gone/fresh.md": "fresh\n"})
    await mirror.settle()
    assert mirror.files() == {"Gone/fresh.md": "fresh\n"}
    assert mirror.rows() == {"Gone": None, "Gone/fresh": "fresh\n"}
    assert mirror.ids("Gone") == [folder]


async def test_f5_a_page_moved_out_by_its_row_outlives_its_folders_deletion_in_files(mirror: Mirror) -> None:
    mirror.write({"Gone/page.md": "page\n", "Gone/other.md": "other\n"})
    await mirror.settle()
    (page,) = mirror.ids("Gone/page")
    _remove(mirror.root / "Gone")
    change(mirror.app, page, parent_id=None)
    await mirror.settle()
    assert mirror.files() == {"page.md": "page\n"}
    assert mirror.rows() == {"page": "page\n"}
    assert mirror.ids("page") == [page]


async def test_f5_a_page_moved_out_in_files_outlives_its_folders_deletion_in_postgres(mirror: Mirror) -> None:
    mirror.write({"Gone/page.md": "page\n", "Gone/other.md": "other\n"})
    await mirror.settle()
    folder, page = mirror.ids("Gone", "Gone/page")
    mirror.rename(("Gone/page.md", "page.md"))
    delete(mirror.app, folder)
    await mirror.settle()
    assert mirror.files() == {"page.md": "page\n"}
    assert mirror.rows() == {"page": "page\n"}
    assert mirror.ids("page") == [page]


async def test_f6_parents_are_made_first_and_directories_are_removed_only_when_empty(mirror: Mirror) -> None:
    outer = add_folder(mirror.app, name="Outer")
    inner = add_folder(mirror.app, name="Inner", parent_id=outer)
    page = add_page(mirror.app, name="Page", parent_id=inner, markdown="page\n")
    await mirror.settle()
    assert mirror.files().keys() == {"Outer/Inner/Page.md"}
    delete(mirror.app, outer)
    await mirror.settle()
    assert not (mirror.root / "Outer").exists()
    assert mirror.rows() == {}
    change(mirror.app, page, deleted_at=None)
    await mirror.settle()
    assert mirror.files().keys() == {"Outer/Inner/Page.md"}
    assert mirror.ids("Outer", "Outer/Inner", "Outer/Inner/Page") == [outer, inner, page]


def _remove(directory: Path) -> None:
    for path in sorted(directory.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    directory.rmdir()


async def test_a_new_page_with_the_name_a_folder_gets_in_its_row_takes_nothing_of_the_folder(mirror: Mirror) -> None:
    mirror.write({"Box/page.md": "page\n"})
    await mirror.settle()
    box, page = mirror.ids("Box", "Box/page")
    change(mirror.app, box, name="New")
    mirror.write({"New.md": "new\n"})
    await mirror.settle()
    assert mirror.files() == {"New/page.md": "page\n", "New (2).md": "new\n"}
    assert mirror.ids("New", "New/page") == [box, page]
    assert mirror.rows() == {"New": None, "New/page": "page\n", "New (2)": "new\n"}


async def test_f4_a_folder_that_stays_gives_its_name_up_to_a_new_one(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, daemon_connection: Connection
) -> None:
    mirror.write({"Box/a.md": "a\n", "Box/keep.bin": "not synced\n", "Kept.md": "kept\n"})
    await mirror.settle()
    (box,) = mirror.ids("Box")
    monkeypatch.setattr(deletions, "QUIET_SECONDS", 3600.0)
    delete(mirror.app, box)
    mirror.engine.notify()
    await mirror.work()
    new = add_folder(mirror.app, name="Box")
    place(daemon_connection, new, "Box")  # by another mirror, and not heard of here
    monkeypatch.setattr(deletions, "QUIET_SECONDS", 0.0)
    await mirror.work()
    await mirror.settle()
    assert mirror.ids("Box", "Box (2)") == [new, box]
    assert mirror.files() == {"Box (2)/keep.bin": "not synced\n", "Kept.md": "kept\n"}
    assert (mirror.root / "Box").is_dir()
