"""HTTP streams end with their token; oversized requests are refused in JSON-RPC form."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio
import orjson
from mcp_types import INVALID_REQUEST

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_REQUEST_BYTES = 4 << 20
CHECK_SECONDS = 1.0  # between two checks of the token of an open stream

_STATUS_TOO_LARGE = 413


class Streams:
    """ASGI wrapper of the SDK's application. holds: whether a token is valid."""

    def __init__(self, app: App, holds: Callable[[str], Awaitable[bool]]) -> None:
        self._app, self._holds = app, holds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer, token = _Response(send), _bearer_token(scope)
        async with anyio.create_task_group() as tasks:
            if token is not None:
                tasks.start_soon(self._watch, token, tasks.cancel_scope)
            await self._app(scope, receive, answer.send)
            tasks.cancel_scope.cancel()
        await answer.end()

    async def _watch(self, token: str, serving: anyio.CancelScope) -> None:
        """Check the token during the response; the SDK checks it only before."""
        while True:
            await anyio.sleep(CHECK_SECONDS)
            if not await self._holds(token):
                serving.cancel()
                return


class _Response:
    """One response to a client."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._has_started = self._has_ended = self._is_too_large = False

    async def send(self, message: Message) -> None:
        """Pass a message of the application on, or replace it with a more detailed one."""
        if message["type"] == "http.response.start":
            self._has_started = True
            self._is_too_large = message["status"] == _STATUS_TOO_LARGE
            if self._is_too_large:
                message = {
                    **message,
                    "headers": [(b"content-type", b"application/json"), _content_length(_TOO_LARGE_BODY)],
                }
        elif message["type"] == "http.response.body":
            if self._is_too_large:
                message = {"type": "http.response.body", "body": _TOO_LARGE_BODY}
            self._has_ended = not message.get("more_body", False)
        await self._send(message)

    async def end(self) -> None:
        """Complete an interrupted response."""
        if not self._has_started:
            await self._send({"type": "http.response.start", "status": 401, "headers": [_content_length(b"")]})
        if not self._has_ended:
            await self._send({"type": "http.response.body", "body": b""})


def _bearer_token(scope: Scope) -> str | None:
    header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    kind, _, token = header.decode("latin-1").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def _content_length(body: bytes) -> tuple[bytes, bytes]:
    return b"content-length", str(len(body)).encode()


_TOO_LARGE_BODY = orjson.dumps(
    {
        "jsonrpc": "2.0",
        "id": None,
        "error": {
            "code": INVALID_REQUEST,
            "message": f"The request is larger than {MAX_REQUEST_BYTES} bytes, so nothing of it was read.",
            "data": {
                "code": "TOO_LARGE",
                "limitBytes": MAX_REQUEST_BYTES,
                "instruction": "Write the first part of the text with write_page and add the others with edit_page, or "
                "split the page. A server on stdin and stdout takes pages of any size.",
            },
        },
    }
)
