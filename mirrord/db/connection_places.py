"""The places of a pool of connections, in the order of demand; what can wait lets edits go first."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

import psycopg

from mirrord.errors import Unavailable

MAX_DEFER_SECONDS = 2.0  # seconds for which a deferrable transaction lets others go first

_is_deferrable: ContextVar[bool] = ContextVar("is_deferrable", default=False)


@contextmanager
def deferrable_transactions() -> Iterator[None]:
    """
    Let the transactions of this block, and of tasks that begin in it, wait for those of edits.

    For work that nothing waits for, such as documents: where many tenants are edited, edits would wait behind what
    follows from earlier ones.
    """
    token = _is_deferrable.set(True)
    try:
        yield
    finally:
        _is_deferrable.reset(token)


class Places:
    """
    The places of a pool of connections, which are given in the order in which they were asked for.

    A deferrable transaction gets a place when no other waits and at most half of the places would be in such use; after
    MAX_DEFER_SECONDS it waits like all others.

    A pool ends a wait after some seconds, because then Postgres may be out of reach. Where it only has much to do, as
    when a daemon of many tenants starts, a transaction waits here as long as others get their turn.
    """

    def __init__(self, connections: int, patience_seconds: float) -> None:
        self._free = connections
        self._deferrable_left = max(1, connections // 2)  # how many deferrable ones may still begin
        self._patience_seconds = patience_seconds
        self._waiting = deque[asyncio.Future[None]]()
        self._deferred = deque[asyncio.Future[None]]()
        self._served = 0  # turns that ended well, or with an error of Postgres

    @asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """Take a place for the block. Raises Unavailable if Postgres answered in no turn for *patience_seconds*."""
        is_deferred = _is_deferrable.get() and await self._await_turn(self._deferred, MAX_DEFER_SECONDS)
        if not is_deferred:
            await self._await_ordinary_turn()
        try:
            yield
            self._served += 1
        except psycopg.Error as error:
            self._served += error.sqlstate is not None
            raise
        finally:
            self._give_back(is_deferred=is_deferred)

    async def _await_ordinary_turn(self) -> None:
        served = self._served
        while not await self._await_turn(self._waiting, self._patience_seconds):
            if self._served == served:
                raise Unavailable(f"Postgres gave no connection within {self._patience_seconds:.0f} s.")
            served = self._served

    async def _await_turn(self, queue: "deque[asyncio.Future[None]]", seconds: float) -> bool:
        """Wait in *queue* for a place, at most *seconds*; returns whether there is one now."""
        turn = asyncio.get_running_loop().create_future()
        queue.append(turn)
        self._hand_out()
        is_taken = False
        try:
            if not turn.done():
                await asyncio.wait([turn], timeout=seconds)
            is_taken = turn.done()
            return is_taken
        finally:
            if not is_taken and turn.done():  # it came as the wait was cancelled
                self._give_back(is_deferred=queue is self._deferred)
            elif not is_taken:
                queue.remove(turn)

    def _give_back(self, *, is_deferred: bool) -> None:
        self._free += 1
        self._deferrable_left += is_deferred
        self._hand_out()

    def _hand_out(self) -> None:
        """Give free places to those who wait longest, deferrable transactions last."""
        while self._free and (self._waiting or (self._deferred and self._deferrable_left)):
            is_deferred = not self._waiting
            turn = (self._deferred if is_deferred else self._waiting).popleft()
            self._free -= 1
            self._deferrable_left -= is_deferred
            turn.set_result(None)
