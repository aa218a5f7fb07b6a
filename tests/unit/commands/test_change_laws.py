"""Laws of change sets: what a draft shows is what applying leaves; a killed apply is all or nothing; they commute."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mirrord.commands.changes.apply_command import AppliedChanges, apply_changes
from mirrord.commands.changes.change_commands import begin_changes
from mirrord.commands.changes.draft_session import OpenDraft, leave_draft
from mirrord.commands.core.connection_changes import ConnectionChanges
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.delete_commands import delete_page
from mirrord.commands.pages.edit_commands import edit_page
from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import write_page
from mirrord.mirror.tree.tenant_tree import Tree
from tests.support.laws import scale_examples
from tests.support.trees import tree as files_of
from tests.unit.commands.conftest import AGENT, TENANT
from tests.unit.commands.test_draft_tree import STEPS, Step, act, fill, view
from tests.unit.kills import killed_at


@contextmanager
def session_in(root: Path, writer: str = "mcp-main") -> Iterator[Session]:
    session = Session(Tree(root), "acme", TENANT, AGENT, writer)
    try:
        yield session
    finally:
        session.close()


@contextmanager
def draft_in(session: Session) -> Iterator[OpenDraft]:
    connection = ConnectionChanges()
    begin_changes(session, connection, "A change set")
    draft = connection.draft
    assert isinstance(draft, OpenDraft)
    try:
        yield draft
    finally:
        leave_draft(connection)


def pages(root: Path) -> dict[str, bytes]:
    return {path: data for path, data in files_of(root).items() if not path.startswith(".records")}


def apply_if_anything(session: Session, change_set: str) -> AppliedChanges | None:
    try:
        return apply_changes(session, change_set)
    except Failed as failed:
        if failed.code != "NOTHING_CHANGED":
            raise
        return None


@settings(max_examples=scale_examples(50), deadline=None)
@given(STEPS)
def test_what_a_draft_shows_is_what_applying_it_leaves(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory, "mirror", "acme")
        root.mkdir(parents=True)
        fill(root)
        with session_in(root) as session, draft_in(session) as draft:
            trash: list[str] = []
            for step in steps:
                act(draft.session, step, trash)
            drafted_view = view(draft.session)
            before = files_of(root)
            applied = apply_if_anything(session, draft.facts.id)
            if applied is None:
                assert files_of(root) == before
            assert view(session)["texts"] == drafted_view["texts"]
            if applied is not None:
                assert view(session)["directories"] == drafted_view["directories"]


BLOCKS = [f"block {number}" for number in range(6)]
PAGE = "\n\n".join(["# Page", *BLOCKS]) + "\n"


@settings(max_examples=scale_examples(20), deadline=None)
@given(
    first=st.sets(st.sampled_from(BLOCKS[:3]), min_size=1),
    second=st.sets(st.sampled_from(BLOCKS[3:]), min_size=1),
    moves=st.booleans(),
)
def test_change_sets_that_touch_different_blocks_commute(first: set[str], second: set[str], *, moves: bool) -> None:
    outcomes = []
    for order in ((0, 1), (1, 0)):
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory, "mirror", "acme")
            root.mkdir(parents=True)
            (root / "Page.md").write_text(PAGE)
            with (
                session_in(root) as session,
                session_in(root, "mcp-other") as other,
                draft_in(session) as first_draft,
                draft_in(other) as two,
            ):
                for draft, blocks in ((first_draft, first), (two, second)):
                    edits = [{"find": block, "replace": f"{block} changed"} for block in sorted(blocks)]
                    edit_page(draft.session, "Page.md", edits)
                with two.session.deriving_ids(TENANT), first_draft.session.deriving_ids(TENANT):
                    write_page(two.session, "Beside.md", "# Beside\n")
                    if moves:
                        write_page(first_draft.session, "New.md", "# New\n")
                drafts = (session, first_draft), (other, two)
                for number in order:
                    apply_changes(drafts[number][0], drafts[number][1].facts.id)
            outcomes.append(pages(root))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0]["Page.md"].count(b"changed") == len(first) + len(second)


def prepare(root: Path) -> str:
    """A tree with a draft of every kind of change; its id."""
    root.mkdir(parents=True)
    fill(root)
    with session_in(root) as session, draft_in(session) as draft:
        edit_page(draft.session, "Inbox.md", [{"find": "See", "replace": "Read"}])
        move_page(draft.session, "Projects/Alpha.md", "Archive/Alpha.md")
        move_page(draft.session, "Projects/Beta", "Beta")
        delete_page(draft.session, "Archive/Old.md")
        write_page(draft.session, "New/Page.md", "# New\n")
        return draft.facts.id


def test_an_apply_that_is_killed_at_any_call_leaves_all_or_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    template = tmp_path / "template" / "acme"
    change_set = prepare(template)
    before = pages(template)
    shutil.copytree(tmp_path / "template", tmp_path / "whole")
    with session_in(tmp_path / "whole/acme") as session:
        apply_changes(session, change_set)
    after = pages(tmp_path / "whole/acme")
    assert after.keys() == {
        "Inbox.md",
        "Projects/_index.md",
        "Projects/assets/plan.png",
        "Archive/Alpha.md",
        "Beta/_index.md",
        "Beta/Notes.md",
        "New/Page.md",
    }

    def act_on(root: Path) -> None:
        with session_in(root) as session:
            apply_changes(session, change_set)

    outcomes = []
    for number in range(1, 600, 2):
        root = tmp_path / f"run-{number}" / "acme"
        shutil.copytree(tmp_path / "template", root.parent)
        if not killed_at(number, root, act_on):
            break
        with session_in(root, "mcp-next") as session:
            with session.writing():
                pass  # as the next command does
            assert pages(root) in (before, after), number
            outcomes.append(pages(root) == after)
            if not outcomes[-1]:
                apply_changes(session, change_set)
        assert pages(root) == after
        shutil.rmtree(root.parent)
    assert {*outcomes} == {False, True}
    assert outcomes == sorted(outcomes)
