"""A page whose file comes to the directory of a folder stays that page, and what is in there becomes its own."""

import asyncio
import os
from uuid import UUID

import pytest

from mirrord.sync import passes
from tests.support.entries import add_folder, add_page, change, lives, row_of
from tests.support.mirrors import Mirror
from tests.support.rows import Connection

FORMS = pytest.mark.parametrize("form", ["W.md", "W/_index.md"])


async def folder_and_page(mirror: Mirror, page: str = "X.md") -> tuple[UUID, UUID, list[UUID]]:
    """The folder W with a child, a picture and a folder in it; a page at *page*; the ids of all, the children last."""
    mirror.write({"W/Child.md": "the child\n", "W/Sub/Leaf.md": "the leaf\n", "W/assets/picture.png": "picture"})
    mirror.write({page: "the page\n"})
    await mirror.settle()
    folder, child, leaf, page_id = mirror.ids("W", "W/Child", "W/Sub/Leaf", page.removesuffix(".md"))
    return folder, page_id, [child, leaf]


def parents_of_pictures(mirror: Mirror) -> list[UUID]:
    query = "SELECT parent_id FROM mirrord.attachment WHERE deleted_at IS NULL"
    return [parent for (parent,) in mirror.app.execute(query)]


async def assert_succeeded(mirror: Mirror, page: UUID, children: list[UUID], extra: dict[str, str]) -> None:
    """Of the folder nothing is left but its name; *extra* files than its children's."""
    files = {"W/Child.md": "the child\n", "W/Sub/Leaf.md": "the leaf\n", "W/assets/picture.png": "picture"}
    for _ in range(2):
        assert mirror.files() == files | extra
        assert mirror.ids("W", "W/Child", "W/Sub/Leaf") == [page, *children]
        assert (parents_of_pictures(mirror), mirror.problems()) == ([page], {})
        versions = mirror.versions()
        await mirror.settle()
        assert mirror.versions() == versions


@FORMS
@pytest.mark.parametrize("was", ["X.md", "W/X.md", "W/Sub/X.md", "Other/Deep/X.md"])
async def test_wherever_it_came_from(mirror: Mirror, form: str, was: str) -> None:
    folder, page, children = await folder_and_page(mirror, was)
    mirror.rename((was, form))
    await mirror.settle()
    assert not lives(mirror.app, folder)
    await assert_succeeded(mirror, page, children, {form: "the page\n"})


@FORMS
async def test_of_a_folder_so_large_that_its_children_are_not_read(
    mirror: Mirror, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "MAX_NEIGHBOUR_FILES", 0)
    _, page, children = await folder_and_page(mirror)
    mirror.rename(("X.md", form))
    await mirror.settle()
    await assert_succeeded(mirror, page, children, {form: "the page\n"})


@FORMS
async def test_though_it_was_edited_on_both_sides_meanwhile(mirror: Mirror, form: str) -> None:
    mirror.write({"X.md": "one\n\ntwo\n\nthree\n"})
    await mirror.settle()
    mirror.write({"W/Child.md": "the child\n"})
    await mirror.settle()
    page, child = mirror.ids("X", "W/Child")
    mirror.rename(("X.md", form))
    mirror.write({form: "one, by a person\n\ntwo\n\nthree\n"})
    change(mirror.app, page, markdown="one\n\ntwo\n\nthree, by an app\n")
    await mirror.settle()
    merged = "one, by a person\n\ntwo\n\nthree, by an app\n"
    assert mirror.files() == {form: merged, "W/Child.md": "the child\n"}
    assert mirror.ids("W", "W/Child") == [page, child]
    assert (mirror.rows(), mirror.count_living()) == ({"W": merged, "W/Child": "the child\n"}, 2)


async def test_and_leaves_a_directory_whose_children_have_the_names_of_its_new_ones(mirror: Mirror) -> None:
    _, page, children = await folder_and_page(mirror)
    mirror.write({"X/Child.md": "its child\n"})
    await mirror.settle()
    (child,) = mirror.ids("X/Child")
    mirror.rename(("X.md", "W.md"))
    await mirror.settle()
    await assert_succeeded(mirror, page, children, {"W.md": "the page\n", "X/Child.md": "its child\n"})
    assert mirror.ids("X/Child") == [child]
    assert mirror.page("X").kind == "folder"


