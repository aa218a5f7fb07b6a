"""The server over HTTP: a token per request, which its streams end with; Host, Origin and sizes checked."""

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import orjson
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST
from pydantic import AnyHttpUrl

from mirrord.auth import signed_tokens
from mirrord.auth.access_grant import Grant
from mirrord.auth.signed_tokens import Keyring
from mirrord.config import Config
from mirrord.errors import Refused, Unavailable, UserError
from mirrord.mcp.admission import Tenant, find_tenant
from mirrord.mcp.callers import Caller, Callers, create_caller
from mirrord.mcp.host_check import App, HostCheck, Message, Receive, Scope, Send
from mirrord.mcp.oauth.external_issuer import ExternalIssuer, create_issuer, create_metadata
from mirrord.mcp.oauth.oauth_routes import create_provider, create_routes
from mirrord.mcp.oauth.provider import Provider
from mirrord.mcp.server import assemble_server

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

    def __init__(
        self, config: Config, tenant: Tenant, callers: Callers, provider: Provider | ExternalIssuer | None = None
    ) -> None:
        """*provider*: of tokens for this server; None: only tokens without an audience are accepted."""
        self._config, self._tenant, self._callers, self._provider = config, tenant, callers, provider
        self._keyring = Keyring(config.mirror)

    async def verify_token(self, token: str) -> AccessToken | None:
        """The token's access, or None to refuse it without a reason."""
        try:
            grant = await self._grant_of(token)
            if grant.tenant_id != self._tenant.id:
                return None
            self._callers.admit(grant.token, lambda: self._create_caller(grant, token))
        except (Refused, Unavailable):
            return None
        scopes = ["read", "write"] if grant.may_write else ["read"]
        return AccessToken(token=token, client_id=grant.token, scopes=scopes, subject=grant.actor.name)

    async def _grant_of(self, token: str) -> Grant:
        """Raises Refused, and Unavailable while an issuer elsewhere does not say how to verify it."""
        provider = self._provider
        if isinstance(provider, ExternalIssuer) and provider.issued(token):
            return await anyio.to_thread.run_sync(provider.verify, token)
        return signed_tokens.verify_token(self._keyring, token, provider.resource if provider is not None else None)

    def _create_caller(self, grant: Grant, token: str) -> Caller:
        """The caller for a token; for one of a delegation it lasts as long as that."""
        if grant.audience is not None and self._provider is not None:
            grant, token = self._provider.lasting_grant(grant)
        return create_caller(self._config, self._tenant, grant, token, by_session=True)

    async def is_valid(self, token: str) -> bool:
        """Whether *token* is valid now."""
        return await self.verify_token(token) is not None


def serve(config: Config, address: str, names: tuple[str, ...]) -> None:
    """Serve until a signal ends the process. address: HOST:PORT. names: additional host names for clients."""
    host, port = parse_address(address)
    callers = Callers(answers=config.agents.answers)
    tenant = find_tenant(config)
    url = f"http://{host}:{port}"
    provider = _create_provider(config, tenant, url)
    if provider is not None:
        names = (*names, urlsplit(provider.resource).hostname or host)
    app = create_app(config, tenant, callers, url, security_settings(host, names), provider)
    print(f"Agents of {tenant.name} reach mirrord at http://{host}:{port}/mcp", flush=True)
    try:
        uvicorn.run(app, host=host.strip("[]"), port=port, log_level="warning", ws="none")
    finally:
        callers.close()


def _create_provider(config: Config, tenant: Tenant, url: str) -> Provider | ExternalIssuer | None:
    """Who lets people in. Raises UserError for a configuration that cannot be."""
    if config.agents.issuer is not None:
        return create_issuer(config, tenant, config.agents.issuer)
    return create_provider(config, tenant, config.agents.oauth or url) if config.agents.oauth is not None else None


def create_app(
    config: Config,
    tenant: Tenant,
    callers: Callers,
    url: str,
    security: TransportSecuritySettings | None = None,
    provider: Provider | ExternalIssuer | None = None,
) -> Streams:
    """
    The application of *tenant* for clients with tokens.

    url: its own URL, which the SDK needs as an issuer. provider: the authorization server, here or elsewhere; None:
    none.
    """
    auth = AuthSettings(
        issuer_url=AnyHttpUrl(provider.url if provider is not None else url),
        resource_server_url=AnyHttpUrl(provider.resource) if provider is not None else None,
        required_scopes=["read"],
        validate_token_resource=False,  # the verifier does
    )
    verifier = Verifier(config, tenant, callers, provider)
    server = assemble_server(tenant, callers, config.agents.tools, auth=auth, verifier=verifier)
    app = server.streamable_http_app(transport_security=security, max_request_body_size=MAX_REQUEST_BYTES)
    if isinstance(provider, Provider):
        app.router.routes[:0] = create_routes(provider)
    elif provider is not None:
        app.router.routes[:0] = create_metadata(provider)
    return Streams(app if security is None else HostCheck(app, security), verifier.is_valid)


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
