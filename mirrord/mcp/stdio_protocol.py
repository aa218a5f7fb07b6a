"""
The protocol on stdin and stdout, one message per line.

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

import anyio.to_thread
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from mirrord.mcp.malformed_lines import answer_to

_READ_BYTES = 1 << 16  # bytes read at once
_ATOMIC_BYTES = select.PIPE_BUF  # bytes that a writable descriptor accepts without blocking


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
        self._partial_line = bytearray()
        self._ended = False
        self._is_watched = False
        self._wake_up: asyncio.Future[None] | None = None  # of a pending receive()

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
        self._stop_watching()

    async def _wait(self) -> None:
        """Wait for more lines or the end of the stream."""
        loop = asyncio.get_running_loop()
        if not self._is_watched:
            try:
                loop.add_reader(self._descriptor, self._on_readable)
            except PermissionError:  # a regular file, which is always ready
                await anyio.lowlevel.checkpoint()
                self._read()
                return
            self._is_watched = True
        self._wake_up = loop.create_future()
        await self._wake_up

    def _on_readable(self) -> None:
        if self._lines:
            self._stop_watching()
            return
        self._read()
        if self._wake_up is not None and not self._wake_up.done():
            self._wake_up.set_result(None)

    def _stop_watching(self) -> None:
        if self._is_watched:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._is_watched = False

    def _read(self) -> None:
        try:
            piece = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:  # another reader of the descriptor was faster
            return
        except ConnectionResetError:  # the peer closed its socket without reading all answers
            piece = b""
        complete, newline, tail = piece.rpartition(b"\n")
        if newline or (self._partial_line and not piece):
            self._lines = [*reversed((bytes(self._partial_line) + complete).split(b"\n"))]
            self._partial_line.clear()
        self._partial_line += tail
        if not piece:
            self._ended = True
            self._stop_watching()


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
                remaining = memoryview(line)
                while remaining and len(line) - len(remaining) < _READ_BYTES and self._ready.poll(0):
                    remaining = remaining[os.write(self._descriptor, remaining[:_ATOMIC_BYTES]) :]
                if remaining:  # the reader is not ready, or the line is long
                    await anyio.to_thread.run_sync(self._write, remaining)
        except BrokenPipeError:
            raise anyio.BrokenResourceError from None

    def _write(self, remaining: memoryview) -> None:
        while remaining:
            self._ready.poll()  # some clients pass non-blocking descriptors
            remaining = remaining[os.write(self._descriptor, remaining) :]


@contextmanager
def standard_streams() -> Iterator[tuple[Incoming, Outgoing]]:
    """
    Reserve stdin and stdout for the protocol during a `with`.

    Other reads of stdin find its end meanwhile; other output to stdout goes to stderr.
    """
    copies = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3) for number in (0, 1)]
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    try:
        outgoing = Outgoing(copies[1])
        yield Incoming(copies[0], outgoing.send_line), outgoing
    finally:
        for number, descriptor in enumerate(copies):
            os.dup2(descriptor, number)
            os.close(descriptor)
