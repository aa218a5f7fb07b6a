"""What rows deleted goes to the trash, wherever directories above it went before that was carried out."""

import asyncio
from collections.abc import Callable

import pytest

from mirrord.sync import deletions
from tests.support.entries import change, delete
from tests.support.mirrors import Mirror

DELETED = 4  # entries: a folder, a page, a page below it, an attachment


async def with_deleted_rows(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in `Box/Sub` is deleted in rows, and that is not carried over yet."""
    mirror.write({"Box/Stays.md": "stays\n", "Box/Sub/Gone.md": "gone\n", "Box/Sub/Gone/Leaf.md": "leaf\n"})
    mirror.write({"Box/Sub/assets/picture.png": "picture", "Other.md": "other\n"})
    await mirror.settle()
    monkeypatch.setattr(deletions, "QUIET_SECONDS", 3600.0)
    delete(mirror.app, mirror.page("Box/Sub").id)
    await until(mirror, lambda: len(mirror.engine.halts.gathered_deletions.entries) == DELETED)


async def until(mirror: Mirror, holds: Callable[[], bool]) -> None:
    """Work until *holds*, and all is done but deletions."""
    mirror.engine.request_scan()
    mirror.engine.notify()
    async with asyncio.timeout(60):
        while not holds() or mirror.engine.pending_count > len(mirror.engine.halts.gathered_deletions.entries):
            await mirror.work()


async def rename_file(mirror: Mirror, old: str, new: str) -> None:
    mirror.rename((old, new))
    await until(mirror, lambda: f"{new}/Stays" in mirror.rows())


async def rename_row(mirror: Mirror, old: str, new: str) -> None:
    change(mirror.app, mirror.page(old).id, name=new)
    await until(mirror, lambda: f"{new}/Stays.md" in mirror.files())


async def assert_carried_over(mirror: Mirror, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(deletions, "QUIET_SECONDS", 0.05)
    await mirror.settle()
    assert mirror.files().keys() == {f"{name}/Stays.md", "Other.md"}
    assert mirror.rows().keys() == {name, f"{name}/Stays", "Other"}
    assert mirror.problems() == {}


async def test_when_a_person_renamed_one(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    await with_deleted_rows(mirror, monkeypatch)
    await rename_file(mirror, "Box", "Crate")
    await assert_carried_over(mirror, monkeypatch, "Crate")


async def test_when_a_row_renamed_one(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    await with_deleted_rows(mirror, monkeypatch)
    await rename_row(mirror, "Box", "Crate")
    await assert_carried_over(mirror, monkeypatch, "Crate")


async def test_when_a_person_and_then_a_row_renamed_one(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    await with_deleted_rows(mirror, monkeypatch)
    await rename_file(mirror, "Box", "Crate")
    await rename_row(mirror, "Crate", "Chest")
    await assert_carried_over(mirror, monkeypatch, "Chest")


async def test_when_a_person_renamed_one_and_somebody_decided_about_a_halt(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    await with_deleted_rows(mirror, monkeypatch)
    entries = list(mirror.engine.halts.gathered_deletions.take_entries())
    await rename_file(mirror, "Box", "Crate")
    mirror.engine.halts.gathered_deletions.take_entries()
    await mirror.engine._delete(dict.fromkeys(entries), frozenset(entries))  # as after `mirrord resume --apply`
    await assert_carried_over(mirror, monkeypatch, "Crate")


async def test_a_row_without_its_file_waits_for_the_deletion_of_the_copy_at_its_new_place(mirror: Mirror) -> None:
    head = "---\nid: 0191e0a0-7b7b-7000-8000-000000000001\n---\n"
    mirror.write({"Box/Page.md": f"{head}first\n", "Crate/Other.md": "other\n"})
    await mirror.settle()
    mirror.write({"Crate/Page.md": f"{head}first\n"})
    await mirror.settle()
    page, copy, folder = (mirror.page(path).id for path in ("Box/Page", "Crate/Page", "Crate"))
    assert page != copy
    (mirror.root / "Box/Page.md").unlink()
    with mirror.app.transaction():
        delete(mirror.app, copy)
        change(mirror.app, page, parent_id=folder, markdown=f"{head}first\n\nand an app's words\n")
    await mirror.settle()
    assert mirror.problems() == {}
    assert mirror.files() == {"Crate/Page.md": f"{head}first\n\nand an app's words\n", "Crate/Other.md": "other\n"}
    assert mirror.page("Crate/Page").id == page
