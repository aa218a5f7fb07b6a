"""A connection in a draft: what it notices of other processes, and what its edits leave in the draft."""

import json
import time
from uuid import UUID

import pytest

from mirrord.commands.changes.apply_command import apply_changes
from mirrord.commands.changes.change_commands import begin_changes, discard_changes, review_changes
from mirrord.commands.changes.draft_session import OpenDraft, begin_draft, current_draft, find_draft, leave_draft
from mirrord.commands.changes.withdrawal import withdraw_file
from mirrord.commands.core.connection_changes import ConnectionChanges
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.delete_commands import delete_page
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.domain.entry import new_id
from mirrord.domain.event import EVENTS_FOLDER
from mirrord.mirror.draft import draft_store
from mirrord.mirror.draft.draft_store import APPLIED, read_facts
from mirrord.mirror.write import trash
from tests.support.harness import eventually
from tests.unit.commands.conftest import Open, page

EDIT = [{"find": "one", "replace": "two"}]


@pytest.fixture
def connection(session: Session) -> ConnectionChanges:
    connection = ConnectionChanges()
    begin_changes(session, connection, "A change set")
    return connection


def draft_of(connection: ConnectionChanges) -> OpenDraft:
    assert isinstance(connection.draft, OpenDraft)
    return connection.draft


def wait_until_remembered(connection: ConnectionChanges, session: Session) -> None:
    eventually(lambda: current_draft(connection, session).open_stat is not None, "its file is older than a moment")


def copies_in(draft: OpenDraft) -> list[str]:
    journals = draft.session.tree.root / draft.facts.directory / "tree/.mirrord/tmp"
    return [path.name for path in journals.rglob("a.*")]


def test_an_end_by_another_process_is_noticed_at_the_next_call(
    session: Session, connect: Open, connection: ConnectionChanges
) -> None:
    draft = draft_of(connection)
    wait_until_remembered(connection, session)
    assert current_draft(connection, session) is draft
    draft_store.write_facts(connect().tree, draft.facts.ended(APPLIED))
    for _ in range(2):  # a call that was sent with it is no call for the tree
        with pytest.raises(Failed, match="was applied meanwhile"):
            current_draft(connection, session)
    assert connection.draft is draft
    with pytest.raises(Failed, match="was applied meanwhile"):
        discard_changes(session, connection)
    assert connection.draft is None


def test_a_draft_that_was_removed_is_noticed_at_the_next_call(
    session: Session, connect: Open, connection: ConnectionChanges
) -> None:
    wait_until_remembered(connection, session)
    draft_store.forget_draft(connect().tree, draft_of(connection).facts)
    with pytest.raises(Failed, match="was removed meanwhile"):
        current_draft(connection, session)


def test_what_is_said_of_a_draft_a_moment_ago_is_read_again(session: Session, connection: ConnectionChanges) -> None:
    draft = current_draft(connection, session)
    draft_store.write_facts(session.tree, draft.facts)
    began_ns = time.time_ns()
    current_draft(connection, session)
    stat = draft_store.stat_facts(session.tree, draft.facts)
    assert stat is not None
    assert draft.open_stat is None or stat.is_settled(began_ns)


def test_a_page_that_names_itself_leaves_no_copy_in_a_draft_and_another_one_does(
    session: Session, connection: ConnectionChanges
) -> None:
    draft, entry = draft_of(connection), new_id()
    page(session.tree.root, "Named.md", f"---\nid: {entry}\n---\none\n")
    page(session.tree.root, "Bare.md", "one\n")
    edit_page(draft.session, "Named.md", EDIT)
    assert copies_in(draft) == []
    edit_page(draft.session, "Bare.md", EDIT)
    assert len(copies_in(draft)) == 1


def test_on_the_tree_every_written_page_leaves_a_copy_for_the_daemon(session: Session) -> None:
    page(session.tree.root, "Named.md", f"---\nid: {new_id()}\n---\none\n")
    edit_page(session, "Named.md", EDIT)
    assert len([*(session.tree.root / ".mirrord/tmp").rglob("a.*")]) == 1


@pytest.mark.parametrize("head", ["", "---\nid: 01900000-0000-7000-8000-000000000001\n---\n"])
def test_a_page_that_was_edited_and_deleted_in_a_draft_keeps_its_trash_id(
    session: Session, connection: ConnectionChanges, head: str
) -> None:
    page(session.tree.root, "Page.md", f"{head}one\n")
    draft = draft_of(connection)
    edit_page(draft.session, "Page.md", EDIT)
    deleted = delete_page(draft.session, "Page.md")
    leave_draft(connection)
    apply_changes(session, draft.facts.id)
    removed = trash.find_removed(session.tree, deleted.trash_id)
    assert removed is not None
    assert removed.card is not None
    assert removed.card.path == "Page.md"


def test_a_line_that_a_power_cut_left_half_written_keeps_no_draft_from_being_applied(
    session: Session, connection: ConnectionChanges
) -> None:
    page(session.tree.root, "Page.md", "one\n")
    draft = draft_of(connection)
    edit_page(draft.session, "Page.md", EDIT)
    edit_page(draft.session, "Page.md", [{"append": "More."}])
    leave_draft(connection)
    (file,) = (session.tree.root / draft.facts.directory / "tree" / EVENTS_FOLDER).iterdir()
    file.write_bytes(file.read_bytes() + b'{"event_id":"01a2\n')
    assert apply_changes(session, draft.facts.id).pages == 1
    lines = b"".join(path.read_bytes() for path in (session.tree.root / EVENTS_FOLDER).iterdir()).splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["ChangesApplied", "PageWritten"]
    facts = read_facts(session.tree, UUID(draft.facts.id))
    assert facts is not None
    assert facts.state == APPLIED


@pytest.mark.parametrize("path", ["Folder/Page", "Folder/Page.md"])
@pytest.mark.parametrize("file", ["Folder/Page.md", "Folder/Page/_index.md"])
def test_a_change_is_reviewed_and_taken_out_by_the_path_that_other_tools_take(
    session: Session, connection: ConnectionChanges, file: str, path: str
) -> None:
    page(session.tree.root, file, "one\n")
    page(session.tree.root, "Other.md", "one\n")
    draft = draft_of(connection)
    for name in ("Other", path):
        edit_page(draft.session, name, EDIT)

    assert [change.path for change in review_changes(session, connection, path).changes] == [file]
    assert withdraw_file(session, connection, path).pages == 1
    with pytest.raises(Failed, match="does not change"):
        review_changes(session, connection, path)
    assert [change.path for change in review_changes(session, connection).changes] == ["Other.md"]


def test_the_beginning_of_an_id_that_several_change_sets_have_is_not_said_to_be_unknown(session: Session) -> None:
    drafts = [begin_draft(session, title, "local", None) for title in ("One", "Two")]
    for draft in drafts:
        draft.close()

    with pytest.raises(Failed, match="2 of your change sets begin with '0'"):
        find_draft(session, "0")
    with pytest.raises(Failed, match="You have no change set 'zzz'"):
        find_draft(session, "zzz")
    assert find_draft(session, drafts[0].facts.id).title == "One"
