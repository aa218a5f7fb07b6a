"""Tasks that run until all of them have to stop."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


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
