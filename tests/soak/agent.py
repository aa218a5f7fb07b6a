"""An agent at work beside people and apps: it reads a page and writes it anew."""

import sys
from typing import Any

from tests.bench.wire import Wire
from tests.faults.tokens import Ledger
from tests.faults.world import Quick

PAGES = 10  # that it works on


def served(mirror: Quick) -> Wire:
    """The server for agents on one tree; this machine's person is trusted."""
    (mirror.data / "pg").mkdir(parents=True, exist_ok=True)  # as beside an embedded Postgres: no token is needed
    places = ["--mirror", str(mirror.mirror), "--data", str(mirror.data)]
    program = [sys.executable, "-c", "from mirrord.cli import main; main()", "mcp", *places]
    return Wire(program, mirror.directory, {"TENANT_ID": mirror.tenant})


def work(agent: Wire, ledger: Ledger, number: int) -> None:
    """Read one page, if it is there, and replace its text; what it refuses to write nobody need find."""
    path, token = f"Agent/Notes {number % PAGES}.md", ledger.token()
    _asked(agent, "read_page", path=path)
    if not _asked(agent, "write_page", path=path, content=f"# Notes\n\nThe agent notes {token}.\n").get("isError"):
        ledger.wrote(token, f"an agent wrote {path}")


def _asked(agent: Wire, tool: str, **arguments: Any) -> dict[str, Any]:
    return agent.request("tools/call", {"name": tool, "arguments": arguments})