async def test_with_what_an_app_put_into_the_folder_just_now(mirror: Mirror) -> None:
    folder, page, (child, leaf) = await folder_and_page(mirror)
    mirror.rename(("X.md", "W.md"))
    new = add_page(mirror.app, name="New", markdown="new\n", parent_id=folder)
    same = add_page(mirror.app, name="Child", markdown="of the page's\n", parent_id=page)
    await mirror.settle()
    assert not lives(mirror.app, folder)
    assert mirror.ids("W", "W/New", "W/Sub/Leaf") == [page, new, leaf]
    assert set(mirror.ids("W/Child", "W/Child (2)")) == {child, same}
    assert mirror.files().keys() == {"W.md", *(f"W/{name}" for name in ("New.md", "Child.md", "Child (2).md"))} | {
        "W/Sub/Leaf.md",
        "W/assets/picture.png",
    }


async def test_and_back_again(mirror: Mirror) -> None:
    mirror.write({"W.md": "the page\n", "W/Child.md": "the child\n"})
    await mirror.settle()
    page, child = mirror.ids("W", "W/Child")
    for old, new in (("W.md", "X.md"), ("X.md", "W.md")):
        mirror.rename((old, new))
        await mirror.settle()
        assert mirror.ids(new.removesuffix(".md"), "W/Child") == [page, child]
    assert mirror.rows() == {"W": "the page\n", "W/Child": "the child\n"}
    assert mirror.files() == {"W.md": "the page\n", "W/Child.md": "the child\n"}


async def test_but_not_of_a_folder_that_an_app_renamed_meanwhile(mirror: Mirror) -> None:
    folder, page, children = await folder_and_page(mirror)
    mirror.rename(("X.md", "W.md"))
    change(mirror.app, folder, name="Elsewhere")
    await mirror.settle()
    assert mirror.ids("W", "Elsewhere") == [page, folder]
    assert {row.rpartition("/")[2]: text for row, text in mirror.rows().items() if text is not None} == {
        "W": "the page\n",
        "Child": "the child\n",
        "Leaf": "the leaf\n",
    }
    assert all(lives(mirror.app, entry) for entry in children)


async def test_nor_does_such_a_folder_take_the_file_along(mirror: Mirror) -> None:
    folder, page, children = await folder_and_page(mirror)
    mirror.rename(("X.md", "W/_index.md"))
    change(mirror.app, folder, name="Elsewhere")
    await mirror.settle()
    assert mirror.ids("Elsewhere", "W", "W/Child", "W/Sub/Leaf") == [folder, page, *children]
    files = {"W/Child.md": "the child\n", "W/Sub/Leaf.md": "the leaf\n", "W/assets/picture.png": "picture"}
    assert (mirror.files(), mirror.problems()) == (files | {"W/_index.md": "the page\n"}, {})
    assert (mirror.root / "Elsewhere").is_dir()


async def test_but_not_of_a_folder_to_which_an_app_gave_a_text_meanwhile(mirror: Mirror) -> None:
    folder, page, children = await folder_and_page(mirror)
    mirror.rename(("X.md", "W.md"))
    change(mirror.app, folder, markdown="from an app\n")
    await mirror.settle()
    assert all(lives(mirror.app, entry) for entry in (folder, page, *children))
    texts = sorted(text for text in mirror.rows().values() if text is not None)
    assert texts == ["from an app\n", "the child\n", "the leaf\n", "the page\n"]
    assert sorted(text for path, text in mirror.files().items() if path.endswith(".md")) == texts


@FORMS
async def test_in_another_tree_too(mirror: Mirror, daemon_connection: Connection, form: str) -> None:
    folder, page, children = await folder_and_page(mirror)
    succeed_in_rows(daemon_connection, folder, page, index=form != "W.md")
    await mirror.settle()
    await assert_succeeded(mirror, page, children, {form: "the page\n"})


@FORMS
async def test_in_another_tree_where_something_is_in_the_way_and_the_children_are_edited_meanwhile(
    mirror: Mirror, daemon_connection: Connection, form: str
) -> None:
    folder, page, children = await folder_and_page(mirror)
    os.mkfifo(mirror.root / form)
    succeed_in_rows(daemon_connection, folder, page, index=form != "W.md")
    mirror.engine.notify()
    async with asyncio.timeout(60):
        while ("X.md", "in-the-way") not in mirror.problems():
            await mirror.work()
        for name in ("Child.md", "Leaf.md"):
            next(mirror.root.rglob(name)).write_text("edited\n", encoding="utf-8")
        mirror.engine.request_scan()
        while any(row_of(mirror.app, child)["markdown"] != "edited\n" for child in children):
            await mirror.work()
    (in_the_way,) = (path for path in mirror.root.rglob("*") if path.is_fifo())  # its directory may have moved
    in_the_way.unlink()
    await mirror.settle()
    files = {"W/Child.md": "edited\n", "W/Sub/Leaf.md": "edited\n", "W/assets/picture.png": "picture"}
    assert mirror.files() == files | {form: "the page\n"}
    assert mirror.ids("W", "W/Child", "W/Sub/Leaf") == [page, *children]
    assert (parents_of_pictures(mirror), mirror.problems()) == ([page], {})


