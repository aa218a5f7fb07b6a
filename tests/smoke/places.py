"""Proofs about where pages are: renamed, moved, deleted."""

from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Page, page_of


def a_renamed_and_moved_file_keeps_its_id(mirrord: Mirrord) -> None:
    """No `id:` inside: the id follows the file itself."""
    created = _made(mirrord, "Here/Plan.md", "a plan\n")
    mirrord.file("Here/Plan.md").rename(mirrord.file("Here/Roadmap.md"))
    renamed = eventually(lambda: mirrord.page("Here/Roadmap.md"), "a row of the renamed file")
    save(mirrord.file("There/Other.md"), "another\n")
    mirrord.file("Here/Roadmap.md").rename(mirrord.file("There/Roadmap.md"))
    moved = eventually(lambda: mirrord.page("There/Roadmap.md"), "a row of the moved file")

    assert renamed.id == created.id, "renaming a file made another page"
    assert moved.id == created.id, "moving a file made another page"
    assert mirrord.page("Here/Roadmap.md") is None, "the moved page is still at its old place as well"


def a_renamed_and_moved_row_keeps_its_id(mirrord: Mirrord) -> None:
    """The file follows, with its bytes."""
    created, folder = _made(mirrord, "Row.md", "moves about\n"), _made(mirrord, "Away/Near.md", "near\n").parent_id
    mirrord.app.execute("UPDATE mirrord.page SET name = 'Renamed' WHERE id = %s", [created.id])
    eventually(lambda: mirrord.text("Renamed.md") == "moves about\n", "the file of the renamed row")
    mirrord.app.execute("UPDATE mirrord.page SET parent_id = %s WHERE id = %s", [folder, created.id])
    eventually(lambda: mirrord.text("Away/Renamed.md") == "moves about\n", "the file of the moved row")

    assert mirrord.text("Row.md") is None, "the file is still under its first name"
    assert mirrord.text("Renamed.md") is None, "the file is still at its first place"
    mirrord.flush()
    page = mirrord.page("Away/Renamed.md")
    assert page is not None, "the moved row is not at its new place any more"
    assert page.id == created.id, "renaming and moving a row made another page"


def a_deleted_file_deletes_its_row(mirrord: Mirrord) -> None:
    """The row becomes a tombstone; its text stays in the history."""
    created = _made(mirrord, "Gone.md", "soon gone\n")
    mirrord.file("Gone.md").unlink()
    eventually(lambda: _deleted(mirrord, created), "the row of a deleted file is deleted")

    versions = mirrord.app.execute(
        "SELECT count(*) FROM mirrord.page_revision WHERE page_id = %s AND markdown = 'soon gone\n'", [created.id]
    ).fetchone()
    assert versions is not None
    assert versions[0] > 0, "the deleted page's text is not in its history"


def the_file_of_a_deleted_row_lands_in_the_trash(mirrord: Mirrord) -> None:
    """With its bytes."""
    created = _made(mirrord, "Discarded.md", "keep me for 30 days\n")
    mirrord.app.execute("DELETE FROM mirrord.page WHERE id = %s", [created.id])
    eventually(lambda: mirrord.text("Discarded.md") is None, "the file of a deleted row is gone from the tree")
    eventually(lambda: "keep me for 30 days\n" in _trashed(mirrord, created), "its bytes in the trash")

    assert _deleted(mirrord, created), "the deleted row came back"


def _made(mirrord: Mirrord, path: str, text: str) -> Page:
    save(mirrord.file(path), text)
    return eventually(lambda: mirrord.page(path), f"a row of {path}")


def _deleted(mirrord: Mirrord, page: Page) -> bool:
    now = page_of(mirrord.app, page.id)
    return now is not None and now.deleted


def _trashed(mirrord: Mirrord, page: Page) -> list[str]:
    """The texts the trash holds of a page."""
    trash = (mirrord.root / ".mirrord" / "trash").glob(f"*{page.id}*")
    return [path.read_text(encoding="utf-8") for path in trash if path.suffix != ".json"]
