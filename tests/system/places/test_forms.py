"""
A page's file and its directory: `W.md`, `W/_index.md`, folder notes, and folders without a page (docs/design/sync.md,
Places).
"""

from uuid import UUID, uuid4

import pytest

from tests.support.entries import add_page, change
from tests.support.mirrors import Mirror
from tests.support.rows import Connection, page_of


async def family(mirror: Mirror, page: str = "W.md", text: str = "the page\n") -> tuple[UUID, UUID]:
    """A page with a child; their ids."""
    mirror.write({page: text, "W/Child.md": "the child\n"})
    await mirror.settle()
    page_id, child = mirror.ids("W", "W/Child")
    return page_id, child


def assert_whole(mirror: Mirror, page: UUID, child: UUID, files: dict[str, str]) -> None:
    assert mirror.files() == files
    assert mirror.ids("W", "W/Child") == [page, child]
    assert mirror.count_living() == 2
    assert mirror.problems() == {}


@pytest.mark.parametrize(
    ("old", "new"), [("W.md", "W/_index.md"), ("W/_index.md", "W.md")], ids=["promoted", "demoted"]
)
@pytest.mark.parametrize("edited", [False, True], ids=["moved", "moved-and-edited"])
async def test_a_page_file_that_enters_or_leaves_its_directory_is_the_same_page(
    mirror: Mirror, old: str, new: str, edited: bool
) -> None:
    page, child = await family(mirror, old)
    mirror.rename((old, new))
    text = "the page, edited\n" if edited else "the page\n"
    mirror.write({new: text})
    await mirror.settle()
    assert_whole(mirror, page, child, {new: text, "W/Child.md": "the child\n"})
    assert mirror.page("W").markdown == text


@pytest.mark.parametrize(
    ("old", "new"), [("W.md", "W/_index.md"), ("W/_index.md", "W.md")], ids=["promoted", "demoted"]
)
async def test_a_page_whose_form_changed_while_its_row_was_renamed_keeps_both(
    mirror: Mirror, old: str, new: str
) -> None:
    page, child = await family(mirror, old)
    mirror.rename((old, new))
    change(mirror.app, page, name="V")
    await mirror.settle()
    assert mirror.ids("V", "V/Child") == [page, child]
    assert mirror.count_living() == 2
    assert set(mirror.files()) in ({"V.md", "V/Child.md"}, {"V/_index.md", "V/Child.md"})


@pytest.mark.parametrize("note", ["W.md", "W/_index.md"])
@pytest.mark.parametrize("into", [None, "Box"], ids=["renamed", "moved"])
async def test_a_page_that_lost_its_file_while_its_row_moved_is_a_folder_there(
    mirror: Mirror, note: str, into: str | None
) -> None:
    page, child = await family(mirror, note)
    mirror.write({"Box/Other.md": "another\n"})
    await mirror.settle()
    (mirror.root / note).unlink()
    above = mirror.page(into).id if into else None
    change(mirror.app, page, name="V", parent_id=above)
    await mirror.settle()
    path = f"{into}/V" if into else "V"
    assert mirror.files() == {f"{path}/Child.md": "the child\n", "Box/Other.md": "another\n"}
    assert mirror.ids(path, f"{path}/Child") == [page, child]
    assert mirror.page(path).kind == "folder"
    assert mirror.problems() == {}


@pytest.mark.parametrize("note", ["W.md", "W/_index.md"])
@pytest.mark.parametrize("into", [None, "Box"], ids=["renamed", "moved"])
async def test_a_folder_that_got_a_page_file_while_its_row_moved_is_a_page_there(
    mirror: Mirror, note: str, into: str | None
) -> None:
    mirror.write({"W/Child.md": "the child\n", "Box/Other.md": "another\n"})
    await mirror.settle()
    page, child = mirror.ids("W", "W/Child")
    mirror.write({note: "the page\n"})
    above = mirror.page(into).id if into else None
    change(mirror.app, page, name="V", parent_id=above)
    await mirror.settle()
    path = f"{into}/V" if into else "V"
    moved = path + note.removeprefix("W")
    assert mirror.files() == {moved: "the page\n", f"{path}/Child.md": "the child\n", "Box/Other.md": "another\n"}
    assert mirror.ids(path, f"{path}/Child") == [page, child]
    assert mirror.page(path).markdown == "the page\n"
    assert mirror.problems() == {}


