"""One call of a tool, from its arguments to its reply."""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from mcp_types import CallToolResult

from mirrord.commands.failure import Failed
from mirrord.errors import MirrordError
from mirrord.mcp import replies
from mirrord.mcp.arguments import Arguments, parsed
from mirrord.mcp.callers import Caller, Callers
from mirrord.mcp.tool import Tool, Wire

log = logging.getLogger(__name__)


async def perform(callers: Callers, tool: Tool[Any], given: Mapping[str, Any]) -> CallToolResult:
    """Do what *tool* does for whoever calls; whatever goes wrong becomes a reply."""
    try:
        return replies.success(await _performed(callers.current(), tool, given))
    except MirrordError as error:
        return replies.failure(replies.explained(error))
    except Exception:  # one call must not end the connection, nor tell what is inside
        log.exception("call_failed", extra={"tool": tool.name})
        return replies.failure(replies.internal(tool.name))


async def _performed(caller: Caller, tool: Tool[Any], given: Mapping[str, Any]) -> Wire:
    caller.gate.count(writes=tool.writes)
    if tool.writes and not caller.may_write:
        raise Failed(
            "READ_ONLY",
            "forbidden",
            f"This token may only read, and {tool.name} writes.",
            "Tell the person what you would have written, or ask an operator for a token that may write.",
        )
    arguments = parsed(tool.arguments, tool.name, given)
    return await caller.perform(partial(_run, caller, tool, arguments), waits=tool.waits)


def _run(caller: Caller, tool: Tool[Any], arguments: Arguments) -> Wire:
    if tool.run is not None:
        return tool.run(caller.session, arguments)
    from mirrord.commands.run import Pending, run  # noqa: PLC0415  (all commands: loaded by the first that changes)

    outcome = run(caller.session, caller.gate, tool.name, arguments.for_command())
    return replies.waiting(outcome) if isinstance(outcome, Pending) else tool.answered(outcome.result)
