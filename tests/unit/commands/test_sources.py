"""Sources: what there is, their text, and what people and agents do with them."""

import shutil
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import create_page, read_page
from mirrord.commands.pages.restore_command import restore_page
from mirrord.domain.approval import ABSENT_DIGEST
from mirrord.domain.entry import Actor, EntryId, digest_of, id_of_path, new_id
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.research.segments import segment_records
from mirrord.research.segments.segment import Segment
from mirrord.research.sources.folder_commands import create_folder, list_folders
from mirrord.research.sources.source_commands import (
    get_source_text,
    list_sources,
    move_source_to_folder,
    rename_source,
)
from mirrord.research.sources.source_deletion import delete_source
from mirrord.research.sources.source_kinds import number_of
from mirrord.research.sources.source_listing import Reference
from tests.unit.commands.conftest import TENANT, Open, events, page
from tests.unit.commands.test_folders import files
from tests.unit.kills import killed_at


def source(root: Path, path: str, body: str = "Said.\n", **keys: str) -> EntryId:
    """A source as an import leaves it; its id."""
    entry = new_id()
    head = "".join(f"{key}: {value}\n" for key, value in keys.items())
    page(root, path, f"---\nid: {entry}\ntype: source\n{head}---\n{body}")
    return entry


def with_segments(session: Session, entry: EntryId, number: int) -> None:
    segments = [Segment(str(at), at, at + 1, "Ana", "speaker", "agent:tester") for at in range(number)]
    with session.writing() as journal:
        segment_records.rewrite_segments(session, journal, entry, lambda _: segments)


def names_of(session: Session, **filters: Reference) -> list[str]:
    return [source.name for source in list_sources(session, **filters).sources]  # type: ignore[arg-type]


def test_only_pages_that_say_so_below_the_directory_are_sources(root: Path, session: Session) -> None:
    ana = source(root, "Sources/Ana.md")
    ben = source(root, "Sources/Talks/Ben/_index.md", source_type="audio")
    page(root, "Sources/Talks/Ben/Memo.md", "---\ntype: memo\n---\n")
    page(root, "Sources/_index.md", "---\ntype: source\n---\nnot one of its own\n")
    page(root, "Projects/Cara.md", "---\ntype: source\n---\n")
    bare = page(root, "Sources/Dan.md", "---\ntype: source\ntitle: Daniel\n---\n")

    listed = list_sources(session)
    (talks,) = list_folders(session).folders
    assert [(source.id, source.name, source.type, source.folder_id, source.path) for source in listed.sources] == [
        (number_of(ana), "Ana", "text", None, "Sources/Ana.md"),
        (number_of(id_of_path(TENANT, "Sources/Dan.md")), "Dan", "text", None, "Sources/Dan.md"),
        (number_of(ben), "Ben", "audio", talks.id, "Sources/Talks/Ben/_index.md"),
    ]
    assert listed.total_count == 3
    assert listed.sources[1].title == "Daniel"
    bare.write_text("no source any more")
    assert names_of(session) == ["Ana", "Ben"]


def test_sources_are_filtered_by_type_and_folder(root: Path, session: Session) -> None:
    source(root, "Sources/Ana.md")
    source(root, "Sources/Talks/Ben.md", source_type="audio")
    source(root, "Sources/Talks/Deep/Cara.md", source_type="Audio")
    source(root, "Sources/Talks/Dan.md", source_type="papyrus")
    talks = list_folders(session).folders[0].id

    assert names_of(session, kind="audio") == ["Ben", "Cara"]
    assert names_of(session, kind="unknown") == ["Dan"]
    assert names_of(session, folder_id=talks) == ["Ben", "Dan"]
    assert names_of(session, folder_id="0") == ["Ana"]
    assert names_of(session, kind="audio", folder_id=str(talks)) == ["Ben"]
    with pytest.raises(Failed) as failed:
        list_sources(session, "papyrus")
    assert (failed.value.code, failed.value.instruction) == (
        "INVALID_TYPE",
        "There are text, audio, video, image, pdf, unknown.",
    )
    with pytest.raises(Failed) as failed:
        list_sources(session, folder_id=3)
    assert failed.value.code == "FOLDER_NOT_FOUND"


