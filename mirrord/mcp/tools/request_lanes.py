"""Concurrency of one caller: parallel reads, few searches, writes one after another."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from enum import StrEnum
from typing import TypeVar

import anyio

T = TypeVar("T")

MAX_READS = 8
MAX_SEARCHES = 2  # at once: they share one search process


class Lane(StrEnum):
    """A class of work with its own limit of concurrency."""

    READ = "read"
    SEARCH = "search"  # reads the whole tree, and must not delay short reads
    WRITE = "write"


_WIDTHS = {Lane.READ: MAX_READS, Lane.SEARCH: MAX_SEARCHES, Lane.WRITE: 1}


class Lanes:
    """Threads for blocking work. Writes run in the order of arrival, and later work sees their effect."""

    def __init__(self) -> None:
        self._threads = {lane: ThreadPoolExecutor(width, lane.value) for lane, width in _WIDTHS.items()}
        self._last_write: Future[object] | None = None

    async def perform(self, work: Callable[[], T], lane: Lane) -> T:
        """Do *work* off the event loop. A cancellation drops work that has not started, and waits for work that has."""
        if lane is Lane.WRITE:
            future = self._threads[lane].submit(work)
            self._last_write = future  # type: ignore[assignment]  # only waited for
        else:
            if self._last_write is not None and not self._last_write.done():
                await _wait_for(self._last_write)
            future = self._threads[lane].submit(work)
        try:
            await _wait_for(future)
        except anyio.get_cancelled_exc_class():
            if not future.cancel():
                with anyio.CancelScope(shield=True):
                    await _wait_for(future)
            raise
        return future.result()

    def close(self) -> None:
        """Wait for all work that has started."""
        for threads in self._threads.values():
            threads.shutdown()


async def _wait_for(future: "Future[T]") -> None:
    """Wait for *working*. anyio's threads and run_in_executor() have an overhead as long as a short command."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    future.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
    await ended.wait()
