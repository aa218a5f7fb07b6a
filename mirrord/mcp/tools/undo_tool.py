"""The tool that undoes what an agent changed: a request in a file, which the daemon answers."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from mirrord.commands.core.answer_budget import LIST_BYTES, rows_bytes, take_rows
from mirrord.commands.core.connection_changes import current_connection
from mirrord.commands.core.failure import Failed, Kind
from mirrord.commands.core.session import Session
from mirrord.mcp.tools.arguments import (
    COUNT,
    FLAG,
    TEXT,
    Arguments,
    array_schema,
    nullable,
    object_schema,
    result_schema,
)
from mirrord.mcp.tools.daemon_questions import ask_daemon
from mirrord.mcp.tools.tool import Tool, Wire
from mirrord.mirror.write import question_files

MAX_LISTED = 40  # entries in an answer
_LEFT_BYTES = 3_500  # of what is left, of which the reasons are longer
_HINT_BYTES = 600
_MORE_CHANGES = "list_changes with since: a minute ago lists all that changed."
_MORE_LEFT = "A person sees all that is left with `mirrord undo ID --dry-run`."


class Undo(Arguments):
    """What undo_changes takes."""

    change_set: Annotated[str | None, Field(description="Its id; default: what this connection changed so far.")] = None
    partial: Annotated[bool, Field(description="Leave what clashes, undo the rest.")] = False


def _undo_changes(session: Session, arguments: Undo) -> Wire:
    """Ask the daemon for an undo and wait for its answer."""
    if session.draft is not None:
        raise Failed(
            "DRAFT_OPEN",
            "conflict",
            "A draft is open: what is in it changes no page yet.",
            "Call discard_changes to drop it, or apply_changes first; then undo_changes.",
        )
    connection = current_connection()
    own_change_set = str(connection.change_set) if connection is not None and connection.change_set else None
    last_draft = connection.draft_id if connection is not None else None
    chosen = [arguments.change_set] if arguments.change_set else [*filter(None, (own_change_set, last_draft))]
    for change_set in chosen:
        asked_for = {"change_set": change_set, "partial": arguments.partial}
        answer = ask_daemon(session, question_files.UNDO, asked_for, "nothing can be undone")
        if answer.failure is None:
            break
        if arguments.change_set or answer.failure.get("code") != "UNKNOWN_CHANGE_SET":
            raise _failure_of(answer.failure)
    else:  # what it did in a draft alone has no change set of its own
        raise Failed(
            "NOTHING_TO_UNDO",
            "not_found",
            "This connection has changed nothing that is not undone.",
            "Call changes_status, which lists your earlier ones, then undo_changes with the changeSet of one.",
        )
    result = answer.result or {}
    if connection is not None and own_change_set == change_set and result.get("change_set") is not None:
        connection.finish()
    return _to_wire(result)


def _failure_of(failure: Mapping[str, object]) -> Failed:
    code, sentence = str(failure.get("code", "REFUSED")), str(failure.get("sentence", "It was refused."))
    kind: Kind = "not_found" if code == "UNKNOWN_CHANGE_SET" else "conflict"
    instruction = (
        "Call changes_status for your own change sets and what was undone, then undo_changes with the changeSet of one."
    )
    return Failed(code, kind, sentence, instruction)


def _to_wire(result: Mapping[str, Any]) -> Wire:
    is_done = result.get("change_set") is not None
    changes = [f"{change.get('name')}: {change.get('change')}" for change in result.get("changes", ()) if is_done]
    clashes = [{"name": clash.get("name"), "reason": clash.get("reason")} for clash in result.get("left", ())]
    listed_left = take_rows(clashes, MAX_LISTED, _LEFT_BYTES)
    listed_changes = take_rows(changes, MAX_LISTED, LIST_BYTES - _HINT_BYTES - rows_bytes(listed_left))
    answer: dict[str, Any] = {
        "undone": is_done,
        "changeSet": result.get("change_set"),
        "changes": listed_changes,
        "left": listed_left,
    }
    hints = [] if is_done else ["Nothing was done, because of what is left; partial: true leaves it and does the rest."]
    if len(listed_changes) < len(changes):
        answer["changesCount"] = len(changes)
        hints.append(_MORE_CHANGES)
    if len(listed_left) < len(clashes):
        answer["leftCount"] = len(clashes)
        hints.append(_MORE_LEFT)
    return {**answer, "hint": " ".join(hints)} if hints else answer


UNDO_CHANGES = Tool(
    "undo_changes",
    "Undo your changes",
    "Takes back all that one of your connections or drafts changed, by default this one; edits of others stay. "
    "The answer's changeSet undoes the undo. Example: {}.",
    Undo,
    result_schema(
        {
            "undone": FLAG,
            "changeSet": nullable(TEXT),
            "changes": array_schema(TEXT),
            "left": array_schema(object_schema(name=TEXT, reason=TEXT)),
            "changesCount?": COUNT,
            "leftCount?": COUNT,
            "hint?": TEXT,
        }
    ),
    _undo_changes,
    writes=True,
    destructive=True,
    idempotent=False,
    waits=True,
    changes_rows=True,
)
