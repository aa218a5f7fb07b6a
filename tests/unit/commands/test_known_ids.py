"""Ids that tools show are those that the daemon gave, also of files that were moved since it looked."""

import json
from pathlib import Path

from mirrord.commands.changes.apply_command import apply_changes
from mirrord.commands.core.session import Session
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import read_page, write_page
from mirrord.commands.pages.page_listing import list_pages
from mirrord.domain.entry import EntryId, digest_of, id_of_path, new_id
from mirrord.domain.event import EVENTS_FOLDER
from mirrord.mirror.mirror_state import State
from mirrord.mirror.state_file import cached_stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.research.segments import segment_records
from mirrord.research.segments.segment import Segment
from mirrord.research.sources.source_commands import list_sources, move_source_to_folder, rename_source
from mirrord.research.sources.source_kinds import number_of
from tests.unit.commands.conftest import TENANT, page
from tests.unit.commands.test_change_laws import draft_in


def note(root: Path, path: str) -> EntryId:
    """The daemon knows the file as it is now; the id it has given it."""
    tree = Tree(root)
    state, entry, stat = State(tree), new_id(), tree.stat(path)
    assert stat is not None
    data = (root / path).read_bytes() if stat.is_file else b""
    state.store({path: cached_stat(stat, digest_of(data), entry)})
    state.close()
    tree.close()
    return entry


def test_a_moved_page_has_the_id_that_the_daemon_gave_it(root: Path, session: Session) -> None:
    page(root, "Plan.md", "# Plan\n\nSee [[Other]].\n")
    page(root, "Other.md", "# Other\n\nBack to [[Plan]].\n")
    plan, other = note(root, "Plan.md"), note(root, "Other.md")

    moved = move_page(session, "Plan.md", "Archive/Scheme.md")

    assert moved.page_id == str(plan)
    assert read_page(session, "Archive/Scheme.md").page_id == str(plan)
    assert read_page(session, "Other.md").page_id == str(other)


def test_a_page_keeps_its_id_through_moves_and_writes_while_no_daemon_looks(root: Path, session: Session) -> None:
    page(root, "Plan.md", "# Plan\n")
    plan = note(root, "Plan.md")
    move_page(session, "Plan.md", "A/Plan.md")
    read_page(session, "A/Plan.md")
    written = write_page(session, "A/Plan.md", "# Plan\n\nMore.\n")
    moved = move_page(session, "A/Plan.md", "B/Plan.md")
    assert [written.page_id, moved.page_id, read_page(session, "B/Plan.md").page_id] == [str(plan)] * 3


def test_an_applied_page_has_the_id_that_its_file_in_the_tree_has_then(root: Path, session: Session) -> None:
    drafted, later, unchanged = new_id(), new_id(), new_id()
    page(root, "Plan.md", f"---\nid: {drafted}\n---\n# Plan\n\nOne.\n")
    page(root, "Same.md", f"---\nid: {unchanged}\n---\nOne.\n")
    page(root, "Bare.md", "One.\n")
    with draft_in(session) as draft:
        for path in ("Plan.md", "Same.md", "Bare.md"):
            edit_page(draft.session, path, [{"find": "One.", "replace": "Two."}])
        page(root, "Plan.md", f"---\nid: {later}\n---\n# Plan\n\nOne.\n")
        recorded = note(root, "Bare.md")
        apply_changes(session, draft.facts.id)

    lines = b"".join(path.read_bytes() for path in (root / EVENTS_FOLDER).iterdir()).splitlines()
    facts = [event["data"] for line in lines if (event := json.loads(line))["type"] == "PageWritten"]
    expected_ids = {"Plan.md": str(later), "Same.md": str(unchanged), "Bare.md": str(recorded)}
    assert {fact["path"]: fact["page_id"] for fact in facts} == expected_ids


def test_a_source_keeps_its_id_and_segments_while_no_daemon_looks(root: Path, session: Session) -> None:
    page(root, "Sources/Talk.md", "---\ntype: source\n---\nAna: Hm.\n")
    page(root, "Sources/Folder/_index.md", "# Folder\n")
    talk, folder = note(root, "Sources/Talk.md"), note(root, "Sources/Folder/_index.md")
    with session.writing() as journal:
        segment_records.rewrite_segments(
            session, journal, talk, lambda _: [Segment("s", 0, 3, "Ana", "speaker", "human:eva")]
        )

    move_source_to_folder(session, number_of(talk), number_of(folder))
    rename_source(session, number_of(talk), "Interview")

    (source,) = list_sources(session).sources
    assert (source.id, source.segments_count) == (number_of(talk), 1)


def test_a_new_file_that_got_the_number_of_a_removed_one_is_not_that_page(root: Path, session: Session) -> None:
    file = page(root, "Old.md", "old\n")
    note(root, "Old.md")
    file.unlink()
    page(root, "New.md", "new\n")
    assert read_page(session, "New.md").page_id == str(id_of_path(TENANT, "New.md"))


def test_lists_show_the_id_of_written_bytes_wherever_they_are_now(root: Path, session: Session) -> None:
    page(root, "A.md", "# A\n")
    entry = note(root, "A.md")
    read_page(session, "A.md")
    write_page(session, "A.md", "# Written\n")

    def listed_ids() -> dict[str, str]:
        return {row.path: row.page_id for row in list_pages(session).pages}

    (root / "A.md").rename(root / "B.md")
    assert [listed_ids(), listed_ids()] == [{"B.md": str(entry)}] * 2
    (root / "B.md").write_text("# Else\n")
    assert listed_ids() == {"B.md": str(id_of_path(TENANT, "B.md"))}
    (root / "C.md").write_text("# Written\n")
    assert listed_ids() == {"B.md": str(id_of_path(TENANT, "B.md")), "C.md": str(entry)}
