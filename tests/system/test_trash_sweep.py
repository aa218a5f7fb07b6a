"""What was replaced is in the trash until it is a version, and nobody has it open."""

import stat
from datetime import timedelta
from uuid import uuid4

import pytest

from mirrord.domain.entry import EntryId, digest_of
from mirrord.mirror.process_setup import prepare_process
from mirrord.mirror.write import replace, trash, written_copies
from mirrord.mirror.write.journal_labels import Label, new_name
from mirrord.mirror.write.replace import DisplacedSave
from mirrord.sync.writing import leftover_saves
from mirrord.sync.writing.leftover_saves import take_in_copies
from tests.support.entries import change
from tests.support.mirrors import Mirror


@pytest.fixture(scope="module", autouse=True)
def _prepared() -> None:
    prepare_process()  # else nobody can tell who has a file open, and nothing is let go


async def test_a_text_that_is_a_version_leaves_the_trash_and_one_that_is_none_stays(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.write({"Page.md": "one\n"})
    await mirror.settle()
    (page,), sides = mirror.ids("Page"), mirror.engine.sides
    change(mirror.app, page, markdown="two\n")
    await mirror.settle()
    mirror.write({"Page.md": "seen by nobody\n"})
    digest = digest_of(b"seen by nobody\n")
    replace.write(sides.tree, sides.journal, "Page.md", b"three\n", replace.ExpectedFile(EntryId(page), digest))
    assert {item.label.expected for item in trash.list_trash(sides.tree)} == {digest_of(b"one\n"), digest}

    await mirror.engine.recovery.sweep_trash()
    assert len(trash.list_trash(sides.tree)) == 2
    monkeypatch.setattr(trash, "VERSION_RETENTION", timedelta(0))
    await mirror.engine.recovery.sweep_trash()
    assert {item.label.expected for item in trash.list_trash(sides.tree)} == {digest}


async def test_a_displaced_save_is_in_the_trash_under_its_own_digest_so_that_no_copy_is_dropped_for_it(
    mirror: Mirror,
) -> None:
    """Under the digest that the write expected, the save would pass for the text that a tool wrote before."""
    mirror.write({"Page.md": "one\n"})
    await mirror.settle()
    (page,), sides = mirror.ids("Page"), mirror.engine.sides
    expected, save = digest_of(b"what a tool wrote\n"), b"what an editor saved\n"
    name = new_name("w", Label(EntryId(page), expected, digest_of(b"one\n")))
    sides.journal.create(name, save)
    mirror.engine.recovery.add_save(EntryId(page), "Page.md", expected, DisplacedSave(name, save))

    await mirror.engine.recovery.absorb_pending()

    assert {item.label.expected for item in trash.list_trash(sides.tree)} == {digest_of(save)}
    assert not written_copies.was_replaced(sides.tree, Label(EntryId(page), None, expected))


@pytest.mark.parametrize("entry_of_copy", ["a folder", "no row"])
async def test_a_copy_of_a_text_whose_entry_has_no_text_waits_and_goes_to_the_trash(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, entry_of_copy: str
) -> None:
    mirror.write({"Page.md": "one\n", "Sky/Moon.md": "two\n"})
    await mirror.settle()
    (folder,), sides = mirror.ids("Sky"), mirror.engine.sides
    entry = folder if entry_of_copy == "a folder" else uuid4()
    text = b"what a command wrote\n"
    name = new_name("a", Label(EntryId(entry), digest_of(b"before\n"), digest_of(text)))
    sides.journal.create(name, text)

    await take_in_copies(sides, written_copies.list_copies(sides.journal))
    assert list(written_copies.list_copies(sides.journal)) == [name]
    monkeypatch.setattr(leftover_saves, "ROWLESS_SECONDS", 0.0)
    await take_in_copies(sides, written_copies.list_copies(sides.journal))

    assert not written_copies.list_copies(sides.journal)
    assert {item.label.expected for item in trash.list_trash(sides.tree)} == {digest_of(text)}


async def test_a_page_that_comes_back_from_the_trash_keeps_its_readers(mirror: Mirror) -> None:
    mirror.write({"Sky/Moon.md": "one\n"})
    entries = {mirror.root: 0o755, mirror.root / "Sky": 0o755, mirror.root / "Sky/Moon.md": 0o644}
    for entry, mode in entries.items():
        entry.chmod(mode)
    await mirror.settle()
    mirror.app.execute("UPDATE mirrord.page SET deleted_at = now()")
    await mirror.settle()
    assert not (mirror.root / "Sky").exists()

    mirror.app.execute("UPDATE mirrord.page SET deleted_at = NULL")
    await mirror.settle()
    assert {entry: stat.S_IMODE(entry.stat().st_mode) for entry in entries} == entries
