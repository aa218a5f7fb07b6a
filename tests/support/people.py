"""People who decide at the command line about what agents ask for."""

from typing import Any

import anyio

from tests.support.clients import Agent
from tests.support.harness import PATIENCE, Mirrord, eventually, growing_pause


def approve(mirrord: Mirrord, request: str) -> None:
    """`mirrord approvals approve`, as soon as the daemon knows the request."""
    query = "SELECT FROM mirrord.approval WHERE id = %s"
    eventually(lambda: mirrord.app.execute(query, [request]).fetchone() is not None, f"the request {request}")
    completed = mirrord.run("approvals", "approve", request, "--tenant", mirrord.tenant)
    assert completed.returncode == 0, completed.stderr


async def pending(agent: Agent, tool: str, **arguments: Any) -> dict[str, Any]:
    """What an agent is told whose call waits for a person."""
    answer = await agent.call(tool, **arguments)
    assert answer["status"] == "pending_approval", f"{tool} did it: {answer}"
    return answer


async def granted(agent: Agent, mirrord: Mirrord, tool: str, **arguments: Any) -> dict[str, Any]:
    """What an agent gets for a call that a person approved: the same call again, once it is done."""
    approve(mirrord, (await pending(agent, tool, **arguments))["request_id"])
    return await carried_out(agent, tool, **arguments)


async def carried_out(agent: Agent, tool: str, **arguments: Any) -> dict[str, Any]:
    """What becomes of a call that was approved, by whomever: the same call again, once it is done."""
    begin = anyio.current_time()
    with anyio.fail_after(PATIENCE):
        while True:
            outcome = await agent.call(tool, **arguments)
            if outcome.get("status") != "pending_approval":
                return outcome
            await anyio.sleep(growing_pause(anyio.current_time() - begin))
