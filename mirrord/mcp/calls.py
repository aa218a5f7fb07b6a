"""One tool call from arguments to reply, with progress notifications."""

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

import anyio.lowlevel
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, InputRequiredResult

from mirrord.commands.core.connection_changes import current_connection
from mirrord.commands.core.failure import Failed, containing_errors
from mirrord.commands.core.session import Gate, Session
from mirrord.domain.answer_form import AnswerForm
from mirrord.domain.approval import Preview
from mirrord.domain.long_work import Progress, ignore_progress
from mirrord.mcp.callers import Caller, Callers
from mirrord.mcp.message_source import current_source
from mirrord.mcp.tools import replies
from mirrord.mcp.tools.arguments import parse_arguments
from mirrord.mcp.tools.scoped_tools import not_with_patterns, works_scoped
from mirrord.mcp.tools.tool import Lane, Tool, Wire
from mirrord.mirror.tree.observed_work import observing_work

_NOTICE_SECONDS = 0.1  # seconds between two notices: a client shows a bar


def observer_for(context: Context[None, Any] | None) -> Progress:
    """An observer of a call's progress, in a thread of `Caller.perform`, that notifies the client."""
    return ignore_progress if context is None else _Notifier(context)  # the SDK notifies only clients that sent a token


@lru_cache(1)
def _token_of(_: asyncio.AbstractEventLoop) -> anyio.lowlevel.EventLoopToken:
    """The token of the running loop, which anyio makes for each call that asks for it."""
    return anyio.lowlevel.current_token()


class _Notifier:
    """Sends notices with increasing progress, as the protocol requires."""

    def __init__(self, context: Context[None, Any]) -> None:
        self._context = context
        self._loop = _token_of(asyncio.get_running_loop())
        self._last_done = -1
        self._notified_at = -_NOTICE_SECONDS  # by the monotonic clock

    def __call__(self, done: int, of: int, /) -> None:
        now = time.monotonic()
        if done <= self._last_done or (now - self._notified_at < _NOTICE_SECONDS and done < of):
            return
        self._last_done, self._notified_at = done, now
        with suppress(CancelledError, anyio.RunFinishedError):  # no client waits any more, but the work is finished
            anyio.from_thread.run(self._context.report_progress, done, of, token=self._loop)


async def perform_call(
    callers: Callers, tool: Tool[Any], values: Mapping[str, Any], context: Context[None, Any] | None = None
) -> CallToolResult | InputRequiredResult:
    """
    Call *tool* for the current caller; every failure becomes a reply.

    context: used to ask a person, and for the form of the reply.
    """
    form = AnswerForm.STRUCTURED if current_source().takes_structured else callers.answers
    try:
        with containing_errors(tool.name):
            reply = await _call_tool(callers.current(), tool, values, context)
            return reply if isinstance(reply, InputRequiredResult) else replies.success_reply(reply, form)
    except Failed as failed:
        return replies.failure_reply(failed, form)


async def _call_tool(
    caller: Caller, tool: Tool[Any], values: Mapping[str, Any], context: Context[None, Any] | None
) -> Wire | InputRequiredResult:
    caller.gate.count_call(writes=tool.writes)
    if tool.writes and not caller.may_write:
        raise Failed(
            "READ_ONLY",
            "forbidden",
            f"This token may only read, and {tool.name} writes.",
            "Tell the person what you would have written, or ask an operator for a token that may write.",
        )
    _check_open(caller, tool)
    _check_scoped(caller, tool)
    if tool.changes_rows and caller.gate.rules.may_review:
        sentence = "A person reviews your changes, so a person undoes those that count already."
        raise Failed("REVIEW_NEEDED", "forbidden", sentence, "Ask the person for `mirrord undo`.")
    arguments = parse_arguments(tool.arguments, tool.name, values)
    if tool.run is not None:
        return await caller.perform(partial(_run_tool, caller, tool, arguments, observer_for(context)), tool.lane)
    for_command = arguments.for_command()
    if tool.choose_command is not None:
        choose = partial(tool.choose_command, caller.work_session(), arguments)
        if (chosen := await caller.perform(choose, Lane.READ)) is not None:
            tool, for_command = chosen
            _check_open(caller, tool)
            _check_scoped(caller, tool)
    consent = await _ask_consent(caller, tool, for_command, context)
    if isinstance(consent, InputRequiredResult):
        return consent
    return await caller.perform(
        partial(_run_command, caller, tool, for_command, consent, observer_for(context)), tool.lane
    )


def _check_open(caller: Caller, tool: Tool[Any]) -> None:
    if not tool.is_open(caller.gate.levels[tool.name]):
        sentence = f"An operator decided that {tool.name} is not for agents."
        raise Failed("NOT_ALLOWED", "forbidden", sentence, "Do without it, or ask the person.")


