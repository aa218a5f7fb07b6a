"""Commands run in this process: half a second less than a process each, and the same code."""

import asyncio
import io
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from mirrord.cli.command_table import cli
from tests.support.clusters import place_cluster
from tests.support.harness import Mirrord
from tests.support.loaded import Copy, loaded

Command = Callable[..., "Done"]


@dataclass(frozen=True, slots=True)
class Done:
    """What a command answered. code: its exit code."""

    code: int
    out: str = ""
    err: str = ""


class Near(Mirrord):
    """
    A whole mirrord whose daemon, in a process of its own, begins loaded, and whose commands run in this one.

    A test's event loop stands still meanwhile.
    """

    def _begun(self, *words: str) -> Copy:
        if self.dsn is None and not self.postgres.cluster.exists():
            place_cluster(self.data)
        return loaded().begin(words, log=self.log, cwd=self.directory, env=self._environment())

    def run(self, *arguments: str, seconds: float = 90.0) -> subprocess.CompletedProcess[str]:
        """As Mirrord.run(), but that nobody watches over *seconds*; a daemon has a process of its own."""
        if arguments[0] == "up":
            return super().run(*arguments, seconds=seconds)
        with _no_event_loop():
            result = run_command(*arguments, *self.places)
        return subprocess.CompletedProcess(arguments, result.code, result.out, result.err)


@contextmanager
def _no_event_loop() -> Iterator[None]:
    """Within this block a command may begin a loop of its own: of two in one thread one has to be unknown to it."""
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(running)


def commands(dsn: str, tenant: object, directory: Path) -> Command:
    """Runs `mirrord` commands for one tenant, named or by its id."""
    run = commands_on_files(directory)
    return lambda *arguments: run(*arguments, "--dsn", dsn, "--tenant", str(tenant))


def commands_on_files(directory: Path) -> Command:
    """Runs those that need neither Postgres nor, where there is only one, a tenant's name."""

    def run(*arguments: str) -> Done:
        return run_command(*arguments, "--mirror", str(directory / "mirror"), "--data", str(directory / "data"))

    return run


def run_command(*arguments: str) -> Done:
    """Run `mirrord` with these arguments."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.main(list(arguments), prog_name="mirrord", standalone_mode=False)
    return Done(code or os.EX_OK, _said(out), _said(err))


def _said(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
