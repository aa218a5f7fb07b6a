"""One file is withdrawn from a change set: the draft shows the tree's, and a kill in between loses no text."""

import errno
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings

from mirrord.commands.changes.apply_command import apply_changes
from mirrord.commands.changes.change_commands import begin_changes
from mirrord.commands.changes.draft_session import OpenDraft, draft_tree_of, leave_draft
from mirrord.commands.changes.withdrawal import withdraw_file
from mirrord.commands.core.connection_changes import ConnectionChanges
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.delete_commands import delete_page
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import write_page
from mirrord.commands.pages.restore_command import restore_page
from mirrord.mirror.draft.draft_changes import changes_of
from mirrord.mirror.draft.draft_manifest import Manifest
from tests.support.laws import scale_examples
from tests.support.trees import tree as files_of
from tests.unit.commands.conftest import page
from tests.unit.commands.test_change_laws import pages, session_in
from tests.unit.commands.test_draft_tree import STEPS, Step, act, check_claims, fill, view
from tests.unit.kills import killed_at

OWN, THEIRS = "# Page\n\nours\n", "# Page\n\ntheirs\n"


def opened_draft(connection: ConnectionChanges) -> OpenDraft:
    assert isinstance(connection.draft, OpenDraft)
    return connection.draft


def withdraw_all(session: Session, connection: ConnectionChanges) -> list[str]:
    """Withdraw what can be withdrawn by itself; the paths."""
    withdrawn = []
    for change in changes_of(draft_tree_of(opened_draft(connection).session)):
        with suppress(Failed):
            withdraw_file(session, connection, change.path)
            withdrawn.append(change.path)
    return withdrawn


@settings(max_examples=scale_examples(50), deadline=None)
@given(STEPS)
@example([("move", "Inbox.md", "X.md"), ("write", "Inbox.md", "")])
@example([("edit", "Inbox.md", ""), ("delete", "Archive/Old.md", ""), ("create", "", ""), ("move", "Inbox.md", "X.md")])
def test_what_is_withdrawn_is_as_the_tree_has_it_in_the_draft_and_after_the_rest_is_applied(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory, "mirror", "acme")
        root.mkdir(parents=True)
        fill(root)
        connection = ConnectionChanges()
        with session_in(root) as session:
            draft = opened_of_new(session, connection)
            trash: list[str] = []
            for step in steps:
                act(draft.session, step, trash)
            before = pages(root)
            withdrawn = withdraw_all(session, connection)
            draft_view = view(draft.session)
            texts = draft_view["texts"]
            assert isinstance(texts, dict)
            assert {path: texts.get(path) for path in withdrawn} == {path: before.get(path) for path in withdrawn}
            check_claims(draft.session)
            leave_draft(connection)
            begin_changes(session, connection, None, draft.facts.id)
            assert view(opened_draft(connection).session) == draft_view
            leave_draft(connection)
            with suppress(Failed):
                apply_changes(session, draft.facts.id)
            assert view(session)["texts"] == texts


def opened_of_new(session: Session, connection: ConnectionChanges) -> OpenDraft:
    begin_changes(session, connection, "A change set")
    return opened_draft(connection)


def test_a_withdrawal_that_is_killed_at_any_call_keeps_the_text_in_the_draft_or_in_the_trash(tmp_path: Path) -> None:
    template = tmp_path / "template" / "acme"
    change_set = draft_with_an_edit(template)

    def act_on(root: Path) -> None:
        with session_in(root) as session:
            connection = ConnectionChanges()
            begin_changes(session, connection, None, change_set)
            withdraw_file(session, connection, "Page.md")

    ends = []
    for number in range(1, 400):
        root = tmp_path / f"run-{number}" / "acme"
        shutil.copytree(tmp_path / "template", root.parent)
        if not killed_at(number, root, act_on):
            break
        ends.append(end_of(root, change_set))
        shutil.rmtree(root.parent)
    assert set(ends) == {OWN, THEIRS}
    assert ends == sorted(ends)  # once it is withdrawn, it stays so


def draft_with_an_edit(root: Path) -> str:
    """A tree with a draft that clashes with it; its id."""
    page(root, "Page.md", "# Page\n\ntext\n")
    connection = ConnectionChanges()
    with session_in(root) as session:
        draft = opened_of_new(session, connection)
        edit_page(draft.session, "Page.md", [{"find": "text", "replace": "ours"}])
        leave_draft(connection)
    page(root, "Page.md", THEIRS)
    return draft.facts.id


