"""Waiting that ends when the daemon stops, retry delays, and tasks that end together."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeVar

Result = TypeVar("Result")


class StopEvent(asyncio.Event):
    """
    An event that the tasks of a thousand tenants wait for.

    Each wait that ends early forgets its own future; asyncio's event looks for it among those of all others.
    """

    def __init__(self) -> None:
        super().__init__()
        self._futures: set[asyncio.Future[bool]] = set()

    async def wait(self) -> Literal[True]:
        """Return when the event is set."""
        if self.is_set():
            return True
        future = asyncio.get_running_loop().create_future()
        self._futures.add(future)
        try:
            await future
        finally:
            self._futures.discard(future)
        return True

    def set(self) -> None:
        """Let all waits end."""
        super().set()
        for future in self._futures:
            if not future.done():
                future.set_result(True)


async def pause(stop: asyncio.Event, seconds: float | None, *sooner: asyncio.Event) -> None:
    """Return after *seconds* (None: never), or as soon as *stop* or one of *sooner* is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in (stop, *sooner)]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def measure_work(work: Callable[[], Result]) -> tuple[Result, float]:
    """The result of *work*, and the processor time that it took in this thread, in seconds."""
    began = time.thread_time()
    result = work()
    return result, time.thread_time() - began


FIRST_PAUSE_SECONDS = 0.5  # seconds
MAX_PAUSE_SECONDS = 5.0  # seconds


class Backoff:
    """Pauses that double; each is shortened at random, so that many daemons do not retry at the same moment."""

    def __init__(self) -> None:
        self._attempts = 0

    def next_pause_seconds(self) -> float:
        """Seconds to wait before the next attempt."""
        longest = min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(self._attempts, 10))
        self._attempts += 1
        return longest * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        """Start again with the shortest pause."""
        self._attempts = 0


@asynccontextmanager
async def run_together(coroutines: list[Coroutine[Any, Any, None]], stop: asyncio.Event) -> AsyncIterator[None]:
    """
    Run all coroutines; leaving the block waits until they have ended.

    If one fails *stop* is set, and its error is raised.
    """
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]

    def stop_on_failure(task: asyncio.Future[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            stop.set()

    for task in tasks:
        task.add_done_callback(stop_on_failure)
    try:
        yield
    finally:
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
            raise result


async def run_some_at_once(coroutines: Iterable[Coroutine[Any, Any, None]], count: int) -> None:
    """Run all coroutines, at most *count* at the same time. Raises the first error once all ended."""
    places = asyncio.Semaphore(count)

    async def run(coroutine: Coroutine[Any, Any, None]) -> None:
        async with places:
            await coroutine

    for error in filter(None, await asyncio.gather(*map(run, coroutines), return_exceptions=True)):
        raise error
