"""Pages that leave the tree and come back (docs/design/sync.md, L9), and edits that travel with moves (L10)."""

from itertools import product
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from mirrord.db.content.entry_writes import run_statements
from mirrord.db.database import Database
from mirrord.domain.entry import EntryId, TenantId
from tests.support.entries import add_folder, add_page, change, delete
from tests.support.mirrors import Mirror, opened_mirror
from tests.support.rows import Connection, page_of


@pytest.mark.parametrize("back", ["Page.md", "Else/Other.md"], ids=["same-path", "elsewhere"])
async def test_a_page_with_an_id_that_was_moved_out_comes_back_as_the_same_page(mirror: Mirror, back: str) -> None:
    page = uuid4()
    mirror.write({"Page.md": f"---\nid: {page}\n---\ntext\n", "Kept.md": "kept\n"})
    await mirror.settle()
    outside = mirror.root.parent / "outside.md"
    (mirror.root / "Page.md").rename(outside)
    await mirror.settle()
    row = page_of(mirror.app, page)
    assert row is not None
    assert row.deleted
    (mirror.root / back).parent.mkdir(exist_ok=True)
    outside.rename(mirror.root / back)
    await mirror.settle()
    assert mirror.ids(back) == [page]
    assert mirror.files()[back] == f"---\nid: {page}\n---\ntext\n"


async def test_a_page_without_an_id_comes_back_to_its_path_as_the_same_page(mirror: Mirror) -> None:
    mirror.write({"Page.md": "text\n", "Kept.md": "kept\n"})
    await mirror.settle()
    (page,) = mirror.ids("Page")
    outside = mirror.root.parent / "outside.md"
    (mirror.root / "Page.md").rename(outside)
    await mirror.settle()
    outside.rename(mirror.root / "Page.md")
    await mirror.settle()
    assert mirror.ids("Page") == [page]


async def test_a_file_that_comes_in_with_the_id_of_a_living_page_is_a_copy(mirror: Mirror) -> None:
    page = uuid4()
    text = f"---\nid: {page}\n---\ntext\n"
    mirror.write({"Page.md": text})
    await mirror.settle()
    mirror.write({"Copy.md": text})
    await mirror.settle()
    assert mirror.ids("Page") == [page]
    assert mirror.ids("Copy") != [page]
    assert mirror.files() == {"Page.md": text, "Copy.md": text}


EDITS = ("none", "file", "row", "both")


@pytest.mark.parametrize(("moved", "edited"), list(product(EDITS, EDITS)))
async def test_an_edit_and_a_move_on_any_side_are_both_carried_over(mirror: Mirror, moved: str, edited: str) -> None:
    mirror.write({"Page.md": "first\n\nsecond\n\nthird\n", "To/x.md": "x\n"})
    await mirror.settle()
    page, folder = mirror.ids("Page", "To")
    path = "Page.md"
    if moved in ("file", "both"):
        path = "To/Moved.md"
        mirror.rename(("Page.md", path))
    if edited in ("file", "both"):
        mirror.write({path: "first, by a file\n\nsecond\n\nthird\n"})
    if edited in ("row", "both"):
        change(mirror.app, page, markdown="first\n\nsecond\n\nthird, by a row\n")
    if moved in ("row", "both"):
        change(mirror.app, page, parent_id=folder, name="Named")
    await mirror.settle()
    place = {"none": "Page.md", "file": "To/Moved.md", "row": "To/Named.md", "both": "To/Named.md"}[moved]
    text = "first{}\n\nsecond\n\nthird{}\n".format(
        ", by a file" if edited in ("file", "both") else "", ", by a row" if edited in ("row", "both") else ""
    )
    assert mirror.files() == {place: text, "To/x.md": "x\n"}
    assert mirror.ids(place) == [page]
    assert mirror.page(place).markdown == text
    assert mirror.count_living() == 3


