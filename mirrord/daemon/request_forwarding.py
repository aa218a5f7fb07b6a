"""Requests of commands to a daemon of several processes: each is passed on until every tenant has answered."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from mirrord.daemon.process_child import ProcessChild
from mirrord.mirror.engine_desk import read_answer, remove_request
from mirrord.mirror.heartbeat import DONE_SUFFIX, REQUESTS_DIRECTORY, TAKEN_SUFFIX, list_requests
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY
from mirrord.mirror.tree_watch import watch
from mirrord.sync.timing import pause

log = logging.getLogger(__name__)

ANSWER_SECONDS = 0.01  # seconds between two looks for the answer of a process
ROUND_SECONDS, MAX_ROUND_SECONDS = 0.2, 2.0  # seconds until the processes are asked again: tenants move between them


class RequestForwarding:
    """Answers requests in the directory of all mirrors."""

    def __init__(
        self,
        mirror: Path,
        children: Sequence[ProcessChild],
        is_covered: Callable[[frozenset[str]], bool],
        stop: asyncio.Event,
    ) -> None:
        """is_covered: whether the named tenants are all that have to answer."""
        self._mirror, self._children, self._is_covered, self._stop = mirror, children, is_covered, stop
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Watch for requests until stop."""
        directory = self._mirror / STATE_DIRECTORY / REQUESTS_DIRECTORY
        await asyncio.to_thread(directory.mkdir, parents=True, exist_ok=True)
        async for _ in watch(directory, self._stop):
            self.answer_requests()

    def answer_requests(self) -> None:
        """Answer the requests that wait. On an error they wait."""
        with suppress(OSError):  # no descriptor is free, for instance; every heartbeat tries again
            for request in list_requests(self._mirror):
                task = asyncio.get_running_loop().create_task(self._answer(request))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _answer(self, request: Path) -> None:
        accepted = request.with_suffix(TAKEN_SUFFIX)
        try:
            request.rename(accepted)
        except FileNotFoundError:  # accepted already, or given up
            return
        seconds = ROUND_SECONDS
        while not self._stop.is_set() and accepted.exists() and not await self._ask_all(request.suffix):
            await pause(self._stop, seconds)
            seconds = min(2 * seconds, MAX_ROUND_SECONDS)
        with suppress(FileNotFoundError):
            accepted.rename(request.with_suffix(DONE_SUFFIX))

    async def _ask_all(self, suffix: str) -> bool:
        """Whether every tenant was carried over by the process that has it."""
        answers = await asyncio.gather(*(self._ask(child, suffix) for child in self._children))
        return self._is_covered(frozenset[str]().union(*answers))

    async def _ask(self, child: ProcessChild, suffix: str) -> frozenset[str]:
        """The tenants that a process has carried over; none if it ended meanwhile."""
        pid = child.pid
        if pid is None or child.report is None:
            return frozenset()
        request = child.desk.place_request(suffix)
        try:
            while not self._stop.is_set() and child.pid == pid:
                if (answer := read_answer(request)) is not None:
                    return answer
                await pause(self._stop, ANSWER_SECONDS)
            return frozenset()
        finally:
            remove_request(request)
