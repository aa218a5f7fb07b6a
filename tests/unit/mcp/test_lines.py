"""Messages on pipes, sockets and files, as clients of every kind hand them over."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCResponse

from mirrord.mcp.stdio_protocol import Incoming, Outgoing

PLAIN = b'{"jsonrpc":"2.0","method":"notifications/test"}\n'


def message(size: int = 1) -> SessionMessage:
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/test", params={"text": "x" * size}))


@pytest.fixture(params=["pipe", "socket"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """Where to read, where to write; a client closes its own."""
    if request.param == "pipe":
        descriptors = os.pipe()
    else:
        first, other = socket.socketpair()
        descriptors = first.detach(), other.detach()
    yield descriptors
    for descriptor in descriptors:
        try:
            os.close(descriptor)
        except OSError:
            continue  # the test did


async def no_answer(line: bytes) -> None:
    """For streams whose answers are not looked at."""


async def all_of(incoming: Incoming) -> list[SessionMessage | Exception]:
    return [message async for message in incoming]


async def test_messages_come_however_their_bytes_are_cut(ends: tuple[int, int]) -> None:
    into = ends[1]
    received: list[SessionMessage | Exception] = []
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:

            async def read() -> None:
                received.extend(await all_of(Incoming(ends[0], no_answer)))

            tasks.start_soon(read)
            for piece in (PLAIN[:7], PLAIN[7:] + PLAIN + PLAIN[:1], PLAIN[1:-1]):
                os.write(into, piece)
                await anyio.lowlevel.checkpoint()
            os.close(into)
    assert [
        item.message.model_dump_json(exclude_unset=True) for item in received if isinstance(item, SessionMessage)
    ] == ([PLAIN.decode().strip()] * 3)


async def test_what_is_no_message_is_told_and_does_not_end_the_stream(ends: tuple[int, int]) -> None:
    os.write(ends[1], b"nonsense\n\n\xff\n" + PLAIN)
    os.close(ends[1])
    with anyio.fail_after(60):
        *wrong, last = await all_of(Incoming(ends[0], no_answer))
    assert [isinstance(item, Exception) for item in wrong] == [True, True, True]
    assert isinstance(last, SessionMessage)


async def test_a_line_that_is_no_message_is_answered_at_once(ends: tuple[int, int]) -> None:
    answers: list[bytes] = []

    async def answer(line: bytes) -> None:
        answers.append(line)

    os.write(ends[1], b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"text":"\\ud83d"}}\n' + PLAIN)
    os.close(ends[1])
    with anyio.fail_after(60):
        wrong, right = await all_of(Incoming(ends[0], answer))
    assert isinstance(wrong, Exception)
    assert isinstance(right, SessionMessage)
    assert [b'"id": 7' in line and b"-32602" in line for line in answers] == [True]


async def test_what_nobody_takes_stays_with_its_sender_and_comes_later(ends: tuple[int, int]) -> None:
    incoming, received = Incoming(ends[0], no_answer), list[SessionMessage | Exception]()
    os.set_blocking(ends[1], False)
    os.write(ends[1], PLAIN)
    with anyio.fail_after(60):
        received.append(await incoming.receive())
        sent = 0
        with suppress(BlockingIOError):
            while sent < 1_000_000:
                os.write(ends[1], PLAIN)
                sent += 1
                await anyio.lowlevel.checkpoint()
        assert sent < 1_000_000
        received += [await incoming.receive() for _ in range(sent)]
    assert all(isinstance(item, SessionMessage) for item in received)


async def test_a_client_that_goes_without_reading_its_answers_ends_the_stream() -> None:
    first, other = socket.socketpair()
    with first, anyio.fail_after(60):
        incoming = Incoming(first.fileno(), no_answer)
        os.write(first.fileno(), PLAIN)
        other.send(PLAIN)
        other.close()
        assert isinstance(await incoming.receive(), SessionMessage)
        assert await all_of(incoming) == []


async def test_a_stream_that_was_closed_is_watched_no_longer(ends: tuple[int, int]) -> None:
    async with Incoming(ends[0], no_answer) as incoming:
        os.write(ends[1], PLAIN)
        assert isinstance(await incoming.receive(), SessionMessage)
    os.write(ends[1], PLAIN)
    for _ in range(3):
        await anyio.lowlevel.checkpoint()
    assert os.read(ends[0], 1_000) == PLAIN


@pytest.mark.parametrize("content", [b"", PLAIN, PLAIN[:-1]])
async def test_a_file_is_read_to_its_end(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "input").write_bytes(content)
    with (tmp_path / "input").open("rb") as file, anyio.fail_after(60):
        assert len(await all_of(Incoming(file.fileno(), no_answer))) == bool(content)


@pytest.mark.parametrize("size", [1, 4_000, 5_000_000])
async def test_messages_of_any_size_go_out_whole_and_in_their_order(ends: tuple[int, int], size: int) -> None:
    outgoing, messages = Outgoing(ends[1]), [message(size), message(2), message(size), message(3)]
    received: list[SessionMessage | Exception] = []
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:

            async def read() -> None:
                incoming = Incoming(ends[0], no_answer)
                received.extend([await incoming.receive() for _ in messages])

            tasks.start_soon(read)
            for item in messages:
                tasks.start_soon(outgoing.send, item)
    assert received == messages


@pytest.mark.parametrize("value", ["é\u2028\U0001f600\x7f", 0.1, 2**70, None, [{"a": [True, ""]}], float("inf")])
@pytest.mark.parametrize("number", [7, "seven"])
async def test_results_go_out_as_the_sdk_would_send_them(
    ends: tuple[int, int], value: object, number: int | str
) -> None:
    response = JSONRPCResponse(jsonrpc="2.0", id=number, result={"value": value})
    await Outgoing(ends[1]).send(SessionMessage(response))
    line = os.read(ends[0], 1_000)
    assert line.endswith(b"\n")
    assert json.loads(line) == json.loads(response.model_dump_json(by_alias=True, exclude_unset=True))


async def test_who_does_not_read_keeps_nothing_else_from_going_on(ends: tuple[int, int]) -> None:
    outgoing = Outgoing(ends[1])
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(outgoing.send, message(1_000_000))
            for _ in range(20):
                await anyio.lowlevel.checkpoint()  # the loop is free
            incoming = Incoming(ends[0], no_answer)
            assert [await incoming.receive() for _ in range(3)] == [message(1_000_000)] * 3


async def test_a_client_that_went_breaks_the_stream(ends: tuple[int, int]) -> None:
    os.close(ends[0])
    with pytest.raises(anyio.BrokenResourceError), anyio.fail_after(60):
        await Outgoing(ends[1]).send(message())


def test_what_others_print_or_read_meanwhile_is_not_the_clients() -> None:
    program = (
        "import os, subprocess, sys\n"
        "from mirrord.mcp.stdio_protocol import standard_streams\n"
        "with standard_streams():\n"
        "    print('stray', flush=True)\n"
        "    subprocess.run(['cat'], check=True)\n"
        "print(sys.stdin.readline().strip())\n"
    )
    completed = subprocess.run(
        [sys.executable, "-c", program], input="ours\n", capture_output=True, text=True, check=True
    )
    assert (completed.stdout, completed.stderr) == ("ours\n", "stray\n")
