"""What one caller asked for: reads beside each other, searches a few at a time, writes one after the other."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from enum import StrEnum
from typing import TypeVar

import anyio

T = TypeVar("T")

MAX_READS = 8
MAX_SEARCHES = 2  # at once: they share one process that searches


class Lane(StrEnum):
    """Where something is done."""

    READ = "read"
    SEARCH = "search"  # looks at the whole tree, and must not keep short reads waiting
    WRITE = "write"


_WIDTHS = {Lane.READ: MAX_READS, Lane.SEARCH: MAX_SEARCHES, Lane.WRITE: 1}


class Lanes:
    """Threads for blocking work. Writes are done in the order in which they come, and what comes later sees them."""

    def __init__(self) -> None:
        self._threads = {lane: ThreadPoolExecutor(width, lane.value) for lane, width in _WIDTHS.items()}
        self._last_write: Future[object] | None = None

    async def perform(self, work: Callable[[], T], lane: Lane) -> T:
        """Do *work* off the event loop. Cancelled, what has not begun is dropped, and what has is waited for."""
        if lane is Lane.WRITE:
            working = self._threads[lane].submit(work)
            self._last_write = working  # type: ignore[assignment]  # only waited for
        else:
            if self._last_write is not None and not self._last_write.done():
                await _ended(self._last_write)
            working = self._threads[lane].submit(work)
        try:
            await _ended(working)
        except anyio.get_cancelled_exc_class():
            if not working.cancel():
                with anyio.CancelScope(shield=True):
                    await _ended(working)
            raise
        return working.result()

    def close(self) -> None:
        """Wait for all that was begun."""
        for threads in self._threads.values():
            threads.shutdown()


async def _ended(working: "Future[T]") -> None:
    """Neither anyio's thread nor run_in_executor(): what they do besides takes as long as a short command."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    working.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
    await ended.wait()
