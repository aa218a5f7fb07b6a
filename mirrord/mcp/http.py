"""The server over HTTP: a token per request, loopback by default, Host and Origin checked."""

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl

from mirrord.auth import signed_tokens
from mirrord.auth.token_keys import Keyring
from mirrord.config import Config
from mirrord.errors import Refused, UserError
from mirrord.mcp.admission import Tenant, find_tenant
from mirrord.mcp.caller_sessions import create_caller
from mirrord.mcp.callers import Callers
from mirrord.mcp.http_streams import MAX_REQUEST_BYTES, Streams
from mirrord.mcp.server import assemble_server

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
