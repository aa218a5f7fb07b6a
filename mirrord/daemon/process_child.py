"""The supervisor's side of one engine process: start it, look after it, end it when it stands still, start it again."""

import asyncio
import logging
import multiprocessing
import os
import signal
import time
from collections import deque
from contextlib import suppress
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from mirrord.config import Config
from mirrord.daemon.engine_process import ProcessPlace, run_engine_process
from mirrord.mirror.engine_desk import EngineDesk
from mirrord.mirror.process_setup import TERMINAL_SIGNALS
from mirrord.sync.timing import pause

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0  # seconds between two looks at a process
MAX_STOPPED_LOOKS = 3  # looks at which it is stopped (SIGSTOP) until it is killed: its locks are in the way of others
MAX_SILENT_SECONDS = 60.0  # seconds without a heartbeat until it is ended; as the units' WatchdogSec
MAX_START_SECONDS = 600.0  # seconds until its first heartbeat; killed sooner, it would never start on a busy machine
ABORT_SECONDS = 5.0  # seconds for the traceback of a process that stands still
STOP_SECONDS = 100.0  # seconds for work under way; a service manager waits 120
RESTART_PAUSES_SECONDS = (0.2, 1.0, 5.0, 12.0)  # after each end within RECENT_SECONDS; the last: others take over
RECENT_SECONDS = 120.0


class ProcessChild:
    """
    One engine process, over its restarts.

    report: the facts of its last heartbeat; None: it has not reported since its start. ended: why it does not run,
    as a sentence; None: it does.
    """

    def __init__(
        self, config: Config, place: ProcessPlace, fill: Path | None, log_files: tuple[Path | None, ...]
    ) -> None:
        """log_files: see log_to()."""
        self.place = place
        self.desk = EngineDesk(config.mirror, place.number)
        self.report: dict[str, Any] | None = None
        self.ended: str | None = None
        self._arguments = (config, place, os.getpid(), fill, log_files)
        self._process: SpawnProcess | None = None
        self._ends: deque[float] = deque(maxlen=len(RESTART_PAUSES_SECONDS))
        self._started_at, self._stopped_looks = 0.0, 0

    @property
    def pid(self) -> int | None:
        """The id of the process that runs now; None: none does."""
        return self._process.pid if self._process is not None and self._process.is_alive() else None

    async def run(self, stop: asyncio.Event) -> None:
        """Keep the process running until *stop*, then let it finish its work."""
        while not stop.is_set():
            self._start()
            await self._look_after(stop)
            if stop.is_set():
                break
            assert self._process is not None
            seconds = self._next_pause_seconds()
            self.report, self.ended = None, f"Engine process {self.place.number} ended; it is started again."
            log.error("process_ended", extra={"number": self.place.number, "code": self._process.exitcode})
            await pause(stop, seconds)
        await self._finish()

    def read_report(self) -> None:
        """Read its last heartbeat."""
        facts = self.desk.heartbeat.read()
        self.report = facts if facts is not None and facts["pid"] == self.pid else None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        process = self._process = context.Process(target=run_engine_process, args=self._arguments)
        previous = signal.pthread_sigmask(signal.SIG_BLOCK, TERMINAL_SIGNALS)  # until it ignores them
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous)
        self.ended, self._started_at, self._stopped_looks = None, time.monotonic(), 0
        log.info("process_started", extra={"number": self.place.number, "pid": process.pid})

    def _next_pause_seconds(self) -> float:
        now = time.monotonic()
        recent = sum(now - ended < RECENT_SECONDS for ended in self._ends)
        self._ends.append(now)
        return RESTART_PAUSES_SECONDS[min(recent, len(RESTART_PAUSES_SECONDS) - 1)]

    async def _look_after(self, stop: asyncio.Event) -> None:
        """Return when the process ended, or at *stop*."""
        assert self._process is not None
        ended = asyncio.Event()
        loop, sentinel = asyncio.get_running_loop(), self._process.sentinel
        loop.add_reader(sentinel, ended.set)
        try:
            while not (stop.is_set() or ended.is_set()):
                await pause(stop, LOOK_SECONDS, ended)
                if (reason := self._reason_to_end()) is not None and not stop.is_set():
                    await self._end(reason, ended)
        finally:
            loop.remove_reader(sentinel)
        if ended.is_set():
            await asyncio.to_thread(self._process.join)

    def _reason_to_end(self) -> str | None:
        """Why the process is of no use any more; None: it works."""
        if self.pid is None:
            return None
        self._stopped_looks = self._stopped_looks + 1 if _is_stopped(self.pid) else 0
        if self._stopped_looks >= MAX_STOPPED_LOOKS:
            return "stopped"
        if self.report is None:
            return "silent" if time.monotonic() - self._started_at > MAX_START_SECONDS else None
        if min(time.monotonic() - self._started_at, time.time() - self.report["beat"]) > MAX_SILENT_SECONDS:
            return "silent"
        return f"stuck: {', '.join(self.report['stuck'])}" if self.report["stuck"] else None

    async def _end(self, reason: str, ended: asyncio.Event) -> None:
        assert self._process is not None
        log.error("process_killed", extra={"number": self.place.number, "reason": reason})
        if reason != "stopped":  # its log shows where it stood
            self._signal(signal.SIGABRT)
            await pause(ended, ABORT_SECONDS)
        self._signal(signal.SIGKILL)
        await ended.wait()

    async def _finish(self) -> None:
        if self._process is None or not self._process.is_alive():
            return
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)
        await asyncio.to_thread(self._process.join, STOP_SECONDS)
        self._signal(signal.SIGKILL)
        await asyncio.to_thread(self._process.join)

    def _signal(self, number: int) -> None:
        if (pid := self.pid) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def _is_stopped(pid: int) -> bool:
    """Whether a signal has stopped the process; a debugger is another state."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state == "T"
