"""The tool that undoes what an agent changed: a request in a file, which the daemon answers."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from mirrord.commands.core.connection_changes import current_connection
from mirrord.commands.core.failure import Failed, Kind
from mirrord.commands.core.session import Session
from mirrord.mcp.tools.arguments import FLAG, TEXT, Arguments, array_schema, nullable, object_schema, result_schema
from mirrord.mcp.tools.daemon_questions import ask_daemon
from mirrord.mcp.tools.tool import Tool, Wire
from mirrord.mirror.write import question_files

MAX_LISTED = 40  # entries in an answer


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
            "Name the changeSet of an earlier one of yours.",
        )
    result = answer.result or {}
    if connection is not None and own_change_set == change_set and result.get("change_set") is not None:
        connection.finish()
    return _to_wire(result)


def _failure_of(failure: Mapping[str, object]) -> Failed:
    code, sentence = str(failure.get("code", "REFUSED")), str(failure.get("sentence", "It was refused."))
    kind: Kind = "not_found" if code == "UNKNOWN_CHANGE_SET" else "conflict"
    instruction = "Name a changeSet of your own that is not undone yet; a person sees all with `mirrord changes`."
    return Failed(code, kind, sentence, instruction)


def _to_wire(result: Mapping[str, Any]) -> Wire:
    is_done = result.get("change_set") is not None
    changes: Sequence[Mapping[str, Any]] = result.get("changes", ()) if is_done else ()
    clashes: Sequence[Mapping[str, Any]] = result.get("left", ())
    answer: dict[str, Any] = {
        "undone": is_done,
        "changeSet": result.get("change_set"),
        "changes": [f"{change.get('name')}: {change.get('change')}" for change in changes[:MAX_LISTED]],
        "left": [{"name": clash.get("name"), "reason": clash.get("reason")} for clash in clashes[:MAX_LISTED]],
    }
    if not is_done:
        answer["hint"] = "Nothing was done, because of what is left; partial: true leaves it and does the rest."
    return answer


UNDO_CHANGES = Tool(
    "undo_changes",
    "Undo your changes",
    "Takes back all that one of your connections or drafts changed, by default this one; edits of others stay. "
    "The answer's changeSet undoes the undo. "
    'Example: {"changeSet": "0190f3c2-7a1b-7c3d-8e4f-0123456789ab", "partial": true}.',
    Undo,
    result_schema(
        {
            "undone": FLAG,
            "changeSet": nullable(TEXT),
            "changes": array_schema(TEXT),
            "left": array_schema(object_schema(name=TEXT, reason=TEXT)),
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
