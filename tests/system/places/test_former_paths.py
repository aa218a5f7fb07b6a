"""An editor has a page open that an app or another host moves, and saves it where it was."""

from uuid import UUID

import pytest

from mirrord.sync.observation import former_paths
from tests.support.entries import add_folder, change, history
from tests.support.mirrors import Mirror

TEXT = "# Plan\n\nThe first step is to look.\n\nWhat comes then has a page of its own.\n\nThe last one is to leave.\n"
EDITED = TEXT.replace("to look", "to look around")
EDITED_AGAIN = EDITED.replace("to look around", "to look around for an hour")


async def move_by_app(mirror: Mirror) -> UUID:
    """The page, after an app moved it from "Plan.md" to "Archive/Plan.md"."""
    mirror.write({"Plan.md": TEXT, "Keep.md": "Something else.\n"})
    await mirror.settle()
    (page,) = mirror.ids("Plan")
    change(mirror.app, page, parent_id=add_folder(mirror.app, name="Archive"))
    await mirror.settle()
    assert mirror.files().keys() == {"Archive/Plan.md", "Keep.md"}
    return page


async def test_its_save_is_an_edit_of_the_page(mirror: Mirror) -> None:
    page = await move_by_app(mirror)
    mirror.write({"Plan.md": EDITED})
    await mirror.settle()
    assert mirror.files() == {"Archive/Plan.md": EDITED, "Keep.md": "Something else.\n"}
    assert mirror.page("Archive/Plan").id == page
    assert mirror.count_living() == 3
    assert mirror.problems() == {}
    assert EDITED in {version["markdown"] for version in history(mirror.app, page)}


async def test_its_next_saves_are_edits_too(mirror: Mirror) -> None:
    await move_by_app(mirror)
    for text in (EDITED, EDITED, EDITED_AGAIN):
        mirror.write({"Plan.md": text})
        await mirror.settle()
        assert mirror.files() == {"Archive/Plan.md": text, "Keep.md": "Something else.\n"}
    assert mirror.count_living() == 3


async def test_its_save_takes_back_nothing_that_it_has_not_seen(mirror: Mirror) -> None:
    page = await move_by_app(mirror)
    change(mirror.app, page, markdown=TEXT.replace("to leave", "to leave in time"))
    await mirror.settle()
    mirror.write({"Plan.md": EDITED})
    await mirror.settle()
    both = EDITED.replace("to leave", "to leave in time")
    assert mirror.files() == {"Archive/Plan.md": both, "Keep.md": "Something else.\n"}


async def test_its_save_reaches_a_page_in_a_renamed_folder(mirror: Mirror) -> None:
    mirror.write({"Old/Plan.md": TEXT, "Old/Other.md": "Another page.\n"})
    await mirror.settle()
    folder, page = mirror.ids("Old", "Old/Plan")
    change(mirror.app, folder, name="New")
    await mirror.settle()
    mirror.write({"Old/Plan.md": EDITED})
    await mirror.settle()
    assert mirror.files() == {"New/Plan.md": EDITED, "New/Other.md": "Another page.\n"}
    assert mirror.ids("New", "New/Plan") == [folder, page]


@pytest.mark.parametrize(
    "text",
    [TEXT, "# Plan\n\nAnother plan, which has nothing of the first.\n", f"---\nid: {UUID(int=7)}\n---\n{EDITED}"],
    ids=["the_text_as_it_was", "another_text", "another_id"],
)
async def test_a_copy_or_another_page_at_the_former_path_is_a_page(mirror: Mirror, text: str) -> None:
    page = await move_by_app(mirror)
    mirror.write({"Plan.md": text})
    await mirror.settle()
    assert mirror.files() == {"Archive/Plan.md": TEXT, "Plan.md": text, "Keep.md": "Something else.\n"}
    assert mirror.page("Archive/Plan").id == page
    assert mirror.page("Plan").id != page


async def test_a_file_that_is_renamed_to_the_former_path_stays_its_page(mirror: Mirror) -> None:
    mirror.write({"Copy.md": EDITED})
    page = await move_by_app_beside(mirror)
    (copy,) = mirror.ids("Copy")
    mirror.rename(("Copy.md", "Plan.md"))
    await mirror.settle()
    assert mirror.ids("Archive/Plan", "Plan") == [page, copy]


async def move_by_app_beside(mirror: Mirror) -> UUID:
    """Like move_by_app(), where the tree has a file "Copy.md"."""
    mirror.write({"Plan.md": TEXT})
    await mirror.settle()
    (page,) = mirror.ids("Plan")
    change(mirror.app, page, parent_id=add_folder(mirror.app, name="Archive"))
    await mirror.settle()
    return page


async def test_a_later_save_is_a_page(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    page = await move_by_app(mirror)
    monkeypatch.setattr(former_paths, "MOVED_SECONDS", -1.0)
    mirror.write({"Plan.md": EDITED})
    await mirror.settle()
    assert mirror.files() == {"Archive/Plan.md": TEXT, "Plan.md": EDITED, "Keep.md": "Something else.\n"}
    assert mirror.page("Archive/Plan").id == page


async def test_what_a_person_moves_and_writes_again_is_two_pages(mirror: Mirror) -> None:
    mirror.write({"Plan.md": TEXT})
    await mirror.settle()
    (page,) = mirror.ids("Plan")
    mirror.rename(("Plan.md", "Plan of May.md"))
    await mirror.settle()
    mirror.write({"Plan.md": EDITED})
    await mirror.settle()
    assert mirror.files() == {"Plan of May.md": TEXT, "Plan.md": EDITED}
    assert mirror.page("Plan of May").id == page
