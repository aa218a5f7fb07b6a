"""Wiring of the server with its tools for the callers of one tenant."""

from collections.abc import Sequence

from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings

from mirrord.config import DEFAULT_TOOLS
from mirrord.mcp.admission import Tenant
from mirrord.mcp.callers import Callers
from mirrord.mcp.instructions import instructions_for
from mirrord.mcp.notices import Notices
from mirrord.mcp.resources import digest_of_names
from mirrord.mcp.server import Server
from mirrord.mcp.tools import check_sets, tools_of


def assemble_server(
    tenant: Tenant,
    callers: Callers,
    sets: Sequence[str] = DEFAULT_TOOLS,
    *,
    auth: AuthSettings | None = None,
    verifier: TokenVerifier | None = None,
) -> Server:
    """The server of *tenant* with these sets of tools. Raises UserError for a set that does not exist."""
    chosen = check_sets(sets)
    notices = Notices(tenant.root, lambda: digest_of_names(callers), callers.may_notify)
    return Server(callers, tools_of(chosen), notices, instructions_for(chosen), auth=auth, verifier=verifier)
