"""Page files that leave their directories: what is in there stays, and belongs to a folder."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from tests.support.entries import add_page, change
from tests.support.mirrors import Mirror, opened_mirror
from tests.support.rows import Connection

FORMS = pytest.mark.parametrize("old", ["P.md", "P/_index.md"], ids=["note", "index"])


@pytest.fixture
async def other(
    mirror: Mirror, database: Database, app_connection: Connection, tmp_path: Path, tenant: TenantId
) -> AsyncIterator[Mirror]:
    """Another mirror of the same tenant; tests open `mirror` first."""
    async with opened_mirror(database, app_connection, tmp_path / "other", tenant) as opened:
        yield opened


def directories(mirror: Mirror) -> set[str]:
    """The visible directories of the tree."""
    paths = {path.relative_to(mirror.root).as_posix() for path in mirror.root.rglob("*") if path.is_dir()}
    return {path for path in paths if not path.startswith(".")}


def trashed(mirror: Mirror) -> list[str]:
    """The texts in the trash."""
    copies = (mirror.root / ".mirrord/trash").glob("d.*")
    return [path.read_text() for path in copies if path.suffix != ".json"]


async def family(mirror: Mirror, page: str = "P.md") -> tuple[UUID, UUID]:
    """The page P and its child."""
    mirror.write({page: "the page\n", "P/Child.md": "the child\n"})
    await mirror.settle()
    page_id, child = mirror.ids("P", "P/Child")
    return page_id, child


@FORMS
async def test_what_a_moved_page_leaves_in_its_directory_belongs_to_a_folder(
    mirror: Mirror, other: Mirror, old: str
) -> None:
    page, child = await family(mirror, old)
    mirror.write({"P/assets/a.png": "a", "P/Box/In.md": "in\n", "P/Sub/_index.md": "sub\n", "P/Sub/Leaf.md": "leaf\n"})
    await mirror.settle()
    await other.settle()
    kept_ids = mirror.ids("P/Box", "P/Box/In", "P/Sub", "P/Sub/Leaf")
    files = mirror.files()
    mirror.rename((old, "Q.md"))
    await mirror.settle()
    assert mirror.files() == {"Q.md" if path == old else path: text for path, text in files.items()}
    assert mirror.ids("Q", "P/Child", "P/Box", "P/Box/In", "P/Sub", "P/Sub/Leaf") == [page, child, *kept_ids]
    assert mirror.page("P").kind == "folder"
    assert mirror.count_living() == 7
    await other.settle()
    assert other.files() == mirror.files()
    assert directories(other) == directories(mirror)
    versions = mirror.versions()
    for host in (mirror, other):
        host.engine.request_comparison()
        await host.settle()
    assert mirror.versions() == versions
    assert mirror.problems() == {}


async def test_an_empty_directory_that_a_moved_page_leaves_is_a_folder_at_once(mirror: Mirror) -> None:
    page, _ = await family(mirror)
    (mirror.root / "P/Child.md").unlink()
    await mirror.settle()
    mirror.rename(("P.md", "Q.md"))
    await mirror.settle()
    assert mirror.ids("Q") == [page]
    before = mirror.rows()
    mirror.engine.request_comparison()
    await mirror.settle()
    assert mirror.rows() == before == {"P": None, "Q": "the page\n"}


async def test_a_page_that_is_moved_and_edited_is_known_by_its_id(mirror: Mirror) -> None:
    page_id = uuid4()
    mirror.write({"P.md": f"---\nid: {page_id}\n---\nthe page\n", "P/Child.md": "the child\n"})
    await mirror.settle()
    (child,) = mirror.ids("P/Child")
    (mirror.root / "P.md").unlink()
    mirror.write({"Q.md": f"---\nid: {page_id}\n---\nthe page, edited\n"})
    await mirror.settle()
    assert mirror.ids("Q", "P/Child") == [page_id, child]
    assert mirror.page("P").kind == "folder"


async def test_a_page_that_takes_its_directory_along_keeps_its_children(mirror: Mirror, other: Mirror) -> None:
    page, child = await family(mirror)
    mirror.rename(("P.md", "Q.md"), ("P", "Q"))
    await mirror.settle()
    await other.settle()
    assert mirror.ids("Q", "Q/Child") == [page, child]
    assert mirror.count_living() == 2
    assert mirror.files() == other.files() == {"Q.md": "the page\n", "Q/Child.md": "the child\n"}


@FORMS
async def test_a_page_made_a_folder_elsewhere_goes_to_the_trash_here(mirror: Mirror, other: Mirror, old: str) -> None:
    page, child = await family(mirror, old)
    await other.settle()
    (mirror.root / old).unlink()
    await mirror.settle()
    await other.settle()
    assert other.files() == mirror.files() == {"P/Child.md": "the child\n"}
    assert "the page\n" in trashed(other)
    assert mirror.ids("P", "P/Child") == [page, child]
    assert mirror.problems() == {}


@FORMS
async def test_a_page_made_a_folder_elsewhere_and_edited_here_stays_a_page(
    mirror: Mirror, other: Mirror, old: str
) -> None:
    page, child = await family(mirror, old)
    await other.settle()
    (mirror.root / old).unlink()
    await mirror.settle()
    other.write({old: "the page, edited\n"})
    await other.settle()
    await mirror.settle()
    assert other.files() == mirror.files() == {old: "the page, edited\n", "P/Child.md": "the child\n"}
    assert mirror.ids("P", "P/Child") == [page, child]


async def test_a_page_moved_away_while_its_row_was_renamed_leaves_a_folder(mirror: Mirror) -> None:
    page, child = await family(mirror)
    mirror.rename(("P.md", "Q.md"))
    change(mirror.app, page, name="R")
    await mirror.settle()
    assert mirror.ids("R", "P/Child") == [page, child]
    assert mirror.files() == {"R.md": "the page\n", "P/Child.md": "the child\n"}


async def test_a_child_written_for_a_page_that_has_just_moved_away_is_not_lost_sight_of(mirror: Mirror) -> None:
    mirror.write({"P.md": "the page\n", "Box/In.md": "in\n"})
    await mirror.settle()
    (page,) = mirror.ids("P")
    mirror.rename(("P.md", "Box/P.md"))
    child = add_page(mirror.app, name="Child", markdown="the child\n", parent_id=page)
    mirror.engine.notify()
    await mirror.work()  # nobody has looked at the tree yet
    assert "P/Child.md" in mirror.files()
    mirror.engine.queue.mark(["P.md", "Box/P.md"])  # as the watcher tells it: not of the directory mirrord made
    await mirror.work()
    await mirror.settle()
    assert mirror.ids("Box/P", "P/Child") == [page, child]
    assert mirror.files().keys() == {"Box/In.md", "Box/P.md", "P/Child.md"}
    assert mirror.count_living() == 5
