"""When an attack failed: a proper reply in time that tells no secret, and nothing outside that changed."""

import json
import resource
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from mcp import Client
from mcp_types import CallToolResult

from mirrord.commands.core.failure import KINDS
from mirrord.mcp.callers import Callers, local_caller
from mirrord.mcp.server import assemble_server
from mirrord.mcp.tool_sets import ALL_SETS
from tests.redteam.world import State, World, inside, outside

DONE = "DONE"  # stands among the codes where it is right that a call succeeds
LIMIT = 2.0  # seconds
_PATIENCE = 60.0  # seconds, for a machine that has other work
_TRIES = 3  # a call that is slow so often is slow by itself
_LONGEST_FAILURE = 20_000  # characters of both channels together: models read them
_LONGEST = 500_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call. code: of the failure, or DONE. seconds: of processor time, as a machine may be busy."""

    code: str
    text: str
    seconds: float


class Attacker:
    """A client that has a token of the tenant's and tries what it can; each attempt is judged."""

    def __init__(self, world: World, client: Client) -> None:
        self.world, self.client = world, client
        self._sent: list[object] = []  # whoever said it may hear it again, as the name of a page for instance
        self._before, self._own = outside(world), inside(world)

    async def attack(self, tool: str, arguments: Mapping[str, Any], codes: frozenset[str]) -> Outcome:
        """Call; fails unless it ends with one of *codes* and nothing happened that must not."""
        self._sent.append(arguments)
        outcome = await call(self.client, tool, arguments)
        for _ in range(_TRIES - 1):
            if outcome.seconds < LIMIT:
                break
            outcome = await call(self.client, tool, arguments)
        self._judge(outcome, codes)
        return outcome

    def planted(self) -> None:
        """The world was changed on purpose."""
        self._before, self._own = outside(self.world), inside(self.world)

    def _judge(self, outcome: Outcome, codes: frozenset[str]) -> None:
        check(self.world, self._sent, outcome, codes, self._before)
        state = inside(self.world)
        if outcome.code != DONE:
            assert state == self._own, f"a call that failed changed {sorted(state.items() ^ self._own.items())}"
        self._own = state


@asynccontextmanager
async def attacker(world: World) -> AsyncIterator[Attacker]:
    """One with a connection of its own, in this process."""
    tenant, caller = local_caller(world.config)
    callers = Callers(caller)
    try:
        async with Client(assemble_server(tenant, callers, [ALL_SETS])) as client:
            yield Attacker(world, client)
    finally:
        callers.close()


async def call(client: Client, tool: str, arguments: Mapping[str, Any]) -> Outcome:
    """Call, and see that the reply is one that clients understand."""
    start = _processor_seconds()
    with anyio.fail_after(_PATIENCE):
        result = await client.call_tool(tool, dict(arguments))
    return Outcome(_code(result), result.model_dump_json(), _processor_seconds() - start)


def _processor_seconds() -> float:
    """Of this process, in which the server is, and of the programs that ended in it."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def check(world: World, sent: object, outcome: Outcome, codes: frozenset[str], before: State) -> None:
    """Fails unless the attack did."""
    assert outside(world) == before, "something outside was changed"
    leaks = told(world, sent, outcome.text)
    assert not leaks, f"the reply tells {leaks}"
    assert outcome.code in codes, outcome.text[:1000]
    assert outcome.seconds < LIMIT
    assert len(outcome.text) < (_LONGEST if outcome.code == DONE else _LONGEST_FAILURE)


def told(world: World, sent: object, text: str) -> list[str]:
    """The secrets in *text*; what somebody sent is none to them."""
    sent_text = json.dumps(sent, ensure_ascii=False, default=str)
    return [secret for secret in world.secrets() if secret in text and secret not in sent_text]


def _code(result: CallToolResult) -> str:
    content = result.structured_content
    (text,) = result.content
    assert text.type == "text"
    assert isinstance(content, dict)
    assert json.loads(text.text, parse_constant=_no_json) == content
    if not result.is_error:
        return DONE
    assert content["success"] is False
    assert content["error_type"] in KINDS
    assert content["error"]
    assert content["instruction"]
    return str(content["code"])


def _no_json(constant: str) -> float:
    raise AssertionError(f"{constant} is no JSON")
