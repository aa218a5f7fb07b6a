"""Folders that were copied and then removed: their pages, however many, take the places of the copies."""

import shutil

import pytest

from mirrord.sync.observation import copied_files
from tests.support.mirrors import Mirror


async def test_more_pages_than_one_transaction_takes_stay_the_pages_they_were(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copied_files, "MAX_PLACES_PER_TRANSACTION", 2)
    below = ["A.md", "A/B.md", "A/B/C.md", "D.md", "E.md", "F/G.md"]
    mirror.write({f"old/{path}": f"What {path} says.\n" for path in below})
    await mirror.settle()
    before = mirror.ids(*(f"old/{path}" for path in below))
    shutil.copytree(mirror.root / "old", mirror.root / "new", copy_function=shutil.copy)
    await mirror.settle()
    shutil.rmtree(mirror.root / "old")
    await mirror.settle()
    assert mirror.ids(*(f"new/{path}" for path in below)) == before
    assert mirror.problems() == {}


async def test_pages_take_the_places_of_their_copies_beside_one_whose_copy_was_edited(mirror: Mirror) -> None:
    """Of a page that was edited in the new folder only, both cannot be below the page that came along."""
    below = ["A.md", "A/B.md", "A/C.md", "D.md", "E.md", "E/F.md"]
    mirror.write({f"old/{path}": f"What {path} says.\n" for path in below})
    await mirror.settle()
    before = dict(zip(below, mirror.ids(*(f"old/{path}" for path in below)), strict=True))
    shutil.copytree(mirror.root / "old", mirror.root / "new", copy_function=shutil.copy)
    await mirror.settle()
    mirror.write({"new/A/B.md": "Another text.\n"})
    await mirror.settle()
    shutil.rmtree(mirror.root / "old")
    await mirror.settle()
    assert mirror.files().keys() == {f"new/{path}" for path in below}
    assert mirror.page("new/A/B").markdown == "Another text.\n"
    known_paths = ["A/C.md", "D.md", "E.md", "E/F.md"]
    assert mirror.ids(*(f"new/{path}" for path in known_paths)) == [before[path] for path in known_paths]
    assert mirror.problems() == {}