def _check_scoped(caller: Caller, tool: Tool[Any]) -> None:
    if caller.is_scoped and not works_scoped(tool.name):
        raise not_with_patterns(tool.name)


def _run_tool(caller: Caller, tool: Tool[Any], arguments: Any, observer: Progress) -> Wire:
    assert tool.run is not None
    with observing_work(observer):
        return tool.run(caller.session if tool.about_changes else caller.work_session(), arguments)


async def _ask_consent(
    caller: Caller, tool: Tool[Any], arguments: Mapping[str, Any], context: Context[None, Any] | None
) -> Mapping[str, str] | InputRequiredResult | None:
    """The digests shown to a person who approved in the client; None: no approval. Or the question to ask first."""
    if context is None or not caller.gate.elicits:
        return None
    from mirrord.mcp import consents  # noqa: PLC0415  (only if an operator allows it)

    if not consents.can_ask(context):
        return None
    preview = await caller.perform(partial(_preview_command, caller, tool, arguments), tool.lane)
    approval = await consents.ask_approval(context, preview) if preview is not None else None
    if isinstance(approval, InputRequiredResult):
        return approval
    return preview.bases if preview is not None and approval else None


def _prepare_command(
    caller: Caller, tool: Tool[Any], arguments: Mapping[str, Any]
) -> tuple[Session, Gate, Mapping[str, Any]]:
    """Session, gate and arguments of a command, on the tree or in the open change set."""
    if tool.about_changes:
        completed_arguments, gate = caller.prepare_apply(arguments)
        return caller.session, gate, completed_arguments
    return caller.work_session(), caller.gate, arguments


def _preview_command(caller: Caller, tool: Tool[Any], arguments: Mapping[str, Any]) -> Preview | None:
    from mirrord.commands.trust_gate import preview_if_needed  # noqa: PLC0415  (loaded by the first change)

    session, gate, arguments = _prepare_command(caller, tool, arguments)
    if not gate.elicits:  # a change set that is reviewed: the client would show its beginning only
        return None
    return preview_if_needed(session, gate, tool.name, arguments)


def _run_command(
    caller: Caller,
    tool: Tool[Any],
    arguments: Mapping[str, Any],
    consent: Mapping[str, str] | None,
    observer: Progress,
) -> Wire:
    from mirrord.commands.trust_gate import PendingRequest, ReviewNeeded, run  # noqa: PLC0415  (as above)

    session, gate, arguments = _prepare_command(caller, tool, arguments)
    note: Mapping[str, Any] = {}
    try:
        _check_reach(session, gate, tool, arguments)
        with observing_work(observer):
            outcome = run(session, gate, tool.name, arguments, consent, observer)
    except ReviewNeeded:
        outcome = run(caller.begin_review(), gate, tool.name, arguments, None, observer)
        note = _review_note()
    if isinstance(outcome, PendingRequest):
        return {**replies.pending_reply(outcome), **_submit_changes(caller, tool, gate, arguments)}
    if tool.about_changes:
        caller.end_changes(arguments["change_set"])
    return {**tool.to_wire(outcome.result), **note}


def _check_reach(session: Session, gate: Gate, tool: Tool[Any], arguments: Mapping[str, Any]) -> None:
    """Raises ReviewNeeded if the command touches more than its preview names, and a person reviews that."""
    if not gate.rules.folders or session.draft is not None:
        return
    from mirrord.commands.changes.review_trial import touches_reviewed  # noqa: PLC0415  (few operators set folders)
    from mirrord.commands.trust_gate import ReviewNeeded  # noqa: PLC0415  (as above)

    if touches_reviewed(session, gate, tool.name, arguments):
        raise ReviewNeeded


def _review_note() -> Mapping[str, Any]:
    connection = current_connection()
    change_set = connection.draft_id if connection is not None else None
    sentence = f"Waits for review: changeSet {change_set}; call apply_changes when all of it is done."
    return {"changeSet": change_set, "review": sentence}


def _submit_changes(caller: Caller, tool: Tool[Any], gate: Gate, arguments: Mapping[str, Any]) -> Wire:
    """Leave a change set that a person reviews, and what the answer says about it."""
    if not tool.about_changes or not caller.gate.rules.may_review or gate.rules.may_review:
        return {}
    caller.submit_changes(arguments["change_set"])
    return {
        "changeSet": arguments["change_set"],
        "state": "in review",
        "instruction": "A person reviews this change set; tell them, and go on with other work. changes_status says "
        "what became of it, with the person's comment.",
    }
