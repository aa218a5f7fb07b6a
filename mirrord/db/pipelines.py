"""Transactions with few round trips. The driver's own take two more, and send statement by statement."""

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import psycopg


class CommandQueue(deque[Callable[[], None]]):
    """Commands of a pipeline, sent together: sent singly, each wakes the server, which costs processor time."""

    _held = False

    def __bool__(self) -> bool:
        return len(self) > 0 and not self._held

    def popleft(self) -> Callable[[], None]:
        """One command that runs all of them."""
        commands = list(self)
        self.clear()

        def send_all() -> None:
            for command in commands:
                command()

        return send_all

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Delay commands until the next send after the block."""
        self._held = True
        try:
            yield
        finally:
            self._held = False


@asynccontextmanager
async def pipelined_transaction(connection: psycopg.AsyncConnection[Any]) -> AsyncIterator[CommandQueue]:
    """
    One transaction in pipeline mode: statements without a fetch cost no round trip, neither does its BEGIN.

    connection: in autocommit mode. After an error it may still be in the transaction: roll it back, as a pool does.
    """
    async with connection.pipeline() as pipeline:
        pipeline.command_queue = outbox = CommandQueue()
        with outbox.hold():
            await connection.execute("BEGIN")
        completed = False
        try:
            yield outbox
            completed = True
        finally:
            if not completed:
                with suppress(psycopg.Error):  # of pending statements; only the first error matters
                    await pipeline.sync()
        with outbox.hold():
            await connection.execute("COMMIT")
