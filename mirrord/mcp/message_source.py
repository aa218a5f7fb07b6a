"""Where a message comes from: the HTTP session and the client's name, for the work that it causes."""

from contextvars import ContextVar
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

MAX_CLIENT_NAME = 80  # characters

_SESSION_HEADER = "mcp-session-id"  # of Streamable HTTP up to 2025-11-25
_session_id: ContextVar[str | None] = ContextVar("session_id", default=None)
_client_name: ContextVar[str | None] = ContextVar("client_name", default=None)


async def note_source(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Middleware: note the HTTP session of a message; the protocol of 2026 and stdio have none."""
    headers = getattr(ctx.request, "headers", {})
    _session_id.set(headers.get(_SESSION_HEADER))
    client = ctx.session.client_params
    _client_name.set(_shown_name(client.client_info.name) if client is not None and client.client_info else None)
    return await call_next(ctx)


def session_id() -> str | None:
    """The HTTP session of the message at work; None: it has none."""
    return _session_id.get()


def client_name() -> str | None:
    """The name that the client of the message at work gives itself; None: it gives none."""
    return _client_name.get()


def _shown_name(name: str) -> str | None:
    """The name on one line, as rows and terminals can show it; None: nothing is left."""
    words = "".join(letter if letter.isprintable() else " " for letter in name).split()
    return " ".join(words)[:MAX_CLIENT_NAME] or None
