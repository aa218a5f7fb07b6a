"""Backups that operators asked for: one at a time, each in a process of its own, with its progress and its end."""

import asyncio
import contextlib
import logging
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from starlette.exceptions import HTTPException

from mirrord.operations import backup_worker
from mirrord.operations.backup_listing import SizeCache
from mirrord.operations.backup_worker import BackupOrder, report_of
from mirrord.web.request_checks import RateLimit

log = logging.getLogger(__name__)

_STARTS_A_MINUTE = 6  # of one tenant: a start that fails costs a process
_INTERRUPTED = "The backup was interrupted. Earlier backups are complete; make another one."


@dataclass(slots=True)
class BackupRun:
    """
    A backup that was asked for. by: the name of the person. percent: of the rows; None: it waits for another backup.

    is_over: it ended. number: of the complete backup; unread: how many files are not in it. sentence: why there is
    none.
    """

    by: str
    percent: int | None = None
    is_over: bool = False
    number: int | None = None
    unread: int = 0
    sentence: str | None = None


@dataclass(slots=True)
class BackupDesk:
    """
    The console's side of backups. dsn: of the database. directory: of all backups.

    trees: the directory of the trees on this machine. data: the data directory. has_own_server: whether Postgres is
    the embedded one.
    """

    dsn: str = field(repr=False)
    directory: Path
    trees: Path
    data: Path
    has_own_server: bool
    sizes: SizeCache = field(default_factory=dict)
    start_rate: RateLimit = field(default_factory=lambda: RateLimit(_STARTS_A_MINUTE))
    _runs: dict[UUID, BackupRun] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def last_run(self, tenant: UUID) -> BackupRun | None:
        """The backup that was asked for last since the console started."""
        return self._runs.get(tenant)

    def check_free(self, tenant: UUID) -> None:
        """Raises 409 while a backup of the tenant is made."""
        run = self._runs.get(tenant)
        if run is not None and not run.is_over:
            raise HTTPException(409, f"A backup of this tenant is being made already; {run.by} asked for it.")

    def begin(self, tenant: UUID, order: BackupOrder, by: str) -> BackupRun:
        """Let a backup be made. Raises 409 while another one of the tenant is."""
        self.check_free(tenant)
        run = self._runs[tenant] = BackupRun(by)
        task = asyncio.get_running_loop().create_task(self._carry_out(run, order))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return run

    async def close(self) -> None:
        """End what is being made: earlier backups are complete."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry_out(self, run: BackupRun, order: BackupOrder) -> None:
        try:
            async with self._turn:
                run.percent = 0
                await _run_process(run, order)
        except OSError as error:
            log.warning("backup_failed", extra={"reason": str(error)})
        finally:
            if run.number is None and run.sentence is None:
                run.sentence = _INTERRUPTED
            run.is_over = True


async def _run_process(run: BackupRun, order: BackupOrder) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", backup_worker.MODULE, str(os.getpid())),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C at a terminal is for the daemon, which ends this process
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(order.encode())
        process.stdin.close()
        async for line in process.stdout:
            _note_report(run, line)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _note_report(run: BackupRun, line: bytes) -> None:
    report = report_of(line)
    if report is not None:
        run.percent, run.number = report.percent, report.number
        run.unread, run.sentence = report.unread, report.sentence
