"""Laws of drafts: a discarded one leaves no trace; what a person accepts of one, and then the rest, are all of it."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mirrord.commands.changes.apply_command import apply_changes
from mirrord.commands.changes.change_commands import begin_changes, discard_changes
from mirrord.commands.changes.draft_session import OpenDraft, leave_draft
from mirrord.commands.core.connection_changes import ConnectionChanges
from mirrord.commands.core.failure import Failed
from mirrord.domain.review import ReviewChoice
from mirrord.mirror.draft.draft_changes import ChangeSort, DraftChange, changes_of
from mirrord.mirror.draft.draft_tree import DraftTree
from tests.support.laws import scale_examples
from tests.unit.commands.test_change_laws import pages, session_in
from tests.unit.commands.test_draft_tree import STEPS, Step, act, fill

Files = dict[str, bytes]


@settings(max_examples=scale_examples(15), deadline=None)
@given(STEPS)
def test_a_draft_that_is_discarded_leaves_every_file_as_it_was(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory, "acme")
        root.mkdir()
        fill(root)
        before, connection = pages(root), ConnectionChanges()
        with session_in(root) as session:
            begin_changes(session, connection, "A change set")
            assert isinstance(connection.draft, OpenDraft)
            for step in steps:
                act(connection.draft.session, step, [])
            discard_changes(session, connection)
        assert pages(root) == before


def drafted(root: Path, steps: list[Step]) -> tuple[str, list[DraftChange], Files]:
    """A draft of *steps* in the tree at *root*: its id, the files that it changes, and their texts in it."""
    connection = ConnectionChanges()
    with session_in(root) as session:
        begin_changes(session, connection, "A change set")
        draft = connection.draft
        assert isinstance(draft, OpenDraft)
        for step in steps:
            act(draft.session, step, [])
        tree = draft.session.tree
        assert isinstance(tree, DraftTree)
        changes = changes_of(tree)
        texts = {change.path: tree.read(change.path, 1 << 20)[0] for change in changes if change.digest is not None}
        leave_draft(connection)
    return draft.facts.id, changes, texts


def expected_after(before: Files, accepted: list[DraftChange], texts: Files) -> Files:
    """The files if nothing but the accepted changes is done."""
    leaving = {change.source for change in accepted if change.source is not None}
    return {path: data for path, data in before.items() if path not in leaving} | {
        change.path: texts[change.path] for change in accepted if change.path in texts
    }


def blocked_paths(changes: list[DraftChange], accepted: list[DraftChange]) -> set[str]:
    """Places that accepted changes take, and that pages have whose move is rejected."""
    staying = {change.source for change in changes if change not in accepted and change.sort is ChangeSort.MOVED}
    return {change.path for change in accepted if change.source != change.path and change.path in staying}


THIRD_ONLY = [False, False, True]
PLACES_TAKEN_OVER: list[list[Step]] = [
    [
        ("move", "Archive", "New.md"),
        ("write", "Archive", "Inbox.md"),
        ("move", page, "New.md"),
        ("move", "Archive", page),
    ]
    for page in ("Inbox.md", "Projects/Beta/Notes.md")
]


DELETED_PLACE: list[Step] = [
    ("delete", "Projects/_index.md", "Inbox.md"),
    ("move", "Inbox.md", "Projects/Beta/Notes.md"),
]


@settings(max_examples=scale_examples(30), deadline=None)
@example(DELETED_PLACE, THIRD_ONLY)  # the move of a page to the place of a deleted one has the same path
@example(PLACES_TAKEN_OVER[0], THIRD_ONLY)  # the move of a page, not the new page in its place
@example(PLACES_TAKEN_OVER[1], THIRD_ONLY)  # the new page in the place, not the move
@given(STEPS, st.lists(st.booleans(), min_size=20, max_size=20))
def test_an_accepted_part_is_its_own_changes_only_and_with_the_rest_it_is_the_whole(
    steps: list[Step], marks: list[bool]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory, "acme")
        root.mkdir()
        fill(root)
        before = pages(root)
        change_set, changes, texts = drafted(root, steps)
        marked = [change for change, is_accepted in zip(changes, marks, strict=False) if is_accepted]
        rejected = frozenset(change.path for change in changes if change not in marked)
        accepted = [change for change in marked if change.path not in rejected]  # a page may take a deleted one's path
        choice = ReviewChoice(rejected=rejected)
        with session_in(root) as session:
            if not accepted:
                with pytest.raises(Failed, match="changes nothing"):
                    apply_changes(session, change_set, choice=choice)
                assert pages(root) == before
                return
            if blocked_paths(changes, accepted):
                with pytest.raises(Failed, match="whose move is not accepted"):
                    apply_changes(session, change_set, choice=choice)
                assert pages(root) == before
                return
            applied = apply_changes(session, change_set, choice=choice)
            assert pages(root) == expected_after(before, accepted, texts)
            assert (applied.remainder is None) == (len(accepted) == len(changes))
            if applied.remainder is not None:
                apply_changes(session, applied.remainder)
        assert pages(root) == expected_after(before, changes, texts)
