"""Folders of sources."""

from functools import partial
from pathlib import Path

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import read_page
from mirrord.commands.pages.restore_command import restore_page
from mirrord.domain.approval import ABSENT_DIGEST
from mirrord.domain.entry import EntryId, id_of_path, new_id, parse_id
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write.journal import TRASH_PATH
from mirrord.research.sources.folder_commands import (
    create_folder,
    delete_folder,
    list_folders,
    rename_folder,
)
from mirrord.research.sources.source_kinds import number_of
from mirrord.research.sources.source_listing import Reference
from tests.unit.commands.conftest import AGENT, TENANT, Open, events, page
from tests.unit.kills import killed_at

SOURCE = "---\ntype: source\n---\n\nSaid.\n"


def entry_in(file: Path) -> EntryId:
    """The UUID in the front matter of a page."""
    (line,) = (line for line in file.read_text().splitlines() if line.startswith("id: "))
    entry_id = parse_id(line.removeprefix("id: "))
    assert entry_id is not None
    return entry_id


def shown(session: Session) -> list[tuple[str, int | None]]:
    """The name and the parent of every folder."""
    return [(folder.name, folder.parent_id) for folder in list_folders(session).folders]


def files(root: Path) -> set[str]:
    """Every visible file and empty directory."""
    paths = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() or not any(path.iterdir())}
    return {path for path in paths if not path.startswith(".")}


def test_a_tree_without_sources_has_no_folders(root: Path, session: Session) -> None:
    assert list_folders(session).total_count == 0
    page(root, "Projects/A.md", SOURCE)
    assert list_folders(session).folders == []


def test_a_folder_is_made_with_a_page_that_keeps_its_id(root: Path, session: Session) -> None:
    created = create_folder(session, "Interviews")
    file = root / "Sources/Interviews/_index.md"

    assert created.folder_id == number_of(entry_in(file))
    assert (created.name, created.parent_id, created.path) == ("Interviews", None, "Sources/Interviews/_index.md")
    (listed,) = list_folders(session).folders
    assert (listed.id, listed.name, listed.parent_id) == (created.folder_id, "Interviews", None)
    assert listed.created_at is not None
    assert f"created: {listed.created_at}" in file.read_text().replace("'", "").replace('"', "")
    facts = {"folder_id": created.folder_id, "name": "Interviews", "parent_id": None, "path": created.path}
    digest = read_page(session, created.path).digest
    assert events(root) == [("FolderCreated", {**facts, "page_id": str(entry_in(file)), "digest": digest})]


def test_folders_are_in_folders_and_each_comes_before_those_in_it(session: Session) -> None:
    outer = create_folder(session, "Interviews")
    inner = create_folder(session, "2024", outer.folder_id)
    create_folder(session, "Reports")
    create_folder(session, "May", str(inner.folder_id))

    assert inner.parent_id == outer.folder_id
    assert shown(session) == [
        ("Interviews", None),
        ("2024", outer.folder_id),
        ("May", inner.folder_id),
        ("Reports", None),
    ]


def test_a_directory_a_person_made_is_a_folder_whose_time_is_not_known(root: Path, session: Session) -> None:
    (root / "Sources/By hand/Deep").mkdir(parents=True)
    page(root, "Sources/Noted.md", "---\ncreated: 2024-05-01\n---\n")
    (root / "Sources/Noted").mkdir()
    page(root, "Sources/Leaf.md", "a page, no folder")
    page(root, "Sources/Ana/_index.md", SOURCE)
    page(root, "Sources/Ana/Below/Notes.md", "of a source, no folder")
    (root / "Sources/assets/pictures").mkdir(parents=True)

    listed = list_folders(session)
    by_hand = number_of(id_of_path(TENANT, "Sources/By hand"))
    assert [(folder.id, folder.name, folder.parent_id, folder.created_at) for folder in listed.folders] == [
        (by_hand, "By hand", None, None),
        (number_of(id_of_path(TENANT, "Sources/By hand/Deep")), "Deep", by_hand, None),
        (number_of(id_of_path(TENANT, "Sources/Noted.md")), "Noted", None, "2024-05-01"),
    ]
    assert listed.total_count == 3


