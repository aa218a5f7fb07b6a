"""The first text that a draft gives a page of the tree: what it stands for stays beside it, and kills lose nothing."""

import errno
import shutil
from pathlib import Path

import pytest

from mirrord.commands.changes import draft_session
from mirrord.commands.changes.apply_command import apply_changes
from mirrord.commands.changes.draft_session import OpenDraft
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.domain.entry import digest_of
from mirrord.errors import Stale
from mirrord.mirror.draft import draft_changes
from mirrord.mirror.tree import kernel
from mirrord.mirror.tree.kernel import stat_of
from mirrord.mirror.tree.replaced_file import Replaced
from tests.unit.commands.conftest import page
from tests.unit.commands.test_change_laws import draft_in, pages, session_in
from tests.unit.kills import killed_at

OLD, NEW = "# Plan\n\nOne.\n", "# Plan\n\nTwo.\n"
EDIT = [{"find": "One.", "replace": "Two."}]


def test_what_a_first_text_stands_for_is_kept_and_merges_with_a_later_save(root: Path, session: Session) -> None:
    page(root, "Plan.md", f"{OLD}\nLast.\n")
    with draft_in(session) as draft:
        edit_page(draft.session, "Plan.md", EDIT)
        page(root, "Plan.md", f"{OLD}\nLast, by a person.\n")
        applied = apply_changes(session, draft.facts.id)

    assert applied.merged == ("Plan.md",)
    assert (root / "Plan.md").read_text() == f"{NEW}\nLast, by a person.\n"


def test_a_first_text_has_the_access_of_the_file_it_stands_for(root: Path, session: Session) -> None:
    page(root, "Plan.md", OLD)
    (root / "Plan.md").chmod(0o640)
    with draft_in(session) as draft:
        edit_page(draft.session, "Plan.md", EDIT)
        stat = draft.session.tree.stat("Plan.md")

    assert stat is not None
    assert stat.mode & 0o777 == 0o640


def test_a_page_that_was_saved_since_it_was_read_gets_no_first_text(root: Path, session: Session) -> None:
    page(root, "Plan.md", OLD)
    stat = stat_of((root / "Plan.md").stat())
    page(root, "Plan.md", f"{OLD}By a person.\n")
    with draft_in(session) as draft:
        tree = draft_session.draft_tree_of(draft.session)
        with pytest.raises(Stale):
            tree.write_first_text(
                "Plan.md", NEW.encode(), Replaced(digest_of(OLD.encode()), stat, "kept", digest_of(NEW.encode()))
            )

        assert not tree.is_claimed("Plan.md")
        assert tree.read("Plan.md", 1 << 20)[0].decode() == f"{OLD}By a person.\n"
        edit_page(draft.session, "Plan.md", EDIT)
        assert tree.read("Plan.md", 1 << 20)[0].decode() == f"{NEW}By a person.\n"


def test_a_page_that_is_gone_since_it_was_read_gets_no_first_text(root: Path, session: Session) -> None:
    page(root, "Folder/Plan.md", OLD)
    stat = stat_of((root / "Folder/Plan.md").stat())
    shutil.rmtree(root / "Folder")
    with draft_in(session) as draft:
        tree = draft_session.draft_tree_of(draft.session)
        with pytest.raises(Stale):
            tree.write_first_text(
                "Folder/Plan.md", NEW.encode(), Replaced(digest_of(OLD.encode()), stat, "kept", digest_of(NEW.encode()))
            )

        assert tree.stat("Folder/Plan.md") is None
        assert draft_changes.changes_of(tree) == []


@pytest.mark.parametrize("failing_write", [1, 2])
def test_a_first_text_that_the_disk_did_not_take_leaves_the_page_to_the_tree(
    root: Path, session: Session, monkeypatch: pytest.MonkeyPatch, failing_write: int
) -> None:
    page(root, "Plan.md", OLD)
    page(root, "Other.md", OLD)
    write, calls = kernel.write, [0]

    def fail(descriptor: int, data: bytes) -> None:
        calls[0] += 1
        if calls[0] == failing_write:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(descriptor, data)

    with draft_in(session) as draft:
        edit_page(draft.session, "Other.md", EDIT)
        with monkeypatch.context() as broken:
            broken.setattr(kernel, "write", fail)
            with pytest.raises(Failed):
                edit_page(draft.session, "Plan.md", EDIT)
        tree = draft_session.draft_tree_of(draft.session)
        assert not tree.is_claimed("Plan.md")
        assert [change.path for change in draft_changes.changes_of(tree)] == ["Other.md"]
        edit_page(draft.session, "Plan.md", EDIT)
        apply_changes(session, draft.facts.id)
    assert pages(root) == {"Plan.md": NEW.encode(), "Other.md": NEW.encode()}


def test_an_edit_that_is_killed_at_any_call_leaves_the_page_as_it_was_or_edited(tmp_path: Path) -> None:
    template = tmp_path / "template" / "acme"
    page(template, "Plan.md", OLD)
    page(template, "Folder/Other.md", OLD)
    with session_in(template) as session, draft_in(session) as draft:
        edit_page(draft.session, "Folder/Other.md", EDIT)
        change_set = draft.facts.id

    def edit(root: Path) -> None:
        with session_in(root) as session:
            edit_page(_continued(session, change_set).session, "Plan.md", EDIT)

    edited_runs = []
    for number in range(1, 100):
        root = tmp_path / f"run-{number}" / "acme"
        shutil.copytree(tmp_path / "template", root.parent)
        if not killed_at(number, root, edit):
            break
        assert pages(root) == pages(template)
        edited_runs.append(_finish(root, change_set))
        assert pages(root) == {"Plan.md": NEW.encode(), "Folder/Other.md": NEW.encode()}, number
    assert {*edited_runs} == {False, True}
    assert edited_runs == sorted(edited_runs)


def _continued(session: Session, change_set: str) -> OpenDraft:
    return draft_session.enter_draft(session, draft_session.find_draft(session, change_set))


def _finish(root: Path, change_set: str) -> bool:
    """Edit the page unless a killed edit did already, and apply; whether it did."""
    with session_in(root, "mcp-next") as session:
        draft = _continued(session, change_set)
        tree = draft_session.draft_tree_of(draft.session)
        text = tree.read("Plan.md", 1 << 20)[0].decode()
        assert text in (OLD, NEW)
        assert tree.is_claimed("Plan.md") is (text == NEW)
        if text == OLD:
            edit_page(draft.session, "Plan.md", EDIT)
        draft.close()
        apply_changes(session, change_set)
    return text == NEW