@pytest.mark.parametrize("note", ["A/W.md", "A/W/_index.md"])
@pytest.mark.parametrize("kind", ["folder", "page"])
async def test_a_page_that_comes_below_another_folder_and_changes_its_form_at_once_is_the_same(
    mirror: Mirror, note: str, kind: str
) -> None:
    """`A` is another folder now, so what is at `A/W` has another parent although its path is the same."""
    before, after = ({note: "the page\n"}, {}) if kind == "folder" else ({}, {note: "the page\n"})
    mirror.write({"A/W/Child.md": "the child\n", "A/One.md": "one\n", "B/Two.md": "two\n"} | before)
    await mirror.settle()
    page, child, other = mirror.ids("A/W", "A/W/Child", "B")
    mirror.rename(("A", "C"), ("B", "A"), ("C/W/Child.md", "A/W/Child.md"))
    for path in before:
        (mirror.root / f"C{path.removeprefix('A')}").unlink()
    (mirror.root / "C/W").rmdir()
    mirror.write(after)
    await mirror.settle()
    assert mirror.ids("A", "A/W", "A/W/Child") == [other, page, child]
    assert mirror.page("A/W").kind == kind
    assert mirror.files() == {"A/W/Child.md": "the child\n", "C/One.md": "one\n", "A/Two.md": "two\n"} | after
    assert mirror.problems() == {}


async def test_a_leaf_that_gets_a_child_in_files_stays_the_page_of_its_directory(mirror: Mirror) -> None:
    mirror.write({"W.md": "the page\n"})
    await mirror.settle()
    (page,) = mirror.ids("W")
    mirror.write({"W/Child.md": "the child\n"})
    await mirror.settle()
    assert_whole(mirror, page, mirror.page("W/Child").id, {"W.md": "the page\n", "W/Child.md": "the child\n"})


async def test_a_leaf_that_gets_a_child_in_rows_gets_a_directory_beside_it(mirror: Mirror) -> None:
    mirror.write({"W.md": "the page\n"})
    await mirror.settle()
    (page,) = mirror.ids("W")
    child = add_page(mirror.app, name="Child", markdown="the child\n", parent_id=page)
    await mirror.settle()
    assert mirror.ids("W", "W/Child") == [page, child]
    assert mirror.files().keys() == {"W.md", "W/Child.md"}


async def test_a_page_file_that_comes_to_a_folder_is_the_folders(mirror: Mirror) -> None:
    mirror.write({"W/Child.md": "the child\n"})
    await mirror.settle()
    page, child = mirror.ids("W", "W/Child")
    for new in ("W/_index.md", "W.md"):
        mirror.write({new: "the page\n"})
        await mirror.settle()
        assert_whole(mirror, page, child, {new: "the page\n", "W/Child.md": "the child\n"})
        (mirror.root / new).unlink()
        await mirror.settle()
        assert_whole(mirror, page, child, {"W/Child.md": "the child\n"})
        assert mirror.page("W").kind == "folder"


async def test_a_row_that_gives_a_folder_its_text_makes_its_page_file(mirror: Mirror) -> None:
    mirror.write({"W/Child.md": "the child\n"})
    await mirror.settle()
    page, child = mirror.ids("W", "W/Child")
    change(mirror.app, page, markdown="from an app\n")
    await mirror.settle()
    assert_whole(mirror, page, child, {"W/_index.md": mirror.page("W").markdown or "", "W/Child.md": "the child\n"})
    assert "from an app" in mirror.files()["W/_index.md"]


async def test_beside_an_index_another_page_of_the_same_name_gets_a_number(mirror: Mirror) -> None:
    page, child = await family(mirror, "W/_index.md")
    mirror.write({"W.md": "another\n"})
    await mirror.settle()
    assert mirror.ids("W", "W/Child") == [page, child]
    assert mirror.files() == {"W/_index.md": "the page\n", "W/Child.md": "the child\n", "W (2).md": "another\n"}
    assert mirror.page("W (2)").markdown == "another\n"
    assert mirror.count_living() == 3