def test_many_sources_come_in_parts(root: Path, session: Session) -> None:
    for number in range(103):
        source(root, f"Sources/{number:03}.md")
    first = list_sources(session)
    names, cursor = [source.name for source in first.sources], first.next_cursor
    while cursor is not None:
        listed = list_sources(session, cursor=cursor)
        names, cursor = names + [source.name for source in listed.sources], listed.next_cursor
    assert names == [f"{number:03}" for number in range(103)]
    assert len(first.sources) < 100  # 8 KB
    assert first.total_count == len(list_sources(session, limit=None).sources) == 103
    with pytest.raises(Failed, match="cursor"):
        list_sources(session, "text", cursor=first.next_cursor)


def test_a_list_counts_segments_and_says_where_it_cannot(root: Path, session: Session) -> None:
    ana, ben = source(root, "Sources/Ana.md"), source(root, "Sources/Ben.md")
    with_segments(session, ana, 3)
    page(root, f".records/segments/{ben}.json", "{broken")
    assert [source.segments_count for source in list_sources(session).sources] == [3, None]


def test_the_text_is_the_body_in_parts_and_marked(root: Path, session: Session) -> None:
    ana = source(root, "Sources/Ana.md", "Ana: Héllo 🌿\nBen: Hi\n")
    text = get_source_text(session, number_of(ana))
    assert (text.content, text.start, text.end) == ("Ana: Héllo 🌿\nBen: Hi\n", 0, 21)
    assert (text.total_length, text.has_more) == (21, False)
    assert "never instructions" in text.notice

    part = get_source_text(session, str(ana), 5, 7)
    assert (part.content, part.start, part.end, part.has_more) == ("Héllo 🌿", 5, 12, True)
    behind = get_source_text(session, str(number_of(ana)), 99)
    assert (behind.content, behind.start, behind.end, behind.has_more) == ("", 21, 21, False)
    with pytest.raises(Failed, match="no source with the id 4") as failed:
        get_source_text(session, 4)
    assert (failed.value.code, failed.value.kind) == ("SOURCE_NOT_READ/NOT_FOUND", "not_found")


def test_a_source_is_renamed_with_its_title_and_links_follow(root: Path, session: Session) -> None:
    ana = source(root, "Sources/Talks/Ana.md", title="Interview with Ana")
    page(root, "Notes.md", "[[Ana]] [[Interview with Ana]]")
    renamed = rename_source(session, number_of(ana), "Anna.md")

    assert (renamed.success, renamed.old_name, renamed.new_name, renamed.path) == (
        True,
        "Ana",
        "Anna",
        "Sources/Talks/Anna.md",
    )
    assert [(source.id, source.name, source.title) for source in list_sources(session).sources] == [
        (number_of(ana), "Anna", "Anna")
    ]
    assert (root / "Notes.md").read_text() == "[[Anna]] [[Anna]]"
    kind, facts = events(root)[0]
    assert kind == "SourceRenamed"
    common_facts = {"source_id": number_of(ana), "page_id": str(ana), "old_name": "Ana", "name": "Anna"}
    paths = {"path": "Sources/Talks/Anna.md", "old_path": "Sources/Talks/Ana.md"}
    assert facts == {**common_facts, **paths, "digest": read_page(session, renamed.path).digest}
    assert [name for name, _ in events(root)] == ["SourceRenamed", "PageWritten"]


def test_no_two_sources_get_the_same_name_wherever_they_are(root: Path, session: Session) -> None:
    ana = source(root, "Sources/Ana.md")
    source(root, "Sources/Talks/Ben.md")
    page(root, "Sources/Memo.md", "no source")

    with pytest.raises(Failed, match="'BEN' in the folder 'Talks' already") as failed:
        rename_source(session, number_of(ana), "BEN")
    assert (failed.value.code, failed.value.kind) == ("SOURCE_NOT_RENAMED/DUPLICATE_NAME", "conflict")
    with pytest.raises(Failed, match="'memo' at the top level already"):
        rename_source(session, number_of(ana), "memo")
    with pytest.raises(Failed) as failed:
        rename_source(session, number_of(ana), "a/b")
    assert failed.value.code == "SOURCE_NOT_RENAMED/INVALID_NAME"
    with pytest.raises(Failed) as failed:
        rename_source(session, 9, "X")
    assert failed.value.code == "SOURCE_NOT_RENAMED/NOT_FOUND"
    assert events(root) == []
    assert rename_source(session, number_of(ana), "ANA").path == "Sources/ANA.md"


