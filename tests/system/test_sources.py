"""Folders and sources in rows: ids stay whatever is done to them, and what was deleted comes back whole."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from mirrord.commands.pages.restore_command import restore_page
from mirrord.domain.entry import EntryId, new_id
from mirrord.research.segments import segment_records
from mirrord.research.segments.segment import Segment
from mirrord.research.sources.folder_commands import create_folder, delete_folder, list_folders, rename_folder
from mirrord.research.sources.source_commands import list_sources, move_source_to_folder, rename_source
from mirrord.research.sources.source_deletion import delete_source
from mirrord.research.sources.source_kinds import number_of
from tests.support.agents import agent
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.rows import page_of

ANA = new_id()
TEXT = f"---\nid: {ANA}\ntype: source\noriginal: ./assets/ana.docx\n---\nAna: Hi.\n"


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module; each has folders of its own."""
    with Near(tmp_path_factory.mktemp("sources"), tenant="sources", dsn=admin_dsn) as started:
        save(started.file("Welcome.md"), "a tree that loses its last file halts\n")
        started.up()
        yield started


def row_id(mirrord: Mirrord, path: str) -> EntryId:
    """The id of the living row of a page or folder."""
    return EntryId(eventually(lambda: mirrord.page(path), f"the row of {path}").id)


def is_deleted(mirrord: Mirrord, entry: EntryId) -> bool:
    row = page_of(mirrord.app, entry)
    return row is not None and row.deleted


def living(mirrord: Mirrord, table: str, **columns: Any) -> int:
    """How many rows that are not deleted have these values."""
    condition = " AND ".join(f"{name} = %s" for name in columns)
    query = f"SELECT count(*) FROM mirrord.{table} WHERE deleted_at IS NULL AND {condition}"
    row = mirrord.app.execute(query, list(columns.values())).fetchone()
    assert row is not None
    return int(row[0])


def test_a_folder_has_the_same_id_in_tools_and_rows_however_it_was_made(mirrord: Mirrord) -> None:
    mirrord.file("Sources/By hand").mkdir(parents=True)
    by_hand = row_id(mirrord, "Sources/By hand")
    with agent(mirrord) as session:
        created = create_folder(session, "By tool")
        by_tool = row_id(mirrord, "Sources/By tool")
        listed = {folder.name: folder.id for folder in list_folders(session).folders}
        assert listed == {"By hand": number_of(by_hand), "By tool": created.folder_id}
        assert number_of(by_tool) == created.folder_id

        rename_folder(session, listed["By hand"], "Was by hand")
        rename_folder(session, listed["By tool"], "Was by tool")
        assert {folder.id for folder in list_folders(session).folders} == set(listed.values())
        assert row_id(mirrord, "Sources/Was by hand") == by_hand
        assert row_id(mirrord, "Sources/Was by tool") == by_tool
        mirrord.flush()
        assert {folder.id for folder in list_folders(session).folders} == set(listed.values())

        for number in listed.values():
            delete_folder(session, number)
        folder_ids = (by_hand, by_tool)
        eventually(lambda: all(is_deleted(mirrord, entry) for entry in folder_ids), "the folders' rows deleted")


def test_a_source_moves_and_goes_and_comes_back_with_all_that_is_its_own(mirrord: Mirrord) -> None:
    save(mirrord.file("Sources/Ana.md"), TEXT)
    save(mirrord.file("Sources/assets/ana.docx"), "docx")
    assert row_id(mirrord, "Sources/Ana") == ANA
    with agent(mirrord) as session:
        with session.writing() as journal:
            segment_records.rewrite_segments(
                session, journal, ANA, lambda _: [Segment("a", 0, 3, "Ana", "speaker", "human:ana")]
            )
        eventually(lambda: living(mirrord, "record", kind="segment", key=str(ANA)) == 1, "the segments' row")
        folder = create_folder(session, "Talks")
        move_source_to_folder(session, number_of(ANA), folder.folder_id)
        rename_source(session, number_of(ANA), "Anna")
        assert row_id(mirrord, "Sources/Talks/Anna") == ANA
        (attachment,) = eventually(lambda: _attachments(mirrord), "the attachment's row")
        assert attachment == row_id(mirrord, "Sources/Talks")

        deleted = delete_source(session, number_of(ANA))
        assert deleted.deleted_segments_count == 1
        eventually(lambda: is_deleted(mirrord, ANA), "the source's row deleted")
        eventually(lambda: living(mirrord, "record", kind="segment", key=str(ANA)) == 0, "no segments")
        eventually(lambda: not _attachments(mirrord), "no attachment")

        restore_page(session, deleted.trash_id)
        assert row_id(mirrord, "Sources/Talks/Anna") == ANA
        eventually(lambda: living(mirrord, "record", kind="segment", key=str(ANA)) == 1, "the segments again")
        eventually(lambda: _attachments(mirrord), "the attachment again")
        (source,) = list_sources(session).sources
        assert (source.id, source.segments_count) == (number_of(ANA), 1)
    mirrord.flush()
    assert mirrord.check() == {}


def test_events_of_folders_and_sources_are_in_the_table_once_and_in_order(mirrord: Mirrord) -> None:
    with agent(mirrord) as session:
        created = create_folder(session, "Told")
        delete_folder(session, created.folder_id)
    query = (
        "SELECT type, actor ->> 'name', channel FROM mirrord.event "
        "WHERE data ->> 'folder_id' = %s AND data ->> 'name' = 'Told' ORDER BY occurred_at"
    )
    rows = eventually(
        lambda: rows if len(rows := mirrord.app.execute(query, [str(created.folder_id)]).fetchall()) == 2 else None,
        "two events",
    )
    assert rows == [("FolderCreated", "writer", "file"), ("FolderDeleted", "writer", "file")]


def _attachments(mirrord: Mirrord) -> list[UUID]:
    """Of which pages the attachment is that Ana was made from."""
    query = "SELECT parent_id FROM mirrord.attachment WHERE deleted_at IS NULL AND name = 'ana.docx'"
    return [row[0] for row in mirrord.app.execute(query).fetchall()]
