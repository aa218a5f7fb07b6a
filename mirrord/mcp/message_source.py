"""Where a message comes from: the HTTP session and what the client says of itself, for the work that it causes."""

from contextvars import ContextVar
from functools import lru_cache
from typing import Any, NamedTuple

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import ClientCapabilities

MAX_CLIENT_NAME = 80  # characters
STRUCTURED_ANSWERS = "mirrord/structured-answers"  # capability of a client that needs no text beside structured content

_SESSION_HEADER = "mcp-session-id"  # of Streamable HTTP up to 2025-11-25
_MAX_READ_CHARACTERS = 1_000  # of a name, of which some may be no letters
_MAX_NAMES = 16  # kept as they are shown


class MessageSource(NamedTuple):
    """
    session_id: of the HTTP session; None: it has none. client_name: None: the client gives itself none.

    takes_structured: the client has declared STRUCTURED_ANSWERS.
    """

    session_id: str | None = None
    client_name: str | None = None
    takes_structured: bool = False


_UNKNOWN = MessageSource()
_current: ContextVar[MessageSource] = ContextVar("message_source", default=_UNKNOWN)


async def note_source(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Middleware: note the source of a message; the protocol of 2026 and stdio have no sessions."""
    session = ctx.session
    client = session.client_params
    name = _shown_name(client.client_info.name[:_MAX_READ_CHARACTERS]) if client is not None else None
    session_id = ctx.request.headers.get(_SESSION_HEADER) if ctx.request is not None else None
    _current.set(MessageSource(session_id, name, _takes_structured(session.client_capabilities)))
    return await call_next(ctx)


def current_source() -> MessageSource:
    """The source of the message at work."""
    return _current.get()


def _takes_structured(capabilities: ClientCapabilities | None) -> bool:
    """Whether the client declares it, as no capability of the protocol itself says what clients show."""
    if capabilities is None:
        return False
    return STRUCTURED_ANSWERS in (capabilities.extensions or ()) or STRUCTURED_ANSWERS in (
        capabilities.experimental or ()
    )


@lru_cache(_MAX_NAMES)
def _shown_name(name: str) -> str | None:
    """The name on one line, as rows and terminals can show it; None: nothing is left."""
    words = "".join(letter if letter.isprintable() else " " for letter in name).split()
    return " ".join(words)[:MAX_CLIENT_NAME] or None