def end_of(root: Path, change_set: str) -> str:
    """What the draft shows after a kill; the agent's text is not lost, and the tree is as it was."""
    connection = ConnectionChanges()
    with session_in(root, "mcp-next") as session:
        begin_changes(session, connection, None, change_set)
        text = opened_draft(connection).session.tree.read("Page.md", 1 << 20)[0].decode()
        assert pages(root) == {"Page.md": THEIRS.encode()}
        if text == THEIRS:
            trashed_texts = [data.decode() for path, data in trashed(root).items() if not path.endswith(".json")]
            assert OWN in trashed_texts
        else:
            withdraw_file(session, connection, "Page.md")
        edit_page(opened_draft(connection).session, "Page.md", [{"find": "theirs", "replace": "both"}])
        leave_draft(connection)
        apply_changes(session, change_set)
        assert pages(root) == {"Page.md": b"# Page\n\nboth\n"}
    return text


def trashed(root: Path) -> dict[str, bytes]:
    directory = root / ".mirrord/trash"
    return files_of(directory) if directory.is_dir() else {}


def test_a_withdrawal_whose_line_the_disk_did_not_sync_is_the_same_for_the_connection_and_for_the_next_one(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, connection = session.tree.root, ConnectionChanges()
    page(root, "Page.md", THEIRS)
    draft = opened_of_new(session, connection)
    edit_page(draft.session, "Page.md", [{"find": "theirs", "replace": "ours"}])

    def fail(_: Manifest) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(Manifest, "sync", fail)
        with pytest.raises(Failed, match="refused"):
            withdraw_file(session, connection, "Page.md")
    shown_before = view(draft.session)
    leave_draft(connection)
    begin_changes(session, connection, None, draft.facts.id)
    assert view(opened_draft(connection).session) == shown_before
    assert OWN.encode() in trashed(root).values()
    leave_draft(connection)


def test_a_deletion_that_was_withdrawn_is_one_of_the_text_as_it_is_at_the_next_deletion(session: Session) -> None:
    root, connection = session.tree.root, ConnectionChanges()
    page(root, "Page.md", "# Page\n")
    draft = opened_of_new(session, connection)
    delete_page(draft.session, "Page.md")
    page(root, "Page.md", THEIRS)
    with pytest.raises(Failed, match="edited in the tree since"):
        apply_changes(session, draft.facts.id)
    withdraw_file(session, connection, "Page.md")
    delete_page(draft.session, "Page.md")
    leave_draft(connection)
    apply_changes(session, draft.facts.id)
    assert pages(root) == {}
    assert THEIRS.encode() in trashed(root).values()


def test_a_page_at_the_former_path_of_a_moved_one_is_not_withdrawn_alone(session: Session) -> None:
    root, connection = session.tree.root, ConnectionChanges()
    page(root, "Page.md", "# Page\n")
    draft = opened_of_new(session, connection)
    move_page(draft.session, "Page.md", "Zed.md")
    write_page(draft.session, "Page.md", "# Another\n")

    with pytest.raises(Failed, match="took the place of a file that the change set moves"):
        withdraw_file(session, connection, "Page.md")
    move_page(draft.session, "Page.md", "Another.md")
    withdraw_file(session, connection, "Another.md")

    leave_draft(connection)
    apply_changes(session, draft.facts.id)
    assert pages(root) == {"Zed.md": b"# Page\n"}
    assert any(data.endswith(b"# Another\n") for data in trashed(root).values())


def test_a_page_that_was_deleted_and_withdrawn_can_be_restored_beside_the_trees(session: Session) -> None:
    root, connection = session.tree.root, ConnectionChanges()
    page(root, "Page.md", "# Page\n")
    draft = opened_of_new(session, connection)
    trash_id = delete_page(draft.session, "Page.md").trash_id
    withdraw_file(session, connection, "Page.md")

    restored = restore_page(draft.session, trash_id, "Other.md")

    leave_draft(connection)
    apply_changes(session, draft.facts.id)
    assert pages(root) == {"Page.md": b"# Page\n", restored.path: b"# Page\n"}
