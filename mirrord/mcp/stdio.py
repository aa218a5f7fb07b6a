"""The server on stdin and stdout: one process, one client."""

from mirrord.config import Config
from mirrord.mcp.caller_sessions import local_caller
from mirrord.mcp.callers import Callers
from mirrord.mcp.server import assemble_server


def serve(config: Config) -> None:
    """Serve until stdin ends. Raises Refused for a missing or invalid token."""
    tenant, caller = local_caller(config)
    callers = Callers(caller)
    try:
        assemble_server(tenant, callers, config.agents.tools).run("stdio")
    finally:
        callers.close()
