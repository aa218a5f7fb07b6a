"""Agents for tests: a tenant's tree without a daemon, the server's process, and clients as agents have them."""

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import jsonschema
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

import mirrord
from mirrord.commands.core.session import Gate, Session, SessionSettings
from mirrord.config import DEFAULT_TOOLS
from mirrord.domain.answer_form import AnswerForm
from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import Actor, MirrorId, TenantId
from mirrord.domain.scope import UNLIMITED, Scope
from mirrord.domain.trust import Trust
from mirrord.mcp.admission import Tenant
from mirrord.mcp.callers import Caller, Callers
from mirrord.mcp.server import assemble_server
from mirrord.mcp.tool_sets import ALL_SETS, tools_of
from mirrord.mirror import tree_marker
from mirrord.mirror.tree.scoped_tree import scope_tree
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree_marker import Marker
from mirrord.research.collections.group_scope import shows_group
from tests.support.loaded_servers import launcher

_PROGRAM = "import sys; from mirrord.cli import main; main(['mcp', *sys.argv[1:]])"
_OURS = ("MIRROR", "TENANT_ID")  # prefixes of environment variables that would redirect a server


def tenant_in(
    mirror: Path,
    name: str = "demo",
    pages: Mapping[str, str] | None = None,
    dialect: Dialect = Dialect.PLAIN,
) -> Tenant:
    """A tenant's tree as the daemon would have made it, with these *pages*, texts by path, which are of a *dialect*."""
    root, tenant_id = mirror / name, TenantId(uuid4())
    tree_marker.make_root(root)
    tree = Tree(root)
    tree_marker.write(tree, Marker(name, tenant_id, MirrorId(uuid4()), dialect))
    tree.close()
    for path, text in (pages or {}).items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return Tenant(name, tenant_id, root)


def process(
    mirror: Path, environment: Mapping[str, str] | None = None, *arguments: str, sealed: bool = False
) -> StdioServerParameters:
    """
    `mirrord mcp` as a client starts it; trusted on this machine unless *environment* has a token.

    It begins loaded, except with *sealed*, which lets it do no more than the service's unit does.
    """
    (mirror.parent / "data" / "pg").mkdir(parents=True, exist_ok=True)
    sealed_program = [sys.executable, "-m", "tests.support.sealed", sys.executable, "-c", _PROGRAM]
    command = sealed_program if sealed else launcher()
    outer_environment = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return StdioServerParameters(
        command=command[0],
        args=[*command[1:], "--mirror", str(mirror), "--data", str(mirror.parent / "data"), *arguments],
        env={**outer_environment, "PYTHONPATH": str(Path(mirrord.__file__).parents[1]), **(environment or {})},
        cwd=mirror.parent,
    )


@dataclass(frozen=True, slots=True)
class Agent:
    """A client that expects answers: call() fails the test where a tool fails, refusal() where it does not."""

    client: Client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers; both channels say the same."""
        result = await self.reply(tool, arguments)
        assert not result.is_error, f"{tool} failed: {result.structured_content or result.content}"
        return _content(result)

    async def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool says that it will not do."""
        result = await self.reply(tool, arguments)
        content = _content(result)
        assert result.is_error, f"{tool} did it: {content}"
        assert content["success"] is False
        assert all(isinstance(content[key], str) for key in ("error", "code", "error_type", "instruction"))
        return content

    async def reply(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """The bare result, valid by the tool's own schema."""
        result = await self.client.call_tool(tool, dict(arguments))
        check_answer(tool, result.structured_content)
        return result


@asynccontextmanager
async def in_memory(
    tenant: Tenant,
    *,
    may_write: bool = True,
    mode: str = "auto",
    sets: Sequence[str] = DEFAULT_TOOLS,
    gate: Gate | None = None,
    token: str | None = None,
    still_holds: Callable[[], None] = lambda: None,
    paths: Scope = UNLIMITED,
    answers: AnswerForm = AnswerForm.BOTH,
    **client: Any,
) -> AsyncIterator[Agent]:
    """
    An agent of its own session in this process.

    sets: of tools. gate: what it goes through; None: as nobody configured it. token: what let it in; None: local
    trust. still_holds: raises once that is over. paths: what it sees.
    """
    session = Session(
        scope_tree(Tree(tenant.root), paths, shows_group),
        tenant.name,
        tenant.id,
        Actor("agent", "tester"),
        f"mcp-{uuid4().hex}",
        SessionSettings(attach_from=(tenant.root.parent.parent / "outside",), token=token),
    )
    callers = Callers(Caller(session, gate or Gate(), may_write=may_write, still_holds=still_holds), answers)
    try:
        async with Client(assemble_server(tenant, callers, sets), mode=mode, **client) as connected:
            yield Agent(connected)
    finally:
        callers.close()


@asynccontextmanager
async def on_stdio(parameters: StdioServerParameters, *, mode: str = "auto", **client: Any) -> AsyncIterator[Agent]:
    """An agent of a process of its own."""
    async with Client(parameters, mode=mode, **client) as connected:
        yield Agent(connected)


def check_answer(name: str, content: object) -> None:
    """Check *content* by the schema of the tool's result, which lists of tools leave out. Other servers' tools pass."""
    if validator := _validators().get(name):
        validator.validate(content)


@cache
def _validators() -> dict[str, jsonschema.Draft202012Validator]:
    """By name of the tool; a reply that waits for a person is valid, too."""
    return {tool.name: jsonschema.Draft202012Validator(tool.result_for(Trust.REQUIRE)) for tool in tools_of([ALL_SETS])}


def _content(result: CallToolResult) -> dict[str, Any]:
    (text,) = result.content
    assert text.type == "text"
    content: dict[str, Any] = result.structured_content
    assert json.loads(text.text) == content
    return content