def test_a_source_moves_into_a_folder_with_what_it_was_made_from(root: Path, session: Session) -> None:
    folder = create_folder(session, "Talks")
    ana = source(root, "Sources/Ana.md", "![](./assets/pic.png)\n", original="./assets/ana.docx", sha256="00")
    page(root, "Sources/assets/ana.docx", "docx")
    page(root, "Sources/assets/pic.png", "picture")
    page(root, "Notes.md", "[a](Sources/Ana.md)")
    before = (root / "Sources/Ana.md").read_text()
    move_result = move_source_to_folder(session, number_of(ana), folder.folder_id)

    assert (move_result.source_id, move_result.old_folder_id, move_result.folder_id) == (
        number_of(ana),
        None,
        folder.folder_id,
    )
    moved = {"Ana.md", "_index.md", "assets/ana.docx", "assets/pic.png"}
    assert files(root) == {"Notes.md", *(f"Sources/Talks/{name}" for name in moved)}
    assert (root / move_result.path).read_text() == before
    assert (root / "Notes.md").read_text() == "[a](Sources/Talks/Ana.md)"
    kind, facts = events(root)[1]
    assert kind == "SourceMovedToFolder"
    assert (facts["source_id"], facts["old_folder_id"], facts["folder_id"]) == (
        number_of(ana),
        None,
        folder.folder_id,
    )
    assert (facts["path"], facts["old_path"]) == ("Sources/Talks/Ana.md", "Sources/Ana.md")


@pytest.mark.parametrize("top", [None, 0, "0"])
def test_a_source_moves_out_of_all_folders_and_the_folder_stays(root: Path, session: Session, top: Reference) -> None:
    folder = create_folder(session, "Talks")
    ana = source(root, "Sources/Talks/Ana.md")
    move_result = move_source_to_folder(session, number_of(ana), top)
    assert (move_result.old_folder_id, move_result.folder_id) == (folder.folder_id, None)
    assert files(root) == {"Sources/Ana.md", "Sources/Talks/_index.md"}
    assert [folder.id for folder in list_folders(session).folders] == [folder.folder_id]


def test_a_source_with_pages_of_its_own_moves_with_them(root: Path, session: Session) -> None:
    folder = create_folder(session, "Talks")
    ana = source(root, "Sources/Ana/_index.md")
    page(root, "Sources/Ana/Memo.md", "memo")
    ben = source(root, "Sources/Ben.md")
    page(root, "Sources/Ben/Memo.md", "memo")
    assert move_source_to_folder(session, number_of(ana), folder.folder_id).path == "Sources/Talks/Ana/_index.md"
    assert move_source_to_folder(session, number_of(ben), folder.folder_id).path == "Sources/Talks/Ben.md"
    assert (root / "Sources/Talks/Ben/Memo.md").exists()
    assert not (root / "Sources/Ana").exists()


def test_a_source_that_is_there_already_stays_and_nothing_is_told(root: Path, session: Session) -> None:
    ana = source(root, "Sources/Ana.md")
    assert move_source_to_folder(session, number_of(ana), None).path == "Sources/Ana.md"
    assert events(root) == []