async def test_in_another_tree_where_a_child_has_the_inode_of_what_another_page_is_to_be(
    mirror: Mirror, daemon_connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    mirror.write({"Z.md": "the other\n"})
    folder, page, children = await folder_and_page(mirror)
    (other,) = mirror.ids("Z")
    (mirror.root / "W/Other.md").hardlink_to(mirror.root / "W/Child.md")
    with daemon_connection.transaction():
        succeed_in_rows(daemon_connection, folder, page, index=False)
        change(daemon_connection, other, parent_id=page, name="Other", name_key="other")
    mirror.engine.notify()
    await mirror.settle()
    assert "pass_failed" not in caplog.messages
    assert mirror.ids("W", "W/Child", "W/Sub/Leaf", "W/Other") == [page, *children, other]
    assert sorted(text for path, text in mirror.files().items() if path.endswith(".md")) == sorted(
        ["the page\n", "the child\n", "the child\n", "the leaf\n", "the other\n"]
    )


def succeed_in_rows(daemon: Connection, folder: UUID, page: UUID, *, index: bool) -> None:
    """What the daemon of another mirror writes."""
    with daemon.transaction():
        daemon.execute("SET CONSTRAINTS ALL DEFERRED")
        for table in ("page", "attachment"):
            daemon.execute(f"UPDATE mirrord.{table} SET parent_id = %s WHERE parent_id = %s".encode(), (page, folder))
        change(daemon, page, name="W", name_key="w", index=index)
        change(daemon, folder, deleted_at="now")


@pytest.mark.parametrize("form", ["Box/W.md", "Box/W/_index.md"])
@pytest.mark.parametrize("contents", [{}, {"Box/W/Child.md": "the child\n"}])
async def test_of_a_folder_in_its_own_directory(mirror: Mirror, form: str, contents: dict[str, str]) -> None:
    beside = {"Box/Other.md": "the other\n"}
    mirror.write({"Box.md": "the page\n", **beside, **contents})
    (mirror.root / "Box/W").mkdir(exist_ok=True)
    await mirror.settle()
    page, folder = mirror.ids("Box", "Box/W")
    mirror.rename(("Box.md", form))
    await mirror.settle()
    assert mirror.files() == {form: "the page\n", **beside, **contents}
    assert mirror.ids("Box/W") == [page]
    assert not lives(mirror.app, folder)
    assert mirror.page("Box").kind == "folder"
    assert mirror.rows().keys() == {name.removesuffix(".md") for name in [*beside, *contents]} | {"Box", "Box/W"}
    assert mirror.problems() == {}


async def test_of_a_folder_in_its_own_directory_in_another_tree_too(
    mirror: Mirror, daemon_connection: Connection
) -> None:
    mirror.write({"Box.md": "the page\n", "Box/Other.md": "the other\n", "Box/W/Child.md": "the child\n"})
    await mirror.settle()
    page, folder, other, child = mirror.ids("Box", "Box/W", "Box/Other", "Box/W/Child")
    with daemon_connection.transaction():
        daemon_connection.execute("SET CONSTRAINTS ALL DEFERRED")
        box = add_folder(daemon_connection, name="Box", name_key="box")
        change(daemon_connection, other, parent_id=box)
        change(daemon_connection, page, parent_id=box, name="W", name_key="w")
        change(daemon_connection, child, parent_id=page)
        change(daemon_connection, folder, deleted_at="now")
    await mirror.settle()
    assert mirror.files() == {"Box/W.md": "the page\n", "Box/Other.md": "the other\n", "Box/W/Child.md": "the child\n"}
    assert mirror.ids("Box", "Box/W", "Box/Other", "Box/W/Child") == [box, page, other, child]
    assert (mirror.count_living(), mirror.problems()) == (4, {})