def test_a_long_list_goes_on_with_a_cursor(root: Path, session: Session) -> None:
    for number in range(501):
        (root / f"Sources/{number:03}").mkdir(parents=True)

    names, cursor, answers = list[str](), None, 0
    while answers == 0 or cursor is not None:
        listed = list_folders(session, cursor)
        assert listed.total_count == 501
        names, cursor, answers = names + [folder.name for folder in listed.folders], listed.next_cursor, answers + 1

    assert names == [f"{number:03}" for number in range(501)]
    assert answers > 4  # 8 KB each
    assert len(list_folders(session, limit=None).folders) == 501


@pytest.mark.parametrize("reference", ["number", "digits", "uuid"])
def test_a_folder_is_asked_for_by_number_digits_or_uuid(root: Path, session: Session, reference: str) -> None:
    created = create_folder(session, "Interviews")
    spelt: dict[str, Reference] = {
        "number": created.folder_id,
        "digits": str(created.folder_id),
        "uuid": str(entry_in(root / created.path)),
    }
    assert rename_folder(session, spelt[reference], "Talks").folder_id == created.folder_id


@pytest.mark.parametrize("top", [None, 0, "0", "", " "])
def test_no_parent_is_the_top_level(session: Session, top: Reference) -> None:
    assert create_folder(session, "Interviews", top).parent_id is None


@pytest.mark.parametrize(
    "name",
    [
        *("", "  ", "a/b", "a\\b", ".", "..", ".hidden", "assets", "_index", "a" * 256, "ä" * 101, "tab\tbed", "end."),
        *(" a", "con", "what?", "nul\0", "page.md", "-x", "half \ud800"),
    ],
)
def test_a_name_the_tree_refuses_is_refused_with_the_reason(root: Path, session: Session, name: str) -> None:
    created = create_folder(session, "Interviews")
    before = (events(root), files(root))

    with pytest.raises(Failed, match="The name") as failed:
        create_folder(session, name)
    assert (failed.value.code, failed.value.kind) == ("FOLDER_NOT_CREATED/INVALID_NAME", "invalid")
    with pytest.raises(Failed, match="The name") as failed:
        rename_folder(session, created.folder_id, name)
    assert failed.value.code == "FOLDER_NOT_RENAMED/INVALID_NAME"
    assert (events(root), files(root)) == before


def test_a_second_name_like_one_beside_it_is_refused_and_says_where(root: Path, session: Session) -> None:
    outer = create_folder(session, "Interviews")
    create_folder(session, "Ümlaut", outer.folder_id)
    page(root, "Sources/Report.md", SOURCE)

    for name in ("Interviews", "INTERVIEWS", "report"):
        with pytest.raises(Failed, match=f"'{name}' at the top level already") as failed:
            create_folder(session, name)
        assert (failed.value.code, failed.value.kind) == ("FOLDER_NOT_CREATED/DUPLICATE_NAME", "conflict")
    with pytest.raises(Failed, match="in the folder 'Interviews' already"):
        create_folder(session, "u\N{COMBINING DIAERESIS}mlaut", outer.folder_id)
    assert create_folder(session, "Interviews", outer.folder_id).parent_id == outer.folder_id


def test_a_folder_in_none_that_is_there_is_refused(session: Session) -> None:
    for reference in (17, "17", str(new_id()), "Interviews"):
        with pytest.raises(Failed, match=f"no folder with the id {reference}") as failed:
            create_folder(session, "A", reference)
        assert (failed.value.code, failed.value.kind) == ("FOLDER_NOT_CREATED/PARENT_NOT_FOUND", "not_found")


def test_a_renamed_folder_keeps_its_id_and_links_into_it_go_on_meaning_that(root: Path, session: Session) -> None:
    created = create_folder(session, "Interviews")
    page(root, "Sources/Interviews/Ana.md", SOURCE)
    page(root, "Notes.md", "[a](Sources/Interviews/Ana.md) [[Ana]] [[Interviews]]")
    renamed = rename_folder(session, created.folder_id, "Talks")

    assert (renamed.folder_id, renamed.old_name, renamed.name) == (created.folder_id, "Interviews", "Talks")
    assert shown(session) == [("Talks", None)]
    assert list_folders(session).folders[0].id == created.folder_id
    assert (root / "Notes.md").read_text() == "[a](Sources/Talks/Ana.md) [[Ana]] [[Talks]]"
    assert "title: Talks" in (root / "Sources/Talks/_index.md").read_text()
    kind, facts = events(root)[1]
    assert kind == "FolderRenamed"
    assert (facts["folder_id"], facts["old_name"], facts["name"]) == (created.folder_id, "Interviews", "Talks")
    assert [name for name, _ in events(root)] == ["FolderCreated", "FolderRenamed", "PageWritten"]


