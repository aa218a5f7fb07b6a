"""What HTTP answers: streams end with the token that opened them, and what is too large is told in JSON-RPC's form."""

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
CHECK_SECONDS = 1.0  # between two looks whether the token of an open stream still counts

_TOO_LARGE = 413


class Streams:
    """ASGI around the SDK's application. holds: whether a token counts."""

    def __init__(self, app: App, holds: Callable[[str], Awaitable[bool]]) -> None:
        self._app, self._holds = app, holds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer, token = _Answer(send), _token(scope)
        async with anyio.create_task_group() as tasks:
            if token is not None:
                tasks.start_soon(self._watch, token, tasks.cancel_scope)
            await self._app(scope, receive, answer.send)
            tasks.cancel_scope.cancel()
        await answer.end()

    async def _watch(self, token: str, serving: anyio.CancelScope) -> None:
        """The SDK looks at the token before it answers; this, while it answers."""
        while True:
            await anyio.sleep(CHECK_SECONDS)
            if not await self._holds(token):
                serving.cancel()
                return


class _Answer:
    """One answer, on its way to the client."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_begun = self._is_ended = self._is_too_large = False

    async def send(self, message: Message) -> None:
        """Pass on what the application answers, or in its place what says more."""
        if message["type"] == "http.response.start":
            self._is_begun = True
            self._is_too_large = message["status"] == _TOO_LARGE
            if self._is_too_large:
                message = {**message, "headers": [(b"content-type", b"application/json"), _length(_LARGER)]}
        elif message["type"] == "http.response.body":
            if self._is_too_large:
                message = {"type": "http.response.body", "body": _LARGER}
            self._is_ended = not message.get("more_body", False)
        await self._send(message)

    async def end(self) -> None:
        """End what was cut off."""
        if not self._is_begun:
            await self._send({"type": "http.response.start", "status": 401, "headers": [_length(b"")]})
        if not self._is_ended:
            await self._send({"type": "http.response.body", "body": b""})


def _token(scope: Scope) -> str | None:
    shown = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    kind, _, token = shown.decode("latin-1").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def _length(body: bytes) -> tuple[bytes, bytes]:
    return b"content-length", str(len(body)).encode()


_LARGER = orjson.dumps(
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
