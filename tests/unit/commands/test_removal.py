"""Pages go to the trash and come back."""

from pathlib import Path

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.delete_commands import delete_page
from mirrord.commands.pages.page_commands import create_page, read_page
from mirrord.commands.pages.restore_command import restore_page
from mirrord.mirror.write import trash
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


def test_one_call_brings_back_all_that_one_deletion_took(root: Path, session: Session) -> None:
    texts = {"W.md": "w", "W/B/_index.md": "b", "W/B/C.md": "c", "W/D.md": "d"}
    ids = {path: page(root, path, text) for path, text in texts.items()}
    deleted = delete_page(session, "W.md", recursive=True)
    preview = restore_page.preview(session, deleted.trash_id)
    assert preview.summary == "The page W.md would come back from the trash with the 3 below it."
    back = restore_page(session, deleted.trash_id)
    assert (back.path, back.below, back.warnings) == ("W.md", ("W/D.md", "W/B/C.md", "W/B/_index.md"), ())
    assert {path: (root / path).read_text() for path in ids} == texts
    restored = [facts["path"] for kind, facts in events(root) if kind == "PageRestored"]
    assert restored == ["W.md", *back.below]
    assert list(trash.list_trash(session.tree)) == []


def test_what_one_deletion_took_comes_back_elsewhere_and_around_what_is_there_now(root: Path, session: Session) -> None:
    page(root, "W/_index.md", "w")
    page(root, "W/B.md", "b")
    page(root, "W/C.md", "c")
    page(root, "There/B.md", "another")
    deleted = delete_page(session, "W", recursive=True)
    back = restore_page(session, deleted.trash_id, "There")
    assert (back.path, back.below) == ("There/_index.md", ("There/C.md",))
    (warning,) = back.warnings
    assert warning.startswith("There/B.md, which went with this page, stays in the trash: ")
    assert (root / "There/B.md").read_text() == "another"
    assert restore_page(session, deleted.below["W/B.md"]).path == "W/B.md"


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