async def test_a_folder_made_from_its_row_is_known_again_when_it_was_renamed_meanwhile(
    database: Database, app_connection: Connection, tmp_path: Path, tenant: TenantId
) -> None:
    async with opened_mirror(database, app_connection, tmp_path / "mirror", tenant) as mirror:
        folder = add_folder(app_connection, name="Box")
        page = add_page(app_connection, name="Page", markdown="the page\n", parent_id=folder)
        await mirror.settle()
    (mirror.root / "Box/Page.md").unlink()
    mirror.rename(("Box", "Crate"))
    mirror.write({"Crate/Page.md": "the page, edited and saved as another file\n"})
    async with opened_mirror(database, app_connection, tmp_path / "mirror", tenant) as mirror:
        assert mirror.ids("Crate") == [folder]
        assert mirror.ids("Crate/Page") == [page]
        assert mirror.count_living() == 2


async def test_children_of_a_page_whose_place_another_takes_go_where_their_own_page_goes(mirror: Mirror) -> None:
    """Its file was removed while its row moved: where it will be is not known yet when its child is to be written."""
    mirror.write({"In/Alpha.md": "alpha\n", "Kept.md": "kept\n"})
    await mirror.settle()
    alpha, folder = mirror.ids("In/Alpha", "In")
    (mirror.root / "In/Alpha.md").unlink()
    change(mirror.app, alpha, name="Other", parent_id=None)
    add_page(mirror.app, name="Alpha", parent_id=folder, markdown="another alpha\n")
    child = add_page(mirror.app, name="Child", parent_id=alpha, markdown="child\n")
    await mirror.settle()
    assert sorted(mirror.files()) == ["In/Alpha.md", "Kept.md", "Other.md", "Other/Child.md"]
    assert mirror.ids("Other", "Other/Child") == [alpha, child]


@pytest.mark.parametrize("child", ["folder", "page"])
async def test_children_of_a_new_page_wait_while_the_file_of_another_has_its_name(mirror: Mirror, child: str) -> None:
    """A file was edited while its row was deleted and an app made a page of its name: it comes back with a number."""
    mirror.write({"Alpha.md": "alpha\n", "Kept.md": "kept\n"})
    await mirror.settle()
    (alpha,) = mirror.ids("Alpha")
    mirror.write({"Alpha.md": "alpha, edited\n"})
    delete(mirror.app, alpha)
    fresh = add_page(mirror.app, name="Alpha", markdown="another alpha\n")
    if child == "folder":
        add_folder(mirror.app, name="Child", parent_id=fresh)
    else:
        inner = add_page(mirror.app, name="Child", markdown="child\n", parent_id=fresh)
        add_page(mirror.app, name="Grandchild", markdown="grandchild\n", parent_id=inner)
    await mirror.settle()
    paths = {str(path.relative_to(mirror.root)) for path in mirror.root.rglob("*") if ".mirrord" not in path.parts}
    below = {"Alpha/Child"} | ({"Alpha/Child.md", "Alpha/Child/Grandchild.md"} if child == "page" else set())
    assert paths == {"Alpha.md", "Alpha (2).md", "Kept.md", "Alpha"} | below
    assert mirror.ids("Alpha", "Alpha (2)") == [fresh, alpha]


async def killed_before_it_recorded(mirror: Mirror) -> UUID:
    """A page without an id, whose file nobody recorded; its row was renamed since."""
    mirror.write({"Page.md": "page\n"})
    await mirror.settle()
    (page,) = mirror.ids("Page")
    sides = mirror.engine.sides
    async with sides.database.transaction(sides.tenant, sides.fence) as connection:
        await run_statements(connection, [sides.writer.delete_base(EntryId(page))])
    sides.looker.index.forget("Page.md")
    change(mirror.app, page, name="Renamed")
    return page


async def test_a_file_written_for_a_row_that_was_renamed_before_that_was_recorded_is_of_it(mirror: Mirror) -> None:
    page = await killed_before_it_recorded(mirror)
    mirror.engine.request_comparison()
    await mirror.settle()
    assert mirror.ids("Renamed") == [page]
    assert mirror.files() == {"Renamed.md": "page\n"}
    assert mirror.count_living() == 1


async def test_a_new_file_with_the_bytes_of_a_row_that_has_no_file_yet_is_another_page(mirror: Mirror) -> None:
    page = await killed_before_it_recorded(mirror)
    mirror.rename(("Page.md", "From a template.md"))
    mirror.engine.request_comparison()
    await mirror.settle()
    assert mirror.ids("Renamed") == [page]
    assert mirror.files() == {"Renamed.md": "page\n", "From a template.md": "page\n"}
