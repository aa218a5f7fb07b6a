"""Tasks that end together."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def together(coroutines: list[Coroutine[Any, Any, None]], stop: asyncio.Event) -> AsyncIterator[None]:
    """Run all; if one fails all stop, and its error is raised. Leaving the block waits until all have ended."""
    tasks = [asyncio.ensure_future(one) for one in coroutines]

    def failed(task: asyncio.Future[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            stop.set()

    for task in tasks:
        task.add_done_callback(failed)
    try:
        yield
    finally:
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
            raise result
