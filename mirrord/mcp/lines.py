"""
The protocol on stdin and stdout: one message a line.

The SDK's own transport passes each read line, each written line and each flush through a thread. Pipes and sockets
signal that they are readable, and accept a short line at once.
"""

import asyncio
import fcntl
import os
import select
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

import anyio
import anyio.to_thread
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from mirrord.mcp.bad_lines import answer_to

_PIECE = 1 << 16  # bytes read at once
_AT_ONCE = select.PIPE_BUF  # bytes that a writable descriptor accepts without blocking


class _Stream:
    """Common base of both streams. The opener of the descriptors closes them."""

    async def aclose(self) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Incoming(_Stream):
    """
    Messages from a descriptor; an exception stands for an invalid line, which has been answered.

    The event loop keeps watching the descriptor between two messages and reads at once: registering it again for each
    message takes as long as reading one. Unread data stays with the sender.
    """

    def __init__(self, descriptor: int, answer: Callable[[bytes], Awaitable[None]]) -> None:
        """*answer*: sends the answer to an invalid line."""
        self._descriptor = descriptor
        self._answer = answer
        self._lines: list[bytes] = []  # the next one last
        self._rest = bytearray()
        self._ended = False
        self._is_watched = False
        self._news: asyncio.Future[None] | None = None  # of a pending receive()

    async def receive(self) -> SessionMessage | Exception:
        """The next message. Raises EndOfStream after the last."""
        while not self._lines:
            if self._ended:
                raise anyio.EndOfStream
            await self._wait()
        line = self._lines.pop().decode("utf-8", "replace")
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValidationError as error:
            if (answer := answer_to(line)) is not None:
                with suppress(anyio.BrokenResourceError):  # the reader is gone; the next answer reports it
                    await self._answer(answer)
            return error

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Stop watching the descriptor."""
        self._look_away()

    async def _wait(self) -> None:
        """Wait for more lines or the end of the stream."""
        loop = asyncio.get_running_loop()
        if not self._is_watched:
            try:
                loop.add_reader(self._descriptor, self._arrived)
            except PermissionError:  # a regular file, which is always ready
                await anyio.lowlevel.checkpoint()
                self._read()
                return
            self._is_watched = True
        self._news = loop.create_future()
        await self._news

    def _arrived(self) -> None:
        if self._lines:
            self._look_away()
            return
        self._read()
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _look_away(self) -> None:
        if self._is_watched:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._is_watched = False

    def _read(self) -> None:
        try:
            piece = os.read(self._descriptor, _PIECE)
        except BlockingIOError:  # another reader of the descriptor was faster
            return
        except ConnectionResetError:  # the peer closed its socket without reading all answers
            piece = b""
        whole, newline, rest = piece.rpartition(b"\n")
        if newline or (self._rest and not piece):
            self._lines = [*reversed((bytes(self._rest) + whole).split(b"\n"))]
            self._rest.clear()
        self._rest += rest
        if not piece:
            self._ended = True
            self._look_away()


class Outgoing(_Stream):
    """Messages to a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._turn = anyio.Lock(fast_acquire=True)  # if free, it is taken without a turn of the loop
        self._ready = select.poll()
        self._ready.register(descriptor, select.POLLOUT)

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message. Raises BrokenResourceError if the reader is gone."""
        await self.send_line(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async def send_line(self, line: bytes) -> None:
        """Write an encoded line. Raises BrokenResourceError if the reader is gone."""
        try:
            async with self._turn:
                rest = memoryview(line)
                while rest and len(line) - len(rest) < _PIECE and self._ready.poll(0):
                    rest = rest[os.write(self._descriptor, rest[:_AT_ONCE]) :]
                if rest:  # the reader is not ready, or the line is long
                    await anyio.to_thread.run_sync(self._write, rest)
        except BrokenPipeError:
            raise anyio.BrokenResourceError from None

    def _write(self, rest: memoryview) -> None:
        while rest:
            self._ready.poll()  # some clients pass non-blocking descriptors
            rest = rest[os.write(self._descriptor, rest) :]


@contextmanager
def standard_streams() -> Iterator[tuple[Incoming, Outgoing]]:
    """
    Reserve stdin and stdout for the protocol during a `with`.

    Other reads of stdin find its end meanwhile; other output to stdout goes to stderr.
    """
    ours = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 3) for one in (0, 1)]
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        outgoing = Outgoing(ours[1])
        yield Incoming(ours[0], outgoing.send_line), outgoing
    finally:
        for number, descriptor in enumerate(ours):
            os.dup2(descriptor, number)
            os.close(descriptor)
