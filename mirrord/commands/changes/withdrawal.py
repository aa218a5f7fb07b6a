"""Withdraws one file from the open change set: the draft shows the tree's file again, to be changed as it is now."""

from mirrord.commands.changes import draft_session
from mirrord.commands.changes.change_commands import ChangeSetSummary, not_changed, summary_of
from mirrord.commands.core.connection_changes import ConnectionChanges
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.mirror.draft.draft_changes import ChangeSort, DraftChange
from mirrord.mirror.draft.draft_tree import DraftTree
from mirrord.mirror.write import trash

_REASON = "it was taken out of its change set"


def withdraw_file(session: Session, connection: ConnectionChanges, path: str) -> ChangeSetSummary:
    """
    Take the change of the file at *path* out of the open change set; a new text of it goes to the trash.

    The draft knows nothing of the file then: the next change of it is one of what the tree has at that moment. Raises
    Failed for a file that is not changed, that is moved, or that belongs to a change of a folder.
    """
    draft = draft_session.current_draft(connection, session)
    with session.whole.writing() as journal, draft.session.writing():
        tree = draft_session.draft_tree_of(draft.session)
        changes = draft_session.changes_seen(session, tree)
        change = next(iter(draft_session.changes_at(changes, path)), None)
        if change is None:
            raise not_changed(path)
        _check_separable(tree, change)
        if change.has_new_text:
            draft_session.keep_text(draft.session.whole, draft.facts, journal, change.path, _REASON)
            trash.sync_trash(tree.lower)  # durable there before the draft lets go of it
        tree.withdraw(change.path)
    return summary_of(session, draft.facts, len(changes) - 1)


def _check_separable(tree: DraftTree, change: DraftChange) -> None:
    """Raises Failed if other parts of the change set rely on this one."""
    if change.sort is ChangeSort.MOVED:
        sentence = f"The change set moves {change.source} to {change.path}."
        instruction = f"Move it back to {change.source} with move_page, then call discard_changes with that path."
    elif tree.has_moved_away(change.path):  # that move is one of the tree's file, which the draft knows by this claim
        sentence = f"{change.path} took the place of a file that the change set moves to another path."
        instruction = "Move it to another path with move_page, or call discard_changes for all of it."
    elif not tree.is_claimed_alone(change.path):
        sentence = f"{change.path} is in a folder that the change set makes, moves or deletes."
        instruction = "Move the page to another folder with move_page, or call discard_changes for all of it."
    else:
        return
    raise Failed("NOT_SEPARABLE", "conflict", f"{sentence} Nothing was discarded.", instruction, {"path": change.path})
