"""Plays tasks one after the other on one vault that a daemon keeps in sync, and checks every file afterwards."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp import StdioServerParameters

from tests.bench.agent_tasks import notes
from tests.bench.agent_tasks.play import Outcome, act, faults_of, files_of
from tests.bench.agent_tasks.task import Task
from tests.support.clients import process
from tests.support.harness import Awaited, Mirrord, eventually

_AGENT, _OTHER_AGENT = "day shift", "night shift"  # who does the tasks, and who did what they begin with


@contextmanager
def running_vault() -> Iterator[Mirrord]:
    """A daemon with a Postgres of its own, and the vault in rows."""
    with (
        tempfile.TemporaryDirectory(prefix="mirrord-agents-", ignore_cleanup_errors=True) as directory,
        Mirrord(Path(directory)) as daemon,
    ):
        start_vault(daemon)
        yield daemon


def start_vault(daemon: Mirrord) -> None:
    """Start *daemon* on the vault."""
    daemon.root.mkdir(parents=True)
    notes.fill(daemon.root)
    daemon.up()
    daemon.flush()


async def play_synced(task: Task, daemon: Mirrord) -> Outcome:
    """*task* on the vault of *daemon* as it is."""
    before = await asyncio.to_thread(files_of, daemon.root)
    if task.prelude is not None:
        await act(_server(daemon, _OTHER_AGENT, task), daemon.root, task.prelude, "\n".join(notes.TEXTS))
    daemon.flush()
    player, reply = await act(_server(daemon, _AGENT, task, *task.scope), daemon.root, task.act, task.sentence, daemon)

    def faults() -> list[str]:
        return faults_of(task, before, files_of(daemon.root), reply)

    with suppress(Awaited):  # an undo is in rows first
        eventually(lambda: not faults(), f"the files of {task.name!r}")
    return Outcome(player.calls, player.bytes_in, player.bytes_out, tuple(faults()))


def _server(daemon: Mirrord, actor: str, task: Task, *options: str) -> StdioServerParameters:
    token = daemon.create_token(actor, *options)
    return process(daemon.mirror, {"MIRRORD_TOKEN": token}, "--tools", task.sets)
