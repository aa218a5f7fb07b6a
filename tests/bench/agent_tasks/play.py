"""Plays a task on a fresh vault with a real server on stdio, and checks every file afterwards."""

import json
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mcp import Client, StdioServerParameters

from mirrord.mcp.admission import Tenant
from tests.bench.agent_tasks import notes
from tests.bench.agent_tasks.task import PAGES_AND_CHANGES, Files, Player, Script, Task
from tests.bench.agents import FILE_SERVER, NODE
from tests.support import node
from tests.support.clients import process, tenant_in
from tests.support.harness import Mirrord
from tests.support.trees import tree

_NEW_ID = re.compile(rb"^id: [0-9a-f-]{36}$", re.MULTILINE)
_EVENTS = ".records/"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a task took, and what is wrong afterwards; faults: empty if it was done."""

    calls: int
    bytes_in: int
    bytes_out: int
    faults: tuple[str, ...]


async def play(task: Task) -> Outcome:
    """*task* with mirrord's tools."""
    with tempfile.TemporaryDirectory(prefix="mirrord-agents-") as directory:
        tenant = _vault(Path(directory))
        server = process(tenant.root.parent, {"MIRROR_MCP_LOCAL_TRUST": "true"}, "--tools", task.sets, *task.scope)
        before = files_of(tenant.root)
        if task.prelude is not None:
            await act(server, tenant.root, task.prelude, task.sentence + "Old/Plan.md")
        return await _outcome(task, task.act, server, tenant.root, before)


async def play_bare(task: Task, program: Path) -> Outcome:
    """*task* with the tools of server-filesystem; program: its script for Node."""
    assert task.bare is not None
    with tempfile.TemporaryDirectory(prefix="mirrord-agents-") as directory:
        root = _vault(Path(directory)).root
        server = StdioServerParameters(command=str(shutil.which("node")), args=[str(program), str(root)])
        return await _outcome(task, task.bare, server, root, files_of(root))


async def list_bytes() -> int:
    """Bytes of tools/list, which every conversation starts with."""
    with tempfile.TemporaryDirectory(prefix="mirrord-agents-") as directory:
        root = tenant_in(Path(directory, "mirror")).root
        server = process(root.parent, {"MIRROR_MCP_LOCAL_TRUST": "true"}, "--tools", PAGES_AND_CHANGES)
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
    tools_as_sent = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    return len(json.dumps(tools_as_sent, ensure_ascii=False, separators=(",", ":")).encode())


def file_server() -> Path:
    """Of server-filesystem; installed as the lock file says."""
    return node.installed(NODE) / FILE_SERVER


def files_of(root: Path) -> Files:
    """Every file of people: pages and attachments."""
    return {path: content for path, content in tree(root).items() if not path.startswith(_EVENTS)}


def faults_of(task: Task, before: Files, after: Files, reply: object) -> list[str]:
    """What *after* and *reply* have other than the task wants; ids of new pages may be any."""
    expected = task.change(before) if task.change is not None else before
    masked = {path: content if path in before else _NEW_ID.sub(b"id: ID", content) for path, content in after.items()}
    faults = [f"the reply is {reply!r}, not {task.reply!r}"] if reply != task.reply else []
    return faults + [
        f"{path}: {masked.get(path, b'(no file)')!r}, not {expected.get(path, b'(no file)')!r}"
        for path in sorted(masked.keys() | expected.keys())
        if _is_other(masked.get(path), expected.get(path), is_moved=path not in before)
    ]


def _is_other(content: bytes | None, expected: bytes | None, *, is_moved: bool) -> bool:
    if is_moved and content is not None and expected is not None:
        return content != _NEW_ID.sub(b"id: ID", expected)
    return content != expected


async def _outcome(task: Task, script: Script, server: StdioServerParameters, root: Path, before: Files) -> Outcome:
    player, reply = await act(server, root, script, task.sentence)
    faults = faults_of(task, before, files_of(root), reply)
    return Outcome(player.calls, player.bytes_in, player.bytes_out, tuple(faults))


async def act(
    server: StdioServerParameters, root: Path, script: Script, knowledge: str, daemon: Mirrord | None = None
) -> tuple[Player, object]:
    """The player, and its reply; of a script that an answer does not fit: the error."""
    async with Client(server) as client:
        player = Player(client, root, knowledge, daemon=daemon)
        try:
            return player, await script(player)
        except (AssertionError, LookupError, RuntimeError, TypeError, ValueError) as error:
            return player, f"{type(error).__name__}: {error}; the last answer is {player.answers[-1:]}"


def _vault(directory: Path) -> Tenant:
    tenant = tenant_in(directory / "mirror")
    notes.fill(tenant.root)
    return tenant
