"""The list of an agent's change sets: its drafts, which are files, and what only the daemon knows of the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mirrord.commands.core.answer_budget import LIST_BYTES, row_bytes, rows_bytes, take_rows
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.list_cursor import cursor_of, cursor_position
from mirrord.commands.core.session import Session
from mirrord.mcp.tools.history_tools import ask_history

MAX_LISTED = 20  # change sets that the daemon names in one answer
_SECOND_CHARACTERS = len("2026-01-31T14:00:00")
_QUESTION = "changes_status"
_UNANSWERED = "Only drafts are listed, because the daemon knows the others:"

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChangeSetList:
    """Change sets, the newest first. note: why some are missing."""

    change_sets: Sequence[Facts]
    next_cursor: str | None = None
    note: str | None = None

    def marking(self, change_set: object) -> "ChangeSetList":
        """The same, with a mark on what the present connection has changed by itself so far."""
        marked = [
            {**facts, "thisConnection": True} if facts["changeSet"] == str(change_set) else facts
            for facts in self.change_sets
        ]
        return replace(self, change_sets=marked)


def list_change_sets(
    session: Session, drafts: Sequence[Facts], opened: Facts | None, cursor: str | None
) -> ChangeSetList:
    """The change sets of the caller. drafts: those to list first. opened: the open one. Raises Failed for a cursor."""
    position = cursor_position(cursor, _QUESTION)[0] if cursor is not None else ""
    begun_at, _, last_id = position.partition(" ")
    named = [facts["changeSet"] for facts in (*drafts, *([opened] if opened is not None else []))]
    asked_for = {"at": begun_at or None, "id": last_id or None, "without": named}
    first = drafts if cursor is None else ()
    try:
        answer = ask_history(session, "list_change_sets", asked_for)
    except Failed as failed:
        if failed.code.startswith("INVALID_"):
            raise
        return ChangeSetList(first, note=f"{_UNANSWERED} {failed}")
    first_sets = [_with_undo(facts, answer.get("undone", {})) for facts in first]
    return _fill(first_sets, answer, LIST_BYTES - rows_bytes([*first_sets, opened]), position)


def _with_undo(facts: Facts, undone: Mapping[str, str]) -> Facts:
    undo = undone.get(facts["changeSet"])
    return facts if undo is None else {**facts, "state": "undone", "undoneBy": undo}


def _fill(first_sets: Sequence[Facts], answer: Mapping[str, Any], budget_bytes: int, position: str) -> ChangeSetList:
    """*first_sets*, and as many of the daemon's as fit; the others come by the cursor."""
    sets: Sequence[Facts] = answer.get("sets", ())
    has_room = bool(sets) and (not first_sets or row_bytes(sets[0]) <= budget_bytes)
    taken_sets = take_rows(sets, MAX_LISTED, budget_bytes) if has_room else []
    if taken_sets:
        position = f"{taken_sets[-1]['begunAt']} {taken_sets[-1]['changeSet']}"
    has_more = bool(answer.get("has_more")) or len(taken_sets) < len(sets)
    merged = sorted([*first_sets, *taken_sets], key=_second_and_id, reverse=True)
    return ChangeSetList(merged, cursor_of(_QUESTION, position, 0) if has_more else None)


def _second_and_id(facts: Facts) -> tuple[str, str]:
    """Drafts tell only the second of their beginning; ids begin with their time."""
    return str(facts["begunAt"])[:_SECOND_CHARACTERS], str(facts["changeSet"])
