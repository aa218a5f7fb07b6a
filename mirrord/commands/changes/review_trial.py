"""Whether a command touches what a person reviews: it is tried in a draft that is thrown away."""

import time
from collections.abc import Mapping
from typing import Any

from mirrord.commands.changes.draft_session import changes_seen, reading_draft
from mirrord.commands.command_registry import COMMANDS
from mirrord.commands.core.failure import Failed, containing_errors, translating_errors
from mirrord.commands.core.session import Gate, Session
from mirrord.domain.entry import new_id
from mirrord.domain.write_rules import LINK_FOLLOWING_COMMANDS
from mirrord.mirror.draft import draft_store
from mirrord.mirror.draft.draft_store import DraftFacts

# Commands that touch nothing but the file in their preview.
_EXACT_COMMANDS = frozenset({"write_page", "edit_page", "create_page", "add_attachment"})


def touches_reviewed(session: Session, gate: Gate, name: str, arguments: Mapping[str, Any]) -> bool:
    """
    Whether *name* would change a file that a person reviews, such as a page with a link to one that it moves.

    Within a scope, also a page that it hides may: in which ones links follow, the answer must not tell. False if the
    command fails, too: the call itself says why.
    """
    is_mixed = gate.rules.may_review and bool(gate.rules.folders)
    if not is_mixed or session.draft is not None or name in _EXACT_COMMANDS or COMMANDS[name].is_dry(arguments):
        return False
    owner = draft_store.TRIAL_OWNER
    facts = DraftFacts(str(new_id()), name, session.actor.kind, session.actor.name, owner, time.time())
    with translating_errors():
        draft_store.create_draft(session.tree, facts)
        try:
            paths = _touched_paths(session, facts, name, arguments)
            is_scoped = session.tree.whole is not session.tree
            return (is_scoped and name in LINK_FOLLOWING_COMMANDS) or gate.rules.reviews(paths)
        except Failed:
            return False
        finally:
            draft_store.forget_draft(session.tree, facts)


def _touched_paths(session: Session, facts: DraftFacts, name: str, arguments: Mapping[str, Any]) -> list[str]:
    with containing_errors(name), reading_draft(session, facts) as (draft, tree):
        COMMANDS[name].call(draft, arguments)
        changes = changes_seen(session, tree)
    return [path for change in changes for path in (change.path, change.source) if path is not None]