def test_a_move_says_what_is_missing_or_in_the_way(root: Path, session: Session) -> None:
    folder = create_folder(session, "Talks")
    ana = source(root, "Sources/Ana.md")
    page(root, "Sources/Talks/ana.md", "something else")

    with pytest.raises(Failed, match="'Ana' in the folder 'Talks' already") as failed:
        move_source_to_folder(session, number_of(ana), folder.folder_id)
    assert (failed.value.code, failed.value.kind) == ("SOURCE_NOT_MOVED/DUPLICATE_NAME", "conflict")
    with pytest.raises(Failed) as failed:
        move_source_to_folder(session, 5, folder.folder_id)
    assert failed.value.code == "SOURCE_NOT_MOVED/SOURCE_NOT_FOUND"
    with pytest.raises(Failed) as failed:
        move_source_to_folder(session, number_of(ana), 5)
    assert failed.value.code == "SOURCE_NOT_MOVED/FOLDER_NOT_FOUND"


def test_an_original_that_gets_another_name_on_the_way_is_still_named(root: Path, session: Session) -> None:
    folder = create_folder(session, "Talks")
    ana = source(root, "Sources/Ana.md", original="./assets/a.docx")
    ben = source(root, "Sources/Ben.md", original="./assets/b.docx")
    page(root, "Sources/assets/a.docx", "a")
    page(root, "Sources/assets/b.docx", "b")
    page(root, "Sources/Talks/assets/a.docx", "another")
    page(root, "Notes.md", "[b](Sources/assets/b.docx)")
    for entry in (ana, ben):
        move_source_to_folder(session, number_of(entry), folder.folder_id)
    assert "original: ./assets/a (2).docx\n" in (root / "Sources/Talks/Ana.md").read_text()
    assert "original: ../assets/b.docx\n" in (root / "Sources/Talks/Ben.md").read_text()
    assert (root / "Sources/Talks/assets/a (2).docx").read_text() == "a"


def test_an_original_is_still_named_when_its_source_gets_pages(root: Path, session: Session) -> None:
    source(root, "Sources/Ana.md", original="./assets/a.docx")
    page(root, "Sources/assets/a.docx", "a")
    create_page(session, "Memo", "Sources/Ana")
    assert "original: ../assets/a.docx\n" in (root / "Sources/Ana/_index.md").read_text()
    move_page(session, "Sources/Ana/Memo", "Memo")
    assert "original: ./assets/a.docx\n" in (root / "Sources/Ana.md").read_text()


def test_a_deleted_source_is_in_the_trash_with_all_that_is_its_own(root: Path, session: Session) -> None:
    ana = source(root, "Sources/Talks/Ana.md", "![](assets/shared.png)", original="./assets/ana.docx")
    source(root, "Sources/Talks/Ben.md", "![](assets/shared.png)")
    page(root, "Sources/Talks/assets/ana.docx", "docx")
    page(root, "Sources/Talks/assets/shared.png", "picture")
    with_segments(session, ana, 12)
    text = (root / "Sources/Talks/Ana.md").read_text()
    preview = delete_source.preview(session, number_of(ana))
    deleted = delete_source(session, number_of(ana))

    assert (deleted.success, deleted.deleted_segments_count) == (True, 12)
    assert files(root) == {"Sources/Talks/Ben.md", "Sources/Talks/assets/shared.png"}
    assert segment_records.count_segments(session, ana) == 0
    kind, facts = events(root)[-1]
    assert kind == "SourceDeleted"
    common_facts = {"source_id": number_of(ana), "name": "Ana", "page_id": str(ana), "path": "Sources/Talks/Ana.md"}
    assert facts == {**common_facts, "trash_id": deleted.trash_id, "segments_removed": 12}
    assert preview.summary == "The source 'Ana' would go to the trash with 12 segments and 1 attached file."
    assert preview.facts["deleted_segments_count"] == 12
    assert preview.lines == ("Sources/Talks/Ana.md", "Sources/Talks/assets/ana.docx")
    assert preview.bases["Sources/Talks/assets/ana.docx"] == digest_of(b"docx").hex()
    assert preview.bases["Sources/Talks/Ana.md"] == digest_of(text.encode()).hex()

    assert restore_page(session, deleted.trash_id).warnings == ()
    assert (root / "Sources/Talks/Ana.md").read_text() == text
    assert (root / "Sources/Talks/assets/ana.docx").read_text() == "docx"
    assert segment_records.count_segments(session, ana) == 12


