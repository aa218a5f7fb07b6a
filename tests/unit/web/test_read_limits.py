"""How many reads run at once, in which order the others do, and what happens to them when their clients go away."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from threading import Event
from uuid import UUID, uuid4

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from mirrord.web.read_limits import (
    MAX_READS_OF_SESSION,
    MAX_READS_OF_TENANT,
    MAX_WAITING_READS,
    ReadLimit,
    run_in_thread,
    run_while_connected,
)

IN_ALL = MAX_READS_OF_TENANT + 1
TENANT = uuid4()


class Desk:
    """Reads that end when they are told to, in the order in which they got their turns."""

    def __init__(self) -> None:
        self.limit = ReadLimit(IN_ALL)
        self.running: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}

    def start(self, name: str, session: str, tenant: UUID = TENANT) -> "asyncio.Task[None]":
        self.ends[name] = asyncio.Event()
        return asyncio.ensure_future(self._read(name, session, tenant))

    async def _read(self, name: str, session: str, tenant: UUID) -> None:
        async with self.limit.turn(session, tenant):
            self.running.append(name)
            try:
                await self.ends[name].wait()
            finally:
                self.running.remove(name)


async def pass_turns() -> None:
    """Let everything happen that waits for nothing else."""
    for _ in range(20):
        await asyncio.sleep(0)


def request_of(receive: Callable[[], Awaitable[Message]]) -> Request:
    return Request({"type": "http", "method": "GET", "path": "/", "headers": []}, receive)


async def test_many_reads_of_one_person_run_few_at_once_and_leave_room_for_other_tenants() -> None:
    desk = Desk()
    reads = [desk.start(f"ada {number}", "ada") for number in range(50)]
    await pass_turns()
    assert desk.running == ["ada 0", "ada 1"]
    rival = desk.start("bob", "bob", uuid4())
    await pass_turns()
    assert desk.running == ["ada 0", "ada 1", "bob"]
    highest = 0
    for end in desk.ends.values():
        highest = max(highest, len(desk.running))
        end.set()
        await pass_turns()
    await asyncio.gather(*reads, rival)
    assert highest == IN_ALL


async def test_a_colleague_waits_for_running_reads_only() -> None:
    desk = Desk()
    reads = [desk.start(f"ada {number}", "ada") for number in range(50)]
    await pass_turns()
    colleague = desk.start("cleo", "cleo")
    await pass_turns()
    desk.ends["ada 0"].set()
    await pass_turns()
    assert desk.running == ["ada 1", "cleo"]
    for read in (*reads, colleague):
        read.cancel()
    await asyncio.wait([*reads, colleague])
    again = desk.start("ada again", "ada")
    await pass_turns()
    assert desk.running == ["ada again"]
    again.cancel()


async def test_too_many_waiting_reads_are_refused_with_a_sentence_and_only_those_of_that_person() -> None:
    desk = Desk()
    reads = [desk.start(str(number), "ada") for number in range(MAX_READS_OF_SESSION + MAX_WAITING_READS)]
    await pass_turns()
    with pytest.raises(HTTPException) as refused:
        await desk.start("ada", "ada")
    assert (refused.value.status_code, "Try again" in refused.value.detail) == (429, True)
    other = desk.start("bob", "bob", uuid4())
    await pass_turns()
    assert "bob" in desk.running
    for read in (*reads, other):
        read.cancel()
    await asyncio.wait([*reads, other])


@pytest.mark.parametrize("is_waiting", [False, True])
async def test_a_read_ends_when_its_client_goes_away(is_waiting: bool) -> None:
    limit, messages, cancelled = ReadLimit(IN_ALL), asyncio.Queue[Message](), list[str]()

    async def read(_: Request) -> Response:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append("read")
        raise AssertionError

    async with AsyncExitStack() as earlier:
        for _ in range(MAX_READS_OF_SESSION if is_waiting else 0):
            await earlier.enter_async_context(limit.turn("ada", TENANT))
        answer = asyncio.ensure_future(run_while_connected(request_of(messages.get), limit.turn("ada", TENANT), read))
        await pass_turns()
        messages.put_nowait({"type": "http.request", "body": b"", "more_body": False})
        await pass_turns()
        assert not answer.done()
        messages.put_nowait({"type": "http.disconnect"})
        assert (await answer).status_code == 499
    assert cancelled == ([] if is_waiting else ["read"])
    async with AsyncExitStack() as turns:  # its turn is free again
        for _ in range(MAX_READS_OF_SESSION):
            await turns.enter_async_context(limit.turn("ada", TENANT))


async def test_an_answer_and_an_error_reach_a_client_who_stays() -> None:
    limit, messages = ReadLimit(IN_ALL), asyncio.Queue[Message]()

    async def answer(_: Request) -> Response:
        return Response("text")

    async def refuse(_: Request) -> Response:
        raise HTTPException(404)

    request = request_of(messages.get)
    assert (await run_while_connected(request, limit.turn("ada", TENANT), answer)).body == b"text"
    with pytest.raises(HTTPException):
        await run_while_connected(request, limit.turn("ada", TENANT), refuse)


async def test_a_read_in_a_thread_holds_its_turn_until_the_thread_ends() -> None:
    may_end, ended = Event(), list[int]()

    def compare(number: int) -> int:
        assert may_end.wait(10)
        ended.append(number)
        return number

    comparing = asyncio.ensure_future(run_in_thread(compare, 7))
    await pass_turns()
    comparing.cancel()
    await pass_turns()
    assert not comparing.done()
    may_end.set()
    with suppress(asyncio.CancelledError):
        await comparing
    assert ended == [7]
    assert await run_in_thread(compare, 8) == 8
