"""Folders without a page file are read, written, moved and deleted by the path under which lists show them."""

from pathlib import Path

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.delete_commands import delete_page
from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import PagePart, read_page, write_page
from mirrord.commands.pages.page_listing import list_pages
from mirrord.commands.pages.plain_folders import NO_TEXT
from mirrord.commands.pages.restore_command import restore_page
from tests.unit.commands.conftest import Open, events, page


def test_a_folder_is_read_like_an_empty_page(root: Path, session: Session) -> None:
    page(root, "Notes/One.md", "one")
    (root / "Empty").mkdir()
    (listed,) = [page for page in list_pages(session).pages if page.path == "Notes"]
    shown_folder = read_page(session, "Notes/")
    assert (shown_folder.content, shown_folder.frontmatter, shown_folder.path, shown_folder.page_id) == (
        "",
        {},
        "Notes",
        listed.page_id,
    )
    assert shown_folder.folder is not None
    assert (shown_folder.folder.title, shown_folder.folder.has_children) == ("Notes", True)
    empty = read_page(session, "Empty").folder
    assert empty is not None
    assert not empty.has_children
    with pytest.raises(Failed, match="No section"):
        read_page(session, "Notes", PagePart("Log"))


def test_a_write_at_a_folder_makes_its_index_file(root: Path, session: Session) -> None:
    page(root, "Notes/One.md", "one")
    shown_folder = read_page(session, "Notes")
    written = write_page(session, shown_folder.path, "# Notes\n", expected_digest=shown_folder.digest)
    assert (written.path, written.created) == ("Notes/_index.md", True)
    assert read_page(session, "Notes").content.endswith("# Notes\n")


def test_a_folder_moves_with_its_pages_and_the_links_to_them(root: Path, session: Session) -> None:
    page(root, "Notes/One.md", "see [home](../Home.md)")
    page(root, "Notes/assets/x.png", "x")
    page(root, "Home.md", "see [one](Notes/One.md)")
    (root / "Archive").mkdir()
    preview = move_page.preview(session, "Notes", "Archive/")
    moved = move_page(session, "Notes", "Archive/")
    assert (moved.new_path, moved.moved, moved.links_rewritten) == (
        "Archive/Notes",
        {"Notes/One.md": "Archive/Notes/One.md"},
        2,
    )
    assert preview.facts["new_path"] == moved.new_path
    assert (root / "Home.md").read_text() == "see [one](Archive/Notes/One.md)"
    assert (root / "Archive/Notes/One.md").read_text() == "see [home](../../Home.md)"
    assert (root / "Archive/Notes/assets/x.png").exists()
    assert not (root / "Notes").exists()
    facts = {"page_id": read_page(session, "Archive/Notes").page_id, "path": "Archive/Notes", "old_path": "Notes"}
    recorded = [data for kind, data in events(root) if kind == "PageMoved"]
    assert [{**data, "page_id": facts["page_id"]} for data in recorded] == [facts]


def test_a_folder_is_renamed_also_to_another_case(root: Path, session: Session) -> None:
    page(root, "Notes/One.md", "one")
    assert move_page(session, "Notes", "Log").new_path == "Log"
    assert move_page(session, "Log", "LOG").new_path == "LOG"
    assert [path.name for path in root.iterdir() if not path.name.startswith(".")] == ["LOG"]
    assert move_page(session, "LOG", "LOG").moved == {}


def test_a_folder_goes_neither_below_itself_nor_over_another(root: Path, session: Session) -> None:
    page(root, "Notes/One.md", "one")
    page(root, "Log/Two.md", "two")
    page(root, "Leaf.md", "leaf")
    for destination, code in (("Notes/Below", "CYCLE"), ("Leaf.md", "EXISTS"), ("Log.md", "EXISTS")):
        with pytest.raises(Failed) as caught:
            move_page(session, "Notes", destination)
        assert caught.value.code == code
    with pytest.raises(Failed) as caught:
        move_page(session, "Notes", "Log.md", expected_digest="0" * 64)
    assert caught.value.code == "CONFLICT"


