"""A server that does nothing: what the protocol costs at least. `python -m tests.bench.empty`."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("empty", log_level="WARNING")


@server.tool()
def nothing(path: str = "") -> dict[str, str]:
    """Returns what it was given."""
    return {"path": path}


if __name__ == "__main__":
    server.run("stdio")