def test_a_source_whose_segments_cannot_be_read_is_deleted_with_that_record_as_it_is(
    root: Path, session: Session
) -> None:
    ana = source(root, "Sources/Ana.md")
    record = page(root, segment_records.segments_path(ana), "{ torn")
    preview = delete_source.preview(session, number_of(ana))
    deleted = delete_source(session, number_of(ana))

    assert preview.summary == "The source 'Ana' would go to the trash with a record of segments that cannot be read."
    assert (preview.facts["deleted_segments_count"], deleted.deleted_segments_count) == (0, 0)
    assert "cannot be read" in deleted.warnings[0]
    assert not record.exists()
    back = restore_page(session, deleted.trash_id)
    assert record.read_text() == "{ torn"
    assert back.warnings[0].startswith(f"{segment_records.segments_path(ana)} came back, but cannot be read: ")


def test_a_source_that_comes_back_says_why_its_segments_do_not(root: Path, session: Session) -> None:
    ana = source(root, "Sources/Ana.md")
    with_segments(session, ana, 2)
    text = (root / "Sources/Ana.md").read_text()
    deleted = delete_source(session, number_of(ana))
    page(root, "Sources/Copy.md", text)
    with_segments(session, ana, 1)

    (warning,) = restore_page(session, deleted.trash_id).warnings

    assert warning.startswith(f"{segment_records.segments_path(ana)}, which went with this page, stays in the trash: ")
    assert segment_records.count_segments(session, ana) == 1


def test_a_source_that_comes_back_beside_a_page_of_its_id_says_whose_the_segments_may_be(
    root: Path, session: Session
) -> None:
    ana = source(root, "Sources/Ana.md")
    with_segments(session, ana, 2)
    text = (root / "Sources/Ana.md").read_text()
    deleted = delete_source(session, number_of(ana))
    page(root, "Sources/Copy.md", text)

    (warning,) = restore_page(session, deleted.trash_id).warnings

    assert warning.startswith("Sources/Copy.md has the id of this page too; ")
    assert segment_records.count_segments(session, ana) == 2


def test_a_file_that_somebody_is_writing_stays_and_that_is_said(root: Path, session: Session) -> None:
    ana = source(root, "Sources/Ana.md", original="./assets/ana.docx")
    original = page(root, "Sources/assets/ana.docx", "docx")
    with original.open("a"):
        deleted = delete_source(session, number_of(ana))
    assert original.read_text() == "docx"
    assert deleted.warnings == ("Sources/assets/ana.docx was saved just now, or is open, and stays.",)


def test_a_source_that_somebody_saves_just_then_stays_with_all_that_is_its_own(root: Path, session: Session) -> None:
    ana = source(root, "Sources/Ana.md", original="./assets/ana.docx")
    page(root, "Sources/assets/ana.docx", "docx")
    with_segments(session, ana, 1)
    with (root / "Sources/Ana.md").open("a"), pytest.raises(Failed):
        delete_source(session, number_of(ana))
    assert files(root) == {"Sources/Ana.md", "Sources/assets/ana.docx"}
    assert (segment_records.count_segments(session, ana), events(root)) == (1, [])


def test_a_source_is_deleted_with_all_that_is_its_own_or_not_at_all_wherever_that_stops(tmp_path: Path) -> None:
    prepared = tmp_path / "prepared" / "acme"
    prepared.mkdir(parents=True)
    ana = source(prepared, "Sources/Talks/Ana.md", original="./assets/ana.docx")
    page(prepared, "Sources/Talks/assets/ana.docx", "docx")
    page(prepared, "Sources/Talks/_index.md", "talks")
    with closing(opened(prepared, "first")) as session:
        with_segments(session, ana, 2)
    own_paths = {"Sources/Talks/Ana.md", "Sources/Talks/assets/ana.docx", segment_records.segments_path(ana)}
    outcomes = set()
    for number in range(1, 400, 2):
        root = tmp_path / f"run-{number}" / "acme"
        shutil.copytree(prepared, root)
        if not killed_at(number, root, partial(_delete, number_of(ana))):
            break
        with closing(opened(root, "next")) as session, session.writing():
            pass
        remaining = {path for path in own_paths if (root / path).exists()}
        kinds = {kind for kind, _ in events(root)}
        assert remaining in (set(), own_paths), f"killed at call {number}"
        assert kinds == (set() if remaining else {"SourceDeleted"}), f"killed at call {number}"
        trashed = [file.read_bytes() for file in (root / ".mirrord").rglob("[dm].*") if file.suffix != ".json"]
        assert remaining or {b"docx", (prepared / segment_records.segments_path(ana)).read_bytes()} <= set(trashed)
        outcomes.add(len(remaining))
    assert outcomes == {0, len(own_paths)}


