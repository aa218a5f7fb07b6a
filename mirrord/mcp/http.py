"""The server over HTTP: a token per request, which its streams end with; Host, Origin and sizes checked."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio
import orjson
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST
from pydantic import AnyHttpUrl

from mirrord.auth import signed_tokens
from mirrord.auth.signed_tokens import Keyring
from mirrord.config import Config
from mirrord.errors import Refused, UserError
from mirrord.mcp.admission import Tenant, find_tenant
from mirrord.mcp.callers import Callers, create_caller
from mirrord.mcp.server import assemble_server

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


_LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")


class Verifier:
    """Admits holders of a token of the tenant (the SDK's TokenVerifier)."""

    def __init__(self, config: Config, tenant: Tenant, callers: Callers) -> None:
        self._config, self._tenant, self._callers = config, tenant, callers
        self._keyring = Keyring(config.mirror)

    async def verify_token(self, token: str) -> AccessToken | None:
        """The token's access, or None to refuse it without a reason."""
        try:
            grant = signed_tokens.verify_token(self._keyring, token)
        except Refused:
            return None
        if grant.tenant_id != self._tenant.id:
            return None
        self._callers.admit(
            grant.token, lambda: create_caller(self._config, self._tenant, grant, token, by_session=True)
        )
        scopes = ["read", "write"] if grant.may_write else ["read"]
        return AccessToken(token=token, client_id=grant.token, scopes=scopes, subject=grant.actor.name)

    async def is_valid(self, token: str) -> bool:
        """Whether *token* is valid now."""
        return await self.verify_token(token) is not None


def serve(config: Config, address: str, names: tuple[str, ...]) -> None:
    """Serve until a signal ends the process. address: HOST:PORT. names: additional host names for clients."""
    host, port = parse_address(address)
    callers = Callers()
    tenant = find_tenant(config)
    app = create_app(config, tenant, callers, f"http://{host}:{port}", security_settings(host, names))
    print(f"Agents of {tenant.name} reach mirrord at http://{host}:{port}/mcp", flush=True)
    try:
        uvicorn.run(app, host=host.strip("[]"), port=port, log_level="warning", ws="none")
    finally:
        callers.close()


def create_app(
    config: Config, tenant: Tenant, callers: Callers, url: str, security: TransportSecuritySettings | None = None
) -> Streams:
    """The application of *tenant* for clients with tokens. url: its own URL, which the SDK needs as an issuer."""
    auth = AuthSettings(issuer_url=AnyHttpUrl(url), resource_server_url=None, required_scopes=["read"])
    verifier = Verifier(config, tenant, callers)
    server = assemble_server(tenant, callers, config.agents.tools, auth=auth, verifier=verifier)
    app = server.streamable_http_app(transport_security=security, max_request_body_size=MAX_REQUEST_BYTES)
    return Streams(app, verifier.is_valid)


def security_settings(host: str, names: tuple[str, ...]) -> TransportSecuritySettings:
    """The accepted Host and Origin headers: of loopback, *host* and *names*, on any port."""
    hosts = dict.fromkeys((*_LOOPBACK_HOSTS, host, *names))
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*hosts, *(f"{name}:*" for name in hosts)],
        allowed_origins=[
            f"{scheme}://{name}{port}" for name in hosts for scheme in ("http", "https") for port in ("", ":*")
        ],
    )


def parse_address(address: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`, `[::1]:PORT` or `PORT`. Raises UserError for anything else."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise UserError(f"{address!r} is no address to serve at; write for instance 127.0.0.1:8765.")
    return host or "127.0.0.1", int(port)
