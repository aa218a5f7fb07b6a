"""A file is renamed and saved anew before anybody looks: neither path nor inode nor bytes say which page it is."""

from uuid import UUID

import pytest

from mirrord.domain.entry import EntryId
from mirrord.sync.decisions.tree_history import Rewind
from tests.support.editors import save
from tests.support.entries import change, delete
from tests.support.mirrors import Mirror

TEXT = "# The plan\n\nWe sow in spring.\n\nWe harvest in autumn.\n"
MORE = "\nAnd rest in winter.\n"
_IDS_OF_PLAN = b"SELECT id FROM mirrord.page WHERE name = 'Plan'"


@pytest.mark.parametrize("new", ["New.md", "Box/Plan.md"], ids=["renamed", "moved"])
async def test_a_file_renamed_and_saved_anew_is_the_page_it_was(mirror: Mirror, new: str) -> None:
    mirror.write({"Plan.md": TEXT})
    await mirror.settle()
    page = mirror.page("Plan")
    mirror.rename(("Plan.md", new))
    save(mirror.root / new, TEXT + MORE)
    await mirror.settle()
    assert mirror.page(new.removesuffix(".md")).id == page.id
    assert mirror.files() == {new: TEXT + MORE}


async def test_what_an_app_wrote_meanwhile_is_merged_into_it(mirror: Mirror) -> None:
    mirror.write({"Plan.md": TEXT})
    await mirror.settle()
    page = mirror.page("Plan")
    mirror.rename(("Plan.md", "New.md"))
    save(mirror.root / "New.md", TEXT + MORE)
    change(mirror.app, page.id, markdown=f"Preface.\n\n{TEXT}")
    await mirror.settle()
    assert mirror.files() == {"New.md": f"Preface.\n\n{TEXT}{MORE}"}
    assert mirror.page("New").id == page.id


@pytest.mark.parametrize("new", ["Box/Sub/_index.md", "Box/Sub.md", "Other.md"])
@pytest.mark.parametrize("edited", [True, False], ids=["edited", "moved"])
async def test_a_row_that_is_heard_of_before_its_file_left_the_directory_stays_that_page(
    mirror: Mirror, new: str, edited: bool
) -> None:
    mirror.write({"Box/_index.md": TEXT, "Box/Sub/Leaf.md": "leaf\n"})
    await mirror.settle()
    page, leaf = mirror.ids("Box", "Box/Sub/Leaf")
    mirror.rename(("Box/_index.md", new))
    if edited:
        change(mirror.app, page, markdown=TEXT + MORE)
    mirror.engine.queue.mark(entries=[EntryId(page)])
    while not mirror.engine.is_idle:
        await mirror.work()
    await mirror.settle()
    text = TEXT + MORE if edited else TEXT
    assert mirror.files() == {new: text, "Box/Sub/Leaf.md": "leaf\n"}
    assert mirror.page(new.removesuffix("/_index.md").removesuffix(".md")).id == page
    assert mirror.ids("Box/Sub/Leaf") == [leaf]
    assert sorted(filter(None, mirror.rows().values())) == sorted([text, "leaf\n"])


@pytest.mark.parametrize("edited", [True, False])
async def test_a_page_that_lost_its_file_when_its_folder_was_renamed_leaves_its_children_where_they_are(
    mirror: Mirror, edited: bool
) -> None:
    mirror.write({"Old/Box.md": TEXT, "Old/Box/Leaf.md": "leaf\n"})
    await mirror.settle()
    page, leaf = mirror.ids("Old/Box", "Old/Box/Leaf")
    mirror.rename(("Old", "New"))
    mirror.write({"New/Box/More.md": "more\n"})
    (mirror.root / "New/Box.md").unlink()
    if edited:
        change(mirror.app, page, markdown=TEXT + MORE)
    await mirror.settle()
    assert mirror.ids("New/Box/Leaf") == [leaf]
    pages = {f"{path}.md": text for path, text in mirror.rows().items() if text is not None}
    assert mirror.files() == pages
    assert [text for text in pages.values() if TEXT in text] == ([TEXT + MORE] if edited else [])


