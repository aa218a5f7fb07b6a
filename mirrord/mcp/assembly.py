"""Wiring of the server with its tools for the callers of one tenant."""

from collections.abc import Sequence

from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings

from mirrord.config import DEFAULT_TOOLS
from mirrord.mcp.admission import Tenant
from mirrord.mcp.callers import Callers
from mirrord.mcp.instructions import instructions
from mirrord.mcp.notices import Notices
from mirrord.mcp.resources import every_name
from mirrord.mcp.server import Server
from mirrord.mcp.tools import named, tools_of


def assembled(
    tenant: Tenant,
    callers: Callers,
    sets: Sequence[str] = DEFAULT_TOOLS,
    *,
    auth: AuthSettings | None = None,
    verifier: TokenVerifier | None = None,
) -> Server:
    """The server of *tenant* with these sets of tools. Raises UserError for a set that does not exist."""
    chosen = named(sets)
    notices = Notices(tenant.root, lambda: every_name(callers), callers.may_hear)
    return Server(callers, tools_of(chosen), notices, instructions(chosen), auth=auth, verifier=verifier)
