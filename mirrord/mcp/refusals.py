"""Refusals outside tools, in the protocol's form: an error with a code and an instruction."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from mirrord.commands.core.failure import Failed, failure_of
from mirrord.errors import MirrordError
from mirrord.mcp.callers import Callers
from mirrord.mcp.tools import replies

BUSY = -32010  # in the range that the protocol leaves to servers
TOKEN_REFUSED = -32011

_UNCOUNTED_METHODS = ("ping", "tools/call")  # a tool call is counted by its kind
_HANDSHAKE_METHODS = ("initialize", "server/discover")
_CODES: Mapping[str, int] = MappingProxyType(
    {
        "busy": BUSY,
        "no_session": TOKEN_REFUSED,
        "not_found": INVALID_PARAMS,
        "invalid": INVALID_PARAMS,
        "forbidden": INVALID_PARAMS,
    }
)


def protocol_error(error: MirrordError) -> MCPError:
    """*error* as a protocol error; its `data` is the failure of a tool."""
    failed = failure_of(error)
    code = _CODES.get(failed.kind, INTERNAL_ERROR)
    return MCPError(code, f"{failed} {failed.instruction}", data=replies.facts_of_failure(failed))


class Refusals:
    """Middleware: counts requests, and converts refusals to protocol errors."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    async def convert_refusals(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Pass a request on unless its caller has reached a limit."""
        try:
            if ctx.request_id is not None and ctx.method not in _UNCOUNTED_METHODS:
                self._count_request(ctx.method)
            return await call_next(ctx)
        except MirrordError as error:
            raise protocol_error(error) from error

    def _count_request(self, method: str) -> None:
        try:
            gate = self._callers.current().gate
        except Failed:
            if method in _HANDSHAKE_METHODS:  # a refused client learns it from its next request
                return
            raise
        gate.count_call(writes=False)
