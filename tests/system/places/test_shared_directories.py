"""A directory that a page and a folder have at the same time is the folder's; the page's content comes back to it."""

from uuid import UUID

import pytest

from mirrord.domain.entry import digest_of
from tests.support.entries import add_attachment, add_folder, add_page, change, delete, value
from tests.support.mirrors import Mirror

SKETCH = "a sketch"


def add_sketch(mirror: Mirror, page: UUID) -> UUID:
    digest = digest_of(SKETCH.encode())
    mirror.app.execute("INSERT INTO mirrord.blob (digest, part, bytes) VALUES (%s, 0, %s)", [digest, SKETCH.encode()])
    return add_attachment(mirror.app, name="sketch.svg", parent_id=page, digest=digest, size=len(SKETCH))


def parent_of_sketch(mirror: Mirror, sketch: UUID) -> UUID:
    parent: UUID = value(mirror.app, "SELECT parent_id FROM mirrord.attachment WHERE id = %s", sketch)
    return parent


async def test_what_an_app_gave_the_page_comes_to_its_own_directory(mirror: Mirror) -> None:
    mirror.write({"Old.md": "text\n"})
    await mirror.settle()
    (page,) = mirror.ids("Old")
    mirror.write({"X/Note.md": "a person's\n"})
    change(mirror.app, page, name="X")
    sketch = add_sketch(mirror, page)
    child = add_page(mirror.app, name="Child", parent_id=page, frontmatter=None, markdown="its child\n")
    await mirror.settle()
    folder, note = mirror.ids("X (2)", "X (2)/Note")
    assert mirror.ids("X", "X/Child") == [page, child]
    assert parent_of_sketch(mirror, sketch) == page
    assert mirror.page("X (2)").kind == "folder"
    assert {path for path in mirror.files() if not path.endswith("/")} == {
        "X.md",
        "X/assets/sketch.svg",
        "X/Child.md",
        "X (2)/Note.md",
    }
    versions = mirror.versions()
    await mirror.settle()
    assert mirror.versions() == versions
    assert mirror.ids("X (2)", "X (2)/Note") == [folder, note]


async def test_also_if_the_page_comes_only_after_its_picture(mirror: Mirror) -> None:
    mirror.write({"X/Note.md": "a person's\n"})
    await mirror.settle()
    (folder,) = mirror.ids("X")
    mirror.write({"Old.md": "text\n"})
    await mirror.settle()
    (page,) = mirror.ids("Old")
    with mirror.app.transaction():
        change(mirror.app, folder, name="Y")
        change(mirror.app, page, name="X")
        sketch = add_sketch(mirror, page)
    await mirror.settle()
    assert mirror.ids("X", "Y") == [page, folder]
    assert parent_of_sketch(mirror, sketch) == page
    assert mirror.files() == {"X.md": "text\n", "X/assets/sketch.svg": SKETCH, "Y/Note.md": "a person's\n"}


@pytest.mark.parametrize("has_page", [True, False], ids=["with_a_page", "empty"])
async def test_the_directory_of_a_new_folder_is_not_that_of_a_deleted_page_which_had_its_name(
    mirror: Mirror, has_page: bool
) -> None:
    """The app renames and deletes the page, and makes a folder of its name; meanwhile the page's file goes."""
    mirror.write({"Shelf/First.md": "the page\n", "Shelf/Other.md": "another\n"})
    await mirror.settle()
    shelf, page = mirror.ids("Shelf", "Shelf/First")
    change(mirror.app, page, name="Named")
    folder = add_folder(mirror.app, name="First", parent_id=shelf)
    if has_page:
        add_page(mirror.app, name="Inner", markdown="inner\n", parent_id=folder)
    delete(mirror.app, page)
    (mirror.root / "Shelf/First.md").unlink()
    (mirror.root / "Shelf/First").mkdir()
    await mirror.settle()
    assert mirror.ids("Shelf/First") == [folder]
    assert mirror.files().keys() == {"Shelf/Other.md", *(["Shelf/First/Inner.md"] if has_page else [])}
    assert (mirror.root / "Shelf/First").is_dir()
