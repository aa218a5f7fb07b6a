"""Limits of reads: how many of a session, of a tenant and in all run at once, until their clients go away."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

CONSOLE_CONNECTIONS = 4  # to Postgres, for all reads and writes of the console
MAX_COSTLY_READS = CONSOLE_CONNECTIONS - 1  # at once, so that pages always have a connection
MAX_SHARED_READS = 1  # at once, for all people without a session
MAX_READS_OF_TENANT = 2  # of a kind at once; the processors are those of synchronization
MAX_READS_OF_SESSION = 2  # of a kind at once
MAX_WAITING_READS = 100  # of a kind per session or tenant
_CLIENT_GONE_STATUS = 499  # in place of an answer, never sent

_T = TypeVar("_T")


@dataclass(slots=True)
class _Line:
    """Reads of one session or tenant. reads: those that run and those that wait."""

    turns: asyncio.Semaphore
    reads: int = 0


class ReadLimit:
    """Lets few reads of one kind run at once. The others wait in turn: a session delays others by its running reads."""

    def __init__(self, in_all: int) -> None:
        self._in_all = asyncio.Semaphore(in_all)
        self._lines: dict[str | UUID, _Line] = {}

    @asynccontextmanager
    async def turn(self, session: str, tenant: UUID) -> AsyncIterator[None]:
        """Wait for the turn of a read, and hold it. Raises 429 if too many of the session or tenant wait."""
        async with (
            self._turn_of(session, MAX_READS_OF_SESSION),
            self._turn_of(tenant, MAX_READS_OF_TENANT),
            self._in_all,
        ):
            yield

    @asynccontextmanager
    async def _turn_of(self, reader: str | UUID, at_once: int) -> AsyncIterator[None]:
        line = self._lines.setdefault(reader, _Line(asyncio.Semaphore(at_once)))
        if line.reads >= at_once + MAX_WAITING_READS:
            raise HTTPException(429, "Too many questions wait for an answer. Try again in a moment.")
        line.reads += 1
        try:
            async with line.turns:
                yield
        finally:
            line.reads -= 1
            if line.reads == 0:
                del self._lines[reader]


async def run_while_connected(
    request: Request, turn: AbstractAsyncContextManager[None], endpoint: Callable[[Request], Awaitable[Response]]
) -> Response:
    """The response of *endpoint* in its turn; cancelled when the client goes away. request: without a body."""
    answering = asyncio.ensure_future(_answer_in(turn, request, endpoint))
    leaving = asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait([answering, leaving], return_when=asyncio.FIRST_COMPLETED)
        if answering.done():
            return answering.result()
        leaving.result()  # raises TooLarge
        return Response(status_code=_CLIENT_GONE_STATUS)
    finally:
        answering.cancel()
        leaving.cancel()
        await asyncio.gather(answering, leaving, return_exceptions=True)


async def _answer_in(
    turn: AbstractAsyncContextManager[None], request: Request, endpoint: Callable[[Request], Awaitable[Response]]
) -> Response:
    async with turn:
        return await endpoint(request)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def run_in_thread(function: Callable[..., _T], *values: object) -> _T:
    """As asyncio.to_thread(), but a cancelled caller waits for the thread, and holds its turn until then."""
    running = asyncio.ensure_future(asyncio.to_thread(function, *values))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
