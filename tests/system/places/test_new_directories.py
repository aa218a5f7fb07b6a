"""What lies below a new folder or page is written there once that has its directory: until then it is another's."""

from uuid import UUID

from tests.support.entries import add_folder, add_page, change
from tests.support.mirrors import Mirror

ROUNDS = 5  # of work, after which all that can be done at once is done


async def work_until_in_the_way(mirror: Mirror) -> None:
    mirror.engine.notify()
    while "in-the-way" not in {code for _, code in mirror.problems()}:
        await mirror.work()
    for _ in range(ROUNDS):
        await mirror.work()


def pages_of(mirror: Mirror) -> set[str]:
    return {path for path in mirror.files() if path.endswith(".md")}


async def test_pages_of_a_new_folder_do_not_go_to_the_folder_that_is_to_leave_its_directory(mirror: Mirror) -> None:
    mirror.write({"Twin/First.md": "the first\n", "Box/Moved.md": "moved\n", "Other": "in the way, and no page\n"})
    await mirror.settle()
    twin, first, moved = mirror.ids("Twin", "Twin/First", "Box/Moved")
    with mirror.app.transaction():
        change(mirror.app, twin, name="Other")
        folder = add_folder(mirror.app, name="Twin")
        inner = add_folder(mirror.app, name="Inner", parent_id=folder)
        pages = [add_page(mirror.app, name="Page", parent_id=each, markdown="new\n") for each in (folder, inner)]
        change(mirror.app, moved, parent_id=inner)
    await work_until_in_the_way(mirror)
    assert pages_of(mirror) == {"Twin/First.md", "Box/Moved.md"}
    change(mirror.app, folder, name="Named")
    change(mirror.app, twin, name="Twin")
    await mirror.settle()
    assert pages_of(mirror) == {"Twin/First.md", "Named/Page.md", "Named/Inner/Page.md", "Named/Inner/Moved.md"}
    assert mirror.ids("Twin", "Twin/First", "Named", "Named/Inner") == [twin, first, folder, inner]
    assert mirror.ids("Named/Page", "Named/Inner/Page", "Named/Inner/Moved") == [*pages, moved]


async def test_what_lies_below_a_new_page_waits_until_that_is_written(mirror: Mirror) -> None:
    (mirror.root / "New.md").symlink_to("nowhere")
    await mirror.settle()
    entries = add_with_content(mirror, "New")
    await work_until_in_the_way(mirror)
    assert mirror.files() == {}
    change(mirror.app, entries[0], name="Named")
    await mirror.settle()
    assert mirror.files().keys() == {"Named.md", "Named/Child.md", "Named/Shelf/Page.md"}
    assert mirror.ids("Named", "Named/Child", "Named/Shelf", "Named/Shelf/Page") == entries
    assert mirror.count_living() == len(entries)


def add_with_content(mirror: Mirror, name: str) -> list[UUID]:
    """A page with a child, and a folder with a page."""
    with mirror.app.transaction():
        page = add_page(mirror.app, name=name, markdown="the page\n")
        child = add_page(mirror.app, name="Child", parent_id=page, markdown="its child\n")
        shelf = add_folder(mirror.app, name="Shelf", parent_id=page)
        inner = add_page(mirror.app, name="Page", parent_id=shelf, markdown="on the shelf\n")
    return [page, child, shelf, inner]


async def test_a_page_may_be_moved_below_a_new_page_that_cannot_be_written_yet(mirror: Mirror) -> None:
    mirror.write({"Box/Moved.md": "moved\n"})
    (mirror.root / "New.md").symlink_to("nowhere")
    await mirror.settle()
    box, moved = mirror.ids("Box", "Box/Moved")
    with mirror.app.transaction():
        page = add_page(mirror.app, name="New", markdown="the page\n")
        change(mirror.app, moved, parent_id=page)
    await work_until_in_the_way(mirror)
    (mirror.root / "New.md").unlink()
    await mirror.settle()
    assert mirror.files().keys() == {"New.md", "New/Moved.md"}
    assert mirror.ids("Box", "New", "New/Moved") == [box, page, moved]
    assert mirror.count_living() == 3


async def test_a_page_whose_name_its_new_parent_takes_goes_below_that(mirror: Mirror) -> None:
    mirror.write({"Plan.md": "the plan\n", "Plan/Step.md": "a step\n"})
    await mirror.settle()
    plan, step = mirror.ids("Plan", "Plan/Step")
    with mirror.app.transaction():
        change(mirror.app, plan, name="Details")
        page = add_page(mirror.app, name="Plan", markdown="the new plan\n")
        change(mirror.app, plan, parent_id=page)
    await mirror.settle()
    assert mirror.files().keys() == {"Plan.md", "Plan/Details.md", "Plan/Details/Step.md"}
    assert mirror.ids("Plan", "Plan/Details", "Plan/Details/Step") == [page, plan, step]
