"""The server on stdin and stdout: one process, one client."""

from mirrord.config import Config
from mirrord.mcp.assembly import assemble_server
from mirrord.mcp.callers import Callers
from mirrord.mcp.sessions import local_caller


def serve(config: Config) -> None:
    """Serve until stdin ends. Raises Refused for a missing or invalid token."""
    tenant, caller = local_caller(config)
    callers = Callers(caller)
    try:
        assemble_server(tenant, callers, config.agents.tools).run("stdio")
    finally:
        callers.close()
