"""The tool that undoes what an agent changed: a request in a file, which the daemon answers."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

from mirrord.commands.core.connection_changes import current_connection
from mirrord.commands.core.failure import Failed, Kind, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages.sync_status import is_daemon_alive
from mirrord.domain.approval import Answer, Request, RequestState
from mirrord.domain.entry import new_id
from mirrord.mcp.tools.arguments import FLAG, TEXT, Arguments, array_schema, nullable, object_schema, result_schema
from mirrord.mcp.tools.tool import Tool, Wire
from mirrord.mirror.write import undo_files

MAX_WAIT_SECONDS = 30.0  # seconds of waiting for the daemon
MAX_LISTED = 40  # entries in an answer
_POLL_SECONDS = 0.05  # seconds between two looks at the answer


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
    change_set = arguments.change_set or own_change_set or (connection.draft_id if connection is not None else None)
    if change_set is None:
        raise Failed(
            "NOTHING_TO_UNDO",
            "not_found",
            "This connection has changed nothing yet.",
            "Name the changeSet of an earlier one of yours.",
        )
    if not is_daemon_alive(session):
        raise Failed(
            "DAEMON_DOWN",
            "unavailable",
            "No daemon runs on this tenant, so nothing can be undone now.",
            "Ask the person to start it with `mirrord up`, then make the same call again.",
        )
    answer = _request_undo(session, {"change_set": change_set, "partial": arguments.partial})
    if answer.failure is not None:
        raise _failure_of(answer.failure)
    result = answer.result or {}
    if connection is not None and own_change_set == change_set and result.get("change_set") is not None:
        connection.finish()
    return _to_wire(result)


def _request_undo(session: Session, asked_for: Mapping[str, object]) -> Answer:
    tree = session.tree
    request = Request(
        id=new_id(),
        command=undo_files.COMMAND,
        arguments=asked_for,
        inputs={},
        bases={},
        tenant_id=session.tenant_id,
        actor=session.actor,
        token=session.token,
        requested_at=datetime.now(UTC),
    )
    with translating_errors():
        undo_files.write(tree, request, Answer())
        end = time.monotonic() + MAX_WAIT_SECONDS
        while time.monotonic() < end:
            stored = undo_files.read(tree, undo_files.path_of(request.id))
            if stored is not None and stored[1].state is not RequestState.PENDING:
                undo_files.remove(tree, undo_files.path_of(request.id))
                return stored[1]
            time.sleep(_POLL_SECONDS)
    raise Failed(
        "NOT_ANSWERED",
        "busy",
        f"The daemon did not answer within {MAX_WAIT_SECONDS:.0f} s; it may still undo this.",
        "Call sync_status; if sync is halted, a person decides first. Then make the same call again.",
    )


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
)
