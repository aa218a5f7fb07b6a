"""Pages go to the trash and come back."""

from pathlib import Path

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.delete_commands import delete_page, restore_page
from mirrord.commands.pages.page_commands import create_page, read_page
from tests.unit.commands.conftest import events, page


def test_a_deleted_page_comes_back_with_its_bytes_and_id(root: Path, session: Session) -> None:
    created = create_page(session, "Alpha", content="text")
    text = (root / "Alpha.md").read_bytes()
    deleted = delete_page(session, "Alpha")
    assert not (root / "Alpha.md").exists()
    assert deleted.page_id == created.page_id
    back = restore_page(session, deleted.trash_id)
    assert (back.path, back.page_id) == ("Alpha.md", created.page_id)
    assert (root / "Alpha.md").read_bytes() == text
    facts = {"page_id": created.page_id, "path": "Alpha.md", "trash_id": deleted.trash_id}
    assert events(root)[1:] == [("PageDeleted", facts), ("PageRestored", {**facts, "digest": created.digest})]
    with pytest.raises(Failed, match="holds nothing"):
        restore_page(session, deleted.trash_id)


def test_a_page_with_pages_below_is_only_deleted_with_them(root: Path, session: Session) -> None:
    page(root, "W/_index.md", "w")
    page(root, "W/B/_index.md", "b")
    page(root, "W/B/C.md", "c")
    with pytest.raises(Failed, match="2 pages below") as caught:
        delete_page(session, "W")
    assert caught.value.code == "HAS_CHILDREN"
    deleted = delete_page(session, "W", recursive=True)
    assert not (root / "W").exists()
    assert deleted.below.keys() == {"W/B/C.md", "W/B/_index.md"}
    restore_page(session, deleted.below["W/B/C.md"])
    restore_page(session, deleted.trash_id)
    assert (root / "W/B/C.md").read_text() == "c"
    assert (root / "W/_index.md").read_text() == "w"


def test_assets_go_only_when_they_are_empty(root: Path, session: Session) -> None:
    page(root, "W/_index.md", "w")
    page(root, "W/assets/x.png", "x")
    delete_page(session, "W")
    assert (root / "W/assets/x.png").exists()
    page(root, "V/_index.md", "v")
    (root / "V/assets").mkdir()
    delete_page(session, "V")
    assert not (root / "V").exists()
    page(root, "Leaf.md", "leaf")
    (root / "assets").mkdir()
    delete_page(session, "Leaf")
    assert not (root / "assets").exists()


def test_a_page_beside_an_index_file_has_no_pages_below(root: Path, session: Session) -> None:
    page(root, "W.md", "late")
    page(root, "W/_index.md", "w")
    page(root, "W/B.md", "b")
    delete_page(session, "W.md")
    assert (root / "W/B.md").exists()


def test_a_page_that_changed_since_it_was_read_is_not_deleted(root: Path, session: Session) -> None:
    page(root, "W/_index.md", "w")
    page(root, "W/B.md", "b")
    read_page(session, "W/B")
    page(root, "W/B.md", "theirs")
    with pytest.raises(Failed, match="modified externally"):
        delete_page(session, "W", recursive=True)
    assert (root / "W/_index.md").exists()
    assert events(root) == []


def test_a_page_is_restored_elsewhere_but_never_over_another(root: Path, session: Session) -> None:
    page(root, "A.md", "old")
    deleted = delete_page(session, "A")
    page(root, "A.md", "new")
    with pytest.raises(Failed) as caught:
        restore_page(session, deleted.trash_id)
    assert caught.value.code == "EXISTS"
    assert restore_page(session, deleted.trash_id, "Deep/B").path == "Deep/B.md"
    assert (root / "A.md").read_text() == "new"


@pytest.mark.parametrize("trash_id", ["", "../../x", "0" * 16, "x" * 16])
def test_what_is_not_in_the_trash_is_said_so(session: Session, trash_id: str) -> None:
    with pytest.raises(Failed) as caught:
        restore_page(session, trash_id)
    assert caught.value.code == "NOT_IN_TRASH"