@pytest.mark.parametrize("restored", [True, False])
async def test_a_deletion_that_is_heard_of_before_the_rename_of_the_file_ends_no_page(
    mirror: Mirror, restored: bool
) -> None:
    mirror.write({"Plan.md": TEXT, "Box/Other.md": "other\n"})
    await mirror.settle()
    (page,) = mirror.ids("Plan")
    mirror.rename(("Plan.md", "Box/Plan.md"))
    save(mirror.root / "Box/Plan.md", TEXT + MORE)
    delete(mirror.app, page)
    mirror.engine.queue.mark(entries=[EntryId(page)])
    while len(mirror.engine.queue):
        await mirror.work()
    if restored:
        change(mirror.app, page, deleted_at=None)
    await mirror.settle()
    assert mirror.files() == {"Box/Plan.md": TEXT + MORE, "Box/Other.md": "other\n"}
    assert mirror.ids("Box/Plan") == [page]
    assert mirror.rows() == {"Box": None, "Box/Other": "other\n", "Box/Plan": TEXT + MORE}


@pytest.mark.parametrize("edited", [True, False], ids=["edited", "moved"])
@pytest.mark.parametrize("row", ["deleted", "written", "unchanged"])
async def test_a_folder_renamed_during_a_comparison_keeps_its_pages(mirror: Mirror, row: str, edited: bool) -> None:
    mirror.write({"Shelf/Plan.md": TEXT, "Keep.md": "keep\n"})
    await mirror.settle()
    shelf, page = mirror.ids("Shelf", "Shelf/Plan")
    if row == "deleted":
        delete(mirror.app, page)
    elif row == "written":
        change(mirror.app, page, markdown=f"Preface.\n\n{TEXT}")
    mirror.engine.adoption.begin(Rewind.UNKNOWN)
    await mirror.engine.compare_all()
    mirror.engine.queue.mark(["Shelf", "Shelf/Plan.md"], map(EntryId, (shelf, page)), forced=True)  # as without a cache
    mirror.rename(("Shelf", "Folder"))
    if edited:
        save(mirror.root / "Folder/Plan.md", TEXT + MORE)
    while len(mirror.engine.queue):
        await mirror.work()
    await mirror.settle()
    known_ids = {UUID(str(page_id)) for (page_id,) in mirror.app.execute(_IDS_OF_PLAN).fetchall()}
    assert known_ids == {page}
    text = (f"Preface.\n\n{TEXT}" if row == "written" else TEXT) + (MORE if edited else "")
    is_living = edited or row != "deleted"
    assert mirror.files() == {"Keep.md": "keep\n"} | ({"Folder/Plan.md": text} if is_living else {})


async def test_a_row_that_is_heard_of_before_the_rename_of_its_file_makes_no_second_file(mirror: Mirror) -> None:
    mirror.write({"Plan.md": TEXT})
    await mirror.settle()
    page = mirror.page("Plan")
    mirror.rename(("Plan.md", "New.md"))
    change(mirror.app, page.id, markdown=TEXT + MORE)
    mirror.engine.notify()
    await mirror.work()
    assert mirror.files() == {"New.md": TEXT}
    await mirror.settle()
    assert mirror.files() == {"New.md": TEXT + MORE}
    assert mirror.page("New").id == page.id


async def test_a_file_that_is_gone_indeed_comes_back_with_what_an_app_wrote(mirror: Mirror) -> None:
    mirror.write({"Plan.md": TEXT, "Other.md": "Other\n"})
    await mirror.settle()
    (mirror.root / "Plan.md").unlink()
    change(mirror.app, mirror.page("Plan").id, markdown=TEXT + MORE)
    await mirror.settle()
    assert mirror.files() == {"Plan.md": TEXT + MORE, "Other.md": "Other\n"}


