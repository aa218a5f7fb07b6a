"""One call of a tool, from its arguments to its reply."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, InputRequiredResult

from mirrord.commands.failure import Failed, containing_errors
from mirrord.domain.progress import Progress
from mirrord.mcp import progress, replies
from mirrord.mcp.arguments import parse_arguments
from mirrord.mcp.callers import Caller, Callers
from mirrord.mcp.tool import Tool, Wire


async def perform_call(
    callers: Callers, tool: Tool[Any], values: Mapping[str, Any], context: Context[None, Any] | None = None
) -> CallToolResult | InputRequiredResult:
    """Call *tool* for the current caller; every failure becomes a reply. context: used to ask a person."""
    try:
        with containing_errors(tool.name):
            reply = await _call_tool(callers.current(), tool, values, context)
            return reply if isinstance(reply, InputRequiredResult) else replies.success_reply(reply)
    except Failed as failed:
        return replies.failure_reply(failed)


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
    if not tool.is_open(caller.gate.levels[tool.name]):
        sentence = f"An operator decided that {tool.name} is not for agents."
        raise Failed("NOT_ALLOWED", "forbidden", sentence, "Do without it, or ask the person.")
    arguments = parse_arguments(tool.arguments, tool.name, values)
    if tool.run is not None:
        return await caller.perform(partial(tool.run, caller.session, arguments), tool.lane)
    for_command = arguments.for_command()
    consent = await _ask_consent(caller, tool, for_command, context)
    if isinstance(consent, InputRequiredResult):
        return consent
    return await caller.perform(
        partial(_run_command, caller, tool, for_command, consent, progress.observer_for(context)), tool.lane
    )


async def _ask_consent(
    caller: Caller, tool: Tool[Any], arguments: Mapping[str, Any], context: Context[None, Any] | None
) -> Mapping[str, str] | InputRequiredResult | None:
    """The digests shown to a person who approved in the client; None: no approval. Or the question to ask first."""
    if context is None or not caller.gate.elicits:
        return None
    from mirrord.commands.run import preview_if_needed  # noqa: PLC0415  (all commands: loaded by the first change)
    from mirrord.mcp import consents  # noqa: PLC0415  (only if an operator allows it)

    if not consents.can_ask(context):
        return None
    preview = await caller.perform(
        partial(preview_if_needed, caller.session, caller.gate, tool.name, arguments), tool.lane
    )
    approval = await consents.ask_approval(context, preview) if preview is not None else None
    if isinstance(approval, InputRequiredResult):
        return approval
    return preview.bases if preview is not None and approval else None


def _run_command(
    caller: Caller,
    tool: Tool[Any],
    arguments: Mapping[str, Any],
    consent: Mapping[str, str] | None,
    observer: Progress,
) -> Wire:
    from mirrord.commands.run import PendingRequest, run  # noqa: PLC0415  (as above)

    outcome = run(caller.session, caller.gate, tool.name, arguments, consent, observer)
    return replies.pending_reply(outcome) if isinstance(outcome, PendingRequest) else tool.to_wire(outcome.result)