async def test_an_index_beside_a_folder_note_is_the_page_and_the_note_is_its_older_text(mirror: Mirror) -> None:
    page, child = await family(mirror, "W.md")
    mirror.write({"W/_index.md": "the index\n"})
    await mirror.settle()
    assert_whole(mirror, page, child, {"W/_index.md": "the index\n", "W/Child.md": "the child\n"})
    assert any(path.read_text() == "the page\n" for path in (mirror.root / ".mirrord/trash").glob("d.*[!n]"))


async def test_a_note_edited_while_its_page_got_an_index_is_merged_into_it(mirror: Mirror) -> None:
    page, child = await family(mirror, "W.md", "first\n\nsecond\n\nthird\n")
    mirror.write({"W/_index.md": "first, in the index\n\nsecond\n\nthird\n"})
    mirror.write({"W.md": "first\n\nsecond\n\nthird, in the note\n"})
    await mirror.settle()
    text = "first, in the index\n\nsecond\n\nthird, in the note\n"
    assert_whole(mirror, page, child, {"W/_index.md": text, "W/Child.md": "the child\n"})


async def test_an_editors_late_save_of_a_promoted_page_is_merged_into_it(mirror: Mirror) -> None:
    head = f"---\nid: {uuid4()}\n---\n"
    page, child = await family(mirror, "W/_index.md", head + "first\n\nsecond\n")
    mirror.write({"W.md": head + "first\n\nsecond, edited late\n"})
    await mirror.settle()
    assert mirror.ids("W", "W/Child") == [page, child]
    assert mirror.count_living() == 2
    assert mirror.files() == {
        "W/_index.md": head + "first\n\nsecond, edited late\n",
        "W/Child.md": "the child\n",
    }


async def test_an_id_in_the_file_says_which_page_it_is(mirror: Mirror) -> None:
    first, other = uuid4(), uuid4()
    mirror.write(
        {"W.md": f"---\nid: {first}\n---\none\n", "V.md": f"---\nid: {other}\n---\nother\n", "W/Child.md": "c\n"}
    )
    await mirror.settle()
    mirror.rename(("W.md", "aside.md"), ("V.md", "W/_index.md"))
    await mirror.settle()
    assert mirror.page("W").id == other
    assert page_of(mirror.app, first) is not None
    assert mirror.page("aside").id == first


async def test_an_unknown_id_in_the_page_file_of_a_known_folder_does_not_make_another_folder(mirror: Mirror) -> None:
    mirror.write({"W/Child.md": "the child\n"})
    await mirror.settle()
    page, child = mirror.ids("W", "W/Child")
    text = f"---\nid: {uuid4()}\n---\nthe page\n"
    mirror.write({"W/_index.md": text})
    await mirror.settle()
    assert_whole(mirror, page, child, {"W/_index.md": text, "W/Child.md": "the child\n"})


@pytest.mark.parametrize("children", [True, False], ids=["with-children", "leaf"])
async def test_a_row_that_another_mirror_promoted_or_demoted_moves_its_file(
    mirror: Mirror, daemon_connection: Connection, children: bool
) -> None:
    """Apps cannot write `index`; other mirrors of the tenant do."""
    mirror.write({"W.md": "the page\n"} | ({"W/Child.md": "the child\n"} if children else {}))
    await mirror.settle()
    ids = mirror.ids(*mirror.rows())
    for index, path in ((True, "W/_index.md"), (False, "W.md")):
        change(daemon_connection, ids[0], index=index)
        await mirror.settle()
        assert mirror.files().keys() == {path} | ({"W/Child.md"} if children else set())
        assert mirror.ids(*mirror.rows()) == ids
        assert (mirror.root / "W").exists() == (index or children)
    assert mirror.problems() == {}


async def test_the_index_of_another_page_that_is_moved_beside_a_note_stays_another_page(mirror: Mirror) -> None:
    mirror.write({"W.md": "the page\n", "V/_index.md": "another\n", "V/Child.md": "the child\n"})
    await mirror.settle()
    ids = mirror.ids("W", "V", "V/Child")
    mirror.rename(("V", "W"))
    await mirror.settle()
    assert mirror.count_living() == 3
    living = mirror.ids(*mirror.rows())
    assert sorted(living) == sorted(ids)
    assert sorted(mirror.files().values()) == ["another\n", "the child\n", "the page\n"]