@pytest.mark.parametrize("app_writes", [False, True], ids=["alone", "while an app writes"])
async def test_a_new_page_under_the_name_of_one_that_was_renamed_is_another_page(
    mirror: Mirror, app_writes: bool
) -> None:
    mirror.write({"Plan.md": TEXT})
    await mirror.settle()
    page = mirror.page("Plan")
    mirror.rename(("Plan.md", "Old plan.md"))
    mirror.write({"Plan.md": "# Another plan\n\nWe stay at home.\n"})
    if app_writes:
        change(mirror.app, page.id, markdown=TEXT + MORE)
    await mirror.settle()
    assert mirror.page("Old plan").id == page.id
    expected = TEXT + MORE if app_writes else TEXT
    assert mirror.files() == {"Old plan.md": expected, "Plan.md": "# Another plan\n\nWe stay at home.\n"}


async def test_a_save_that_leaves_the_old_text_beside_it_is_a_save(mirror: Mirror) -> None:
    mirror.write({"Plan.md": TEXT})
    await mirror.settle()
    page = mirror.page("Plan")
    mirror.rename(("Plan.md", "Plan backup.md"))
    mirror.write({"Plan.md": TEXT + MORE})
    await mirror.settle()
    assert mirror.page("Plan").id == page.id
    assert mirror.files() == {"Plan backup.md": TEXT, "Plan.md": TEXT + MORE}


async def test_a_file_with_a_key_of_its_own_is_another_page(mirror: Mirror) -> None:
    mirror.write({"Plan.md": TEXT})
    await mirror.settle()
    page = mirror.page("Plan")
    save(mirror.root / "New.md", f"---\nid: mine\n---\n{TEXT}{MORE}")
    (mirror.root / "Plan.md").unlink()  # afterwards: a new file could get its inode
    await mirror.settle()
    assert mirror.page("New").id != page.id


async def test_a_file_that_mirrord_wrote_and_somebody_renamed_and_rewrote_stays_that_page(mirror: Mirror) -> None:
    mirror.write({"Plan.md": TEXT})
    await mirror.settle()
    page = mirror.page("Plan")
    change(mirror.app, page.id, markdown="Written by an app.\n")
    await mirror.settle()
    mirror.rename(("Plan.md", "Other.md"))
    mirror.write({"Other.md": "Nothing of it is left.\n"})
    await mirror.settle()
    assert mirror.page("Other").id == page.id


@pytest.mark.parametrize("names", [["Plan.md"], ["Plan.md", "List.md", "Sub/_index.md"]], ids=["one", "several"])
async def test_files_that_come_after_their_folder_was_renamed_are_the_pages_they_were(
    mirror: Mirror, names: list[str]
) -> None:
    mirror.write({f"Box/{name}": f"# {name}\n\nbefore\n" for name in names})
    await mirror.settle()
    paths = [name.removesuffix(".md").removesuffix("/_index") for name in names]
    ids = mirror.ids("Box", *(f"Box/{path}" for path in paths))
    for name in names:
        (mirror.root / "Box" / name).unlink()
    mirror.rename(("Box", "Chest"))
    mirror.engine.queue.mark(paths=["Box", "Chest"])
    for _ in range(100):
        if "Chest" in mirror.rows():
            break
        await mirror.work()
    assert "Chest" in mirror.rows()
    expected = {f"Chest/{name}": f"entirely other words for {number}\n" for number, name in enumerate(names)}
    for path, text in expected.items():
        save(mirror.root / path, text)
    await mirror.settle()
    assert mirror.files() == expected
    assert mirror.ids("Chest", *(f"Chest/{path}" for path in paths)) == ids
    assert mirror.count_living() == len(ids)


@pytest.mark.parametrize("side", ["file", "row"])
async def test_what_was_renamed_while_both_sides_got_the_same_text_is_deleted_later(mirror: Mirror, side: str) -> None:
    mirror.write({"Plan.md": TEXT})
    await mirror.settle()
    page = mirror.page("Plan")
    save(mirror.root / "Plan.md", TEXT + MORE)
    change(mirror.app, page.id, markdown=TEXT + MORE)
    if side == "file":
        mirror.rename(("Plan.md", "New.md"))
    else:
        change(mirror.app, page.id, name="New")
    await mirror.settle()
    assert mirror.page("New").id == page.id
    assert mirror.files() == {"New.md": TEXT + MORE}
    (mirror.root / "New.md").unlink()
    await mirror.settle()
    assert mirror.files() == {}
    assert mirror.rows() == {}
