"""Host and Origin of every request over HTTP, also of those that need no token: a browser may send them for anyone."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class HostCheck:
    """ASGI wrapper that refuses requests with a foreign Host or Origin, as the SDK does for /mcp alone."""

    def __init__(self, app: App, security: TransportSecuritySettings) -> None:
        self._app, self._security = app, TransportSecurityMiddleware(security)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] == "http" and (refusal := await self._security.validate_request(Request(scope))) is not None:
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)