def test_an_empty_folder_is_deleted_and_comes_back(root: Path, session: Session) -> None:
    (root / "Empty").mkdir()
    deleted = delete_page(session, "Empty")
    assert not (root / "Empty").exists()
    assert restore_page.preview(session, deleted.trash_id).facts["path"] == "Empty"
    back = restore_page(session, deleted.trash_id)
    assert (back.path, back.digest) == ("Empty", NO_TEXT.hex())
    assert (root / "Empty").is_dir()
    assert [kind for kind, _ in events(root)] == ["PageDeleted", "PageRestored"]
    with pytest.raises(Failed, match="holds nothing"):
        restore_page(session, deleted.trash_id)


def test_a_folder_with_something_in_it_is_only_deleted_recursively_and_comes_back_whole(
    root: Path, session: Session
) -> None:
    page(root, "Notes/One.md", "one")
    page(root, "Notes/assets/deep/x.png", "x")
    (root / "Notes/Empty").mkdir()
    with pytest.raises(Failed, match="a page below") as caught:
        delete_page(session, "Notes")
    assert caught.value.code == "HAS_CHILDREN"
    assert delete_page.preview(session, "Notes", recursive=True).facts["deleted_pages_count"] == 1
    deleted = delete_page(session, "Notes", recursive=True)
    assert not (root / "Notes").exists()
    assert deleted.below.keys() == {"Notes/One.md"}
    restore_page(session, deleted.below["Notes/One.md"])
    assert restore_page(session, deleted.trash_id).warnings == ()
    assert (root / "Notes/One.md").read_text() == "one"
    assert (root / "Notes/assets/deep/x.png").read_text() == "x"


def test_a_folder_with_only_folders_in_it_needs_recursive_too(root: Path, session: Session) -> None:
    (root / "Notes/Empty").mkdir(parents=True)
    with pytest.raises(Failed, match="folders below"):
        delete_page(session, "Notes")
    delete_page(session, "Notes", recursive=True)
    assert not (root / "Notes").exists()


def test_a_folder_with_files_that_are_not_synced_stays_as_it_is(root: Path, session: Session) -> None:
    page(root, "Notes/One.md", "one")
    page(root, "Notes/plan.ods", "x")
    with pytest.raises(Failed, match=r"such as Notes/plan\.ods") as caught:
        delete_page(session, "Notes", recursive=True)
    assert caught.value.code == "HAS_FILES"
    assert (root / "Notes/One.md").exists()


def test_a_deleted_folder_does_not_come_back_over_a_page(root: Path, session: Session) -> None:
    (root / "Empty").mkdir()
    deleted = delete_page(session, "Empty")
    page(root, "Empty.md", "a page")
    with pytest.raises(Failed) as caught:
        restore_page(session, deleted.trash_id)
    assert caught.value.code == "EXISTS"
    assert restore_page(session, deleted.trash_id, "Other").path == "Other"


def test_a_page_above_becomes_a_leaf_without_the_folder_and_one_with_it_a_folders(root: Path, session: Session) -> None:
    page(root, "W/_index.md", "w")
    page(root, "W/Sub/One.md", "one")
    page(root, "Leaf.md", "leaf")
    moved = move_page(session, "W/Sub", "Leaf/")
    assert (moved.new_path, (root / "W.md").read_text(), (root / "W").exists()) == ("Leaf/Sub", "w", False)
    assert (root / "Leaf/_index.md").read_text() == "leaf"
    assert (root / "Leaf/Sub/One.md").read_text() == "one"


def test_a_folder_above_all_sources_is_left_alone(root: Path, connect: Open) -> None:
    page(root, "Study/Sources/One.md", "one")
    session = connect(sources_dir="Study/Sources")
    with pytest.raises(Failed, match="or holds them"):
        delete_page(session, "Study", recursive=True)


def test_a_folder_of_sources_is_left_to_its_own_tools(root: Path, session: Session) -> None:
    page(root, "Sources/Interviews/One.md", "one")
    for refused in (lambda: move_page(session, "Sources/Interviews", "Talks"), lambda: delete_page(session, "Sources")):
        with pytest.raises(Failed) as caught:
            refused()
        assert caught.value.code == "FOLDER_OF_SOURCES"


def test_what_is_neither_page_nor_folder_is_not_found(session: Session) -> None:
    for refused in (
        lambda: read_page(session, "Nothing"),
        lambda: move_page(session, "Nothing", "Log"),
        lambda: delete_page(session, "Nothing"),
    ):
        with pytest.raises(Failed, match="not found"):
            refused()
