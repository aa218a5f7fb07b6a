"""Problems of rows are taken off the list when an app takes back what was in the way."""

from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from mirrord.domain.entry import EntryId
from mirrord.sync.decisions.move_history import MAX_OWN_MOVES
from tests.support.entries import change, delete
from tests.support.mirrors import Mirror

ROUNDS = 20  # of work; what waits for its next attempt is not waited for
UNFAITHFUL = Jsonb({"type": "doc", "content": [{"type": "paragraph", "unknown": 1}]})


def refused_page(mirror: Mirror, **columns: object) -> UUID:
    """A new page whose document Markdown cannot hold."""
    row = mirror.app.execute(
        "INSERT INTO mirrord.page (title, content) VALUES ('Refused', %s) RETURNING id", [UNFAITHFUL]
    ).fetchone()
    assert row is not None
    page: UUID = row[0]
    return page


def codes(mirror: Mirror) -> set[str]:
    return {code for _, code in mirror.problems()}


@pytest.mark.parametrize("end", ["deleted", "mended", "deleted-while-down"])
async def test_a_refused_row_without_a_file_is_no_problem_once_it_is_gone_or_mended(mirror: Mirror, end: str) -> None:
    page = refused_page(mirror)
    await mirror.settle()
    assert codes(mirror) == {"render"}
    if end == "mended":
        change(mirror.app, page, markdown="plain\n")
    else:
        delete(mirror.app, page)
    if end == "deleted-while-down":
        await mirror.engine.start()
    await mirror.settle()
    assert mirror.problems() == {}


async def test_a_refused_row_that_is_renamed_is_listed_once(mirror: Mirror) -> None:
    page = refused_page(mirror)
    await mirror.settle()
    change(mirror.app, page, name="Renamed")
    await mirror.settle()
    assert len(mirror.problems()) == 1
    assert ("Renamed", "render") in mirror.problems()


async def test_a_refused_change_of_a_page_is_no_problem_once_it_is_mended(mirror: Mirror) -> None:
    mirror.write({"Page.md": "text\n"})
    await mirror.settle()
    (page,) = mirror.ids("Page")
    mirror.app.execute("UPDATE mirrord.page SET content = %s WHERE id = %s", [UNFAITHFUL, page])
    await mirror.settle()
    assert codes(mirror) == {"render"}
    change(mirror.app, page, markdown="mended\n")
    await mirror.settle()
    assert mirror.problems() == {}


async def test_a_refused_change_is_a_problem_also_after_the_file_was_edited(mirror: Mirror) -> None:
    mirror.write({"Page.md": "text\n"})
    await mirror.settle()
    (page,) = mirror.ids("Page")
    mirror.app.execute("UPDATE mirrord.page SET content = %s WHERE id = %s", [UNFAITHFUL, page])
    await mirror.settle()
    for text in ("edited\n", "edited again\n"):
        mirror.write({"Page.md": text})
        await mirror.settle()
        assert codes(mirror) == {"render"}
        assert mirror.files()["Page.md"] == text
    change(mirror.app, page, markdown="mended\n")
    await mirror.settle()
    assert mirror.problems() == {}


@pytest.mark.parametrize("end", ["deleted", "moved-back", "moved-elsewhere", "way-freed"])
async def test_a_row_whose_way_is_barred_is_no_problem_once_it_wants_something_else(mirror: Mirror, end: str) -> None:
    mirror.write({"Page.md": "text\n", "Kept.md": "kept\n"})
    (mirror.root / "Barred.md").mkdir()
    await mirror.settle()
    (page,) = mirror.ids("Page")
    change(mirror.app, page, name="Barred")
    while "in-the-way" not in codes(mirror):
        mirror.engine.notify()
        await mirror.work()
    if end == "deleted":
        delete(mirror.app, page)
    elif end == "way-freed":
        (mirror.root / "Barred.md").rmdir()
    else:
        change(mirror.app, page, name="Page" if end == "moved-back" else "Elsewhere")
    await mirror.settle()
    assert mirror.problems() == {}
    name = {"deleted": None, "moved-back": "Page.md", "moved-elsewhere": "Elsewhere.md", "way-freed": "Barred.md"}[end]
    assert mirror.files().keys() == {"Kept.md", name} - {None}


async def test_a_move_that_is_tried_often_while_its_way_is_barred_is_no_livelock(mirror: Mirror) -> None:
    mirror.write({"Page.md": "text\n", "Kept.md": "kept\n"})
    (mirror.root / "Barred.md").mkdir()
    await mirror.settle()
    (page,) = mirror.ids("Page")
    change(mirror.app, page, name="Barred")
    mirror.engine.notify()
    for _ in range(2 * MAX_OWN_MOVES):
        mirror.engine.queue.mark(["Page.md"], [EntryId(page)], forced=True)
        await mirror.work()
    assert codes(mirror) == {"in-the-way"}
    (mirror.root / "Barred.md").rmdir()
    mirror.engine.queue.mark(["Page.md"], [EntryId(page)], forced=True)
    for _ in range(ROUNDS):
        await mirror.work()
    assert mirror.files().keys() == {"Kept.md", "Barred.md"}
    assert mirror.problems() == {}