def test_a_folder_a_person_made_keeps_its_id_when_it_is_renamed(root: Path, session: Session) -> None:
    (root / "Sources/By hand").mkdir(parents=True)
    (folder,) = list_folders(session).folders
    renamed = rename_folder(session, folder.id, "Ordered")

    assert renamed.folder_id == folder.id
    assert [(folder.id, folder.name) for folder in list_folders(session).folders] == [(folder.id, "Ordered")]
    assert files(root) == {"Sources/Ordered/_index.md"}


def test_a_folder_whose_page_is_beside_it_is_renamed_with_it(root: Path, session: Session) -> None:
    page(root, "Sources/W.md", "w")
    page(root, "Sources/W/Ana.md", SOURCE)
    (folder,) = list_folders(session).folders
    rename_folder(session, folder.id, "V")
    assert files(root) == {"Sources/V.md", "Sources/V/Ana.md"}


def test_only_the_case_of_a_name_can_change(root: Path, session: Session) -> None:
    created = create_folder(session, "interviews")
    assert rename_folder(session, created.folder_id, "Interviews").name == "Interviews"
    assert files(root) == {"Sources/Interviews/_index.md"}


def test_a_name_that_is_the_same_changes_nothing(root: Path, session: Session) -> None:
    created = create_folder(session, "Interviews")
    assert rename_folder(session, created.folder_id, "Interviews").old_name == "Interviews"
    assert [name for name, _ in events(root)] == ["FolderCreated"]


def test_a_folder_is_not_renamed_to_the_name_of_one_beside_it(root: Path, session: Session) -> None:
    created = create_folder(session, "Interviews")
    create_folder(session, "Reports")
    with pytest.raises(Failed) as failed:
        rename_folder(session, created.folder_id, "reports")
    assert failed.value.code == "FOLDER_NOT_RENAMED/DUPLICATE_NAME"
    with pytest.raises(Failed) as failed:
        rename_folder(session, 1, "X")
    assert failed.value.code == "FOLDER_NOT_RENAMED/NOT_FOUND"


def test_an_empty_folder_is_deleted_and_its_page_is_in_the_trash(root: Path, session: Session) -> None:
    created = create_folder(session, "Interviews")
    entry = entry_in(root / created.path)
    deleted = delete_folder(session, created.folder_id)

    assert (deleted.folder_id, deleted.name) == (created.folder_id, "Interviews")
    assert files(root) == {"Sources"}
    kind, facts = events(root)[-1]
    assert (kind, facts["folder_id"], facts["page_id"]) == ("FolderDeleted", created.folder_id, str(entry))
    assert restore_page(session, str(facts["trash_id"])).path == created.path
    assert shown(session) == [("Interviews", None)]


def test_a_folder_without_a_page_is_deleted_too(root: Path, session: Session) -> None:
    (root / "Sources/By hand/assets").mkdir(parents=True)
    (folder,) = list_folders(session).folders
    delete_folder(session, folder.id)
    assert files(root) == {"Sources"}
    assert [name for name, _ in events(root)] == ["FolderDeleted"]


def test_a_folder_that_holds_anything_is_not_deleted_and_says_how_much(root: Path, session: Session) -> None:
    created = create_folder(session, "Interviews")
    inner = create_folder(session, "2024", created.folder_id)
    page(root, "Sources/Interviews/Ana.md", SOURCE)
    page(root, "Sources/Interviews/2024/Ben.md", SOURCE)
    page(root, "Sources/Interviews/Notes.md", "notes")
    page(root, "Sources/Interviews/assets/a.png", "picture")
    page(root, "Sources/Interviews/plan.txt", "plan")
    page(root, "Sources/Interviews/.hidden", "hidden")
    before = files(root)

    with pytest.raises(Failed, match="it holds 2 sources, 1 folder, 1 page and 3 files") as failed:
        delete_folder(session, created.folder_id)
    assert (failed.value.code, failed.value.kind) == ("FOLDER_NOT_DELETED/NOT_EMPTY", "conflict")
    assert failed.value.facts == {"sources": 2, "folders": 1, "pages": 1, "files": 3}
    with pytest.raises(Failed, match="it holds 1 source\\."):
        delete_folder(session, inner.folder_id)
    with pytest.raises(Failed, match="no folder with the id 5"):
        delete_folder(session, 5)
    assert files(root) == before
    assert [name for name, _ in events(root)] == ["FolderCreated", "FolderCreated"]