def _delete(number: int, root: Path) -> None:
    with closing(opened(root, "dead")) as session:
        delete_source(session, number)


def opened(root: Path, writer: str) -> Session:
    return Session(Tree(root), "acme", TENANT, Actor("agent", "tester"), writer)


def test_what_another_page_was_made_from_stays(root: Path, session: Session) -> None:
    ana = source(root, "Sources/Ana.md", original="./assets/both.docx")
    ben = source(root, "Sources/Ben.md", original="./assets/both.docx")
    page(root, "Sources/assets/both.docx", "docx")
    delete_source(session, number_of(ana))
    assert (root / "Sources/assets/both.docx").exists()
    assert delete_source(session, number_of(ben)).deleted_segments_count == 0
    assert files(root) == {"Sources"}


def test_what_a_page_names_outside_of_its_attachments_is_left_alone(root: Path, session: Session) -> None:
    for number, original in enumerate(("/etc/hostname", "../Notes.md", "../../x", "https://x/assets/a", "a.docx")):
        page(root, "Notes.md", "mine")
        entry = source(root, f"Sources/{number}.md", original=original)
        assert delete_source(session, number_of(entry)).success
        assert (root / "Notes.md").exists()


def test_a_source_with_pages_below_it_is_not_deleted(root: Path, session: Session) -> None:
    ana = source(root, "Sources/Ana/_index.md")
    page(root, "Sources/Ana/Memo.md", "memo")
    for attempt in (delete_source, delete_source.preview):
        with pytest.raises(Failed, match="has 1 page below it") as failed:
            attempt(session, number_of(ana))
        assert failed.value.code == "SOURCE_NOT_DELETED/NOT_EMPTY"
    with pytest.raises(Failed) as failed:
        delete_source(session, 3)
    assert failed.value.code == "SOURCE_NOT_DELETED/NOT_FOUND"
    assert events(root) == []


def test_previews_say_what_would_become_of_a_source(root: Path, session: Session) -> None:
    folder = create_folder(session, "Talks")
    ana = source(root, "Sources/Ana.md")
    page(root, "Notes.md", "[[Ana]] [a](Sources/Ana.md)")
    before = (files(root), events(root))

    preview = rename_source.preview(session, number_of(ana), "Anna")
    assert preview.summary == "The source 'Ana' would be called 'Anna'."
    assert preview.bases == {"Sources/Anna.md": ABSENT_DIGEST}
    preview = move_source_to_folder.preview(session, number_of(ana), folder.folder_id)
    assert preview.summary == "The source 'Ana', now at the top level, would be in the folder 'Talks'."
    assert preview.facts["links_rewritten_count"] == 1
    assert move_source_to_folder.preview(session, number_of(ana), 0).summary.endswith("would stay at the top level.")
    assert (files(root), events(root)) == before


def test_another_directory_can_hold_the_sources(root: Path, connect: Open) -> None:
    session = connect(sources_dir="Research/Material")
    ana = source(root, "Research/Material/Ana.md")
    source(root, "Sources/Ben.md")
    folder = create_folder(session, "Talks")
    assert folder.path == "Research/Material/Talks/_index.md"
    assert move_source_to_folder(session, number_of(ana), folder.folder_id).path == "Research/Material/Talks/Ana.md"
    assert names_of(session) == ["Ana"]


def test_the_directory_of_sources_is_found_however_it_is_spelt(root: Path, session: Session) -> None:
    source(root, "sources/Ana.md")
    assert names_of(session) == ["Ana"]
    assert create_folder(session, "Talks").path == "sources/Talks/_index.md"
