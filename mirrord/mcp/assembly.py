"""Wiring: the server with all its tools, for the callers of one tenant."""

from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings

from mirrord.mcp.admission import Tenant
from mirrord.mcp.callers import Callers
from mirrord.mcp.notices import Notices
from mirrord.mcp.resources import listed_uris
from mirrord.mcp.server import Server
from mirrord.mcp.tools import TOOLS


def assembled(
    tenant: Tenant, callers: Callers, *, auth: AuthSettings | None = None, verifier: TokenVerifier | None = None
) -> Server:
    """The server of *tenant*."""
    notices = Notices(tenant.root, lambda: listed_uris(callers))
    return Server(callers, TOOLS, notices, auth=auth, verifier=verifier)