def test_a_folder_stays_one_when_its_last_source_moves_away(root: Path, session: Session) -> None:
    create_folder(session, "Interviews")
    page(root, "Sources/Interviews/Ana.md", SOURCE)
    move_page(session, "Sources/Interviews/Ana", "Sources/Ana")
    assert shown(session) == [("Interviews", None)]


def test_previews_say_what_would_happen_and_do_nothing(root: Path, session: Session) -> None:
    created = create_folder(session, "Interviews")
    page(root, created.path, (root / created.path).read_text() + "\nOur interviews.\n")
    before = (files(root), events(root), list((root / TRASH_PATH).glob("*")))

    preview = create_folder.preview(session, "2024", created.folder_id)
    assert preview.summary == "The folder '2024' would be made in the folder 'Interviews'."
    assert preview.bases == {"Sources/Interviews/2024/_index.md": ABSENT_DIGEST}
    preview = rename_folder.preview(session, created.folder_id, "Talks")
    assert preview.summary == "The folder 'Interviews' at the top level would be called 'Talks'."
    preview = delete_folder.preview(session, created.folder_id)
    assert preview.summary == "The folder 'Interviews' at the top level would be deleted; nothing is in it."
    assert "-Our interviews." in preview.lines
    assert preview.bases == {created.path: read_page(session, created.path).digest}
    assert (files(root), events(root), list((root / TRASH_PATH).glob("*"))) == before


def test_previews_refuse_what_the_commands_refuse(root: Path, session: Session) -> None:
    created = create_folder(session, "Interviews")
    page(root, "Sources/Interviews/Ana.md", SOURCE)
    for preview, arguments, code in (
        (create_folder.preview, ("a/b",), "FOLDER_NOT_CREATED/INVALID_NAME"),
        (create_folder.preview, ("interviews",), "FOLDER_NOT_CREATED/DUPLICATE_NAME"),
        (rename_folder.preview, (created.folder_id, ""), "FOLDER_NOT_RENAMED/INVALID_NAME"),
        (delete_folder.preview, (created.folder_id,), "FOLDER_NOT_DELETED/NOT_EMPTY"),
        (delete_folder.preview, (3,), "FOLDER_NOT_DELETED/NOT_FOUND"),
    ):
        with pytest.raises(Failed) as failed:
            preview(session, *arguments)
        assert failed.value.code == code


def test_two_sessions_see_what_the_other_did_at_once(connect: Open) -> None:
    first, other = connect(), connect()
    created = create_folder(first, "Interviews")
    assert [folder.id for folder in list_folders(other).folders] == [created.folder_id]
    rename_folder(other, created.folder_id, "Talks")
    assert shown(first) == [("Talks", None)]
    with pytest.raises(Failed):
        create_folder(first, "talks")


def test_a_folder_is_there_with_its_page_or_not_at_all_wherever_the_process_dies(root: Path) -> None:
    outcomes = set[bool]()
    for number in range(1, 100):
        name = f"F{number}"
        if not killed_at(number, root, partial(_create, name)):
            break
        assert (root / "Sources" / name / "_index.md").exists() == (root / "Sources" / name).exists()
        outcomes.add((root / "Sources" / name).exists())
    assert outcomes == {False, True}
    _create("Last", root)
    assert not list(root.glob("Sources/.*"))


def _create(name: str, root: Path) -> None:
    session = Session(Tree(root), "acme", TENANT, AGENT, "dying")
    create_folder(session, name)
    session.close()


def test_what_mirrorignore_keeps_out_cannot_be_made(root: Path, session: Session) -> None:
    (root / ".mirrorignore").write_text("Sources/Private/\n")
    created = create_folder(session, "Public")
    with pytest.raises(Failed, match="never be synced") as failed:
        create_folder(session, "Private")
    assert failed.value.code == "FOLDER_NOT_CREATED/INVALID_NAME"
    with pytest.raises(Failed, match="never be synced"):
        rename_folder(session, created.folder_id, "Private")
