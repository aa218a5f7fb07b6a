"""Transactions of few round trips. The driver's own takes two more, and sends statement by statement."""

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import psycopg


class Outbox(deque[Callable[[], None]]):
    """Commands of a pipeline, all sent at once: one by one each wakes the server, which takes the processor."""

    _held = False

    def __bool__(self) -> bool:
        return len(self) > 0 and not self._held

    def popleft(self) -> Callable[[], None]:
        """One command that gives all of them."""
        commands = list(self)
        self.clear()

        def give() -> None:
            for command in commands:
                command()

        return give

    @contextmanager
    def held(self) -> Iterator[None]:
        """What is asked for within goes with whatever is sent next."""
        self._held = True
        try:
            yield
        finally:
            self._held = False


@asynccontextmanager
async def begun(connection: psycopg.AsyncConnection[Any]) -> AsyncIterator[Outbox]:
    """
    One transaction in pipeline mode: statements without a fetch cost no round trip, neither does its BEGIN.

    The connection commits by itself. After an error it may still be in the transaction: roll it back, as a pool does.
    """
    async with connection.pipeline() as pipeline:
        pipeline.command_queue = outbox = Outbox()
        with outbox.held():
            await connection.execute("BEGIN")
        whole = False
        try:
            yield outbox
            whole = True
        finally:
            if not whole:
                with suppress(psycopg.Error):  # of what was under way; the first error is the one that counts
                    await pipeline.sync()
        with outbox.held():
            await connection.execute("COMMIT")
