"""Commands run in this process: half a second less than a process each, and the same code."""

import asyncio
import io
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

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

    A test with an event loop may have no other: there commands begin loaded, too, each in a process of its own.
    """

    def _begun(self, *words: str) -> Copy:
        if self.dsn is None and not self.postgres.cluster.exists():
            place_cluster(self.data)
        return loaded().begin(words, log=self.log, cwd=self.directory, env=self._environment())

    def run(self, *arguments: str, seconds: float = 90.0) -> subprocess.CompletedProcess[str]:
        """As Mirrord.run(), but that nobody watches over *seconds*; a daemon has a process of its own."""
        if arguments[0] == "up":
            return super().run(*arguments, seconds=seconds)
        if _has_event_loop():
            return self._run_loaded(arguments, seconds)
        result = run_command(*arguments, *self.places)
        return subprocess.CompletedProcess(arguments, result.code, result.out, result.err)

    def _run_loaded(self, arguments: tuple[str, ...], seconds: float) -> subprocess.CompletedProcess[str]:
        with TemporaryDirectory() as directory:
            out, err = Path(directory) / "out", Path(directory) / "err"
            words = [*arguments, *self.places]
            copy = loaded().begin(words, log=out, errors=err, cwd=self.directory, env=self._environment())
            try:
                code = copy.wait(seconds)
            except subprocess.TimeoutExpired:
                copy.send_signal(signal.SIGKILL)
                raise
            return subprocess.CompletedProcess(arguments, code, out.read_text("utf-8"), err.read_text("utf-8"))


def _has_event_loop() -> bool:
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        return True
    return False


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
