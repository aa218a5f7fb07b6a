"""
The protocol on stdin and stdout: a message a line.

The SDK's own transport hands each line read, each line written and each flush to a thread and back. Pipes and sockets
tell when they can be read, and take a short line at once.
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
_AT_ONCE = select.PIPE_BUF  # bytes that whatever is ready to be written to takes without waiting


class _Stream:
    """What both have in common. Whoever opened the descriptors closes them."""

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
    Messages from a descriptor; an exception stands for a line that is none, and was answered.

    The loop goes on watching the descriptor between two messages, and reads at once: asking it anew for each takes as
    long as reading one does. What is not taken yet stays with the sender.
    """

    def __init__(self, descriptor: int, answer: Callable[[bytes], Awaitable[None]]) -> None:
        """*answer*: sends the answer to a line that is no message."""
        self._descriptor = descriptor
        self._answer = answer
        self._lines: list[bytes] = []  # the next one last
        self._rest = bytearray()
        self._ended = False
        self._is_watched = False
        self._news: asyncio.Future[None] | None = None  # of somebody who waits for lines

    async def receive(self) -> SessionMessage | Exception:
        """The next one. Raises EndOfStream after the last."""
        while not self._lines:
            if self._ended:
                raise anyio.EndOfStream
            await self._wait()
        line = self._lines.pop().decode("utf-8", "replace")
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValidationError as error:
            if (answer := answer_to(line)) is not None:
                with suppress(anyio.BrokenResourceError):  # nobody reads any more; the next answer says so
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
        """Watch no longer."""
        self._look_away()

    async def _wait(self) -> None:
        """Until more was read, or there is no more."""
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
        except BlockingIOError:  # somebody who shares it was quicker
            return
        except ConnectionResetError:  # a socket's other end went without having read all that we said
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
        self._turn = anyio.Lock(fast_acquire=True)  # free, it is taken without a turn of the loop
        self._ready = select.poll()
        self._ready.register(descriptor, select.POLLOUT)

    async def send(self, item: SessionMessage, /) -> None:
        """Write one. Raises BrokenResourceError if nobody reads any more."""
        await self.send_line(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async def send_line(self, line: bytes) -> None:
        """The same for what is a line already."""
        try:
            async with self._turn:
                rest = memoryview(line)
                while rest and len(line) - len(rest) < _PIECE and self._ready.poll(0):
                    rest = rest[os.write(self._descriptor, rest[:_AT_ONCE]) :]
                if rest:  # nobody reads for now, or it is long
                    await anyio.to_thread.run_sync(self._write, rest)
        except BrokenPipeError:
            raise anyio.BrokenResourceError from None

    def _write(self, rest: memoryview) -> None:
        while rest:
            self._ready.poll()  # some clients hand over what does not wait by itself
            rest = rest[os.write(self._descriptor, rest) :]


@contextmanager
def standard_streams() -> Iterator[tuple[Incoming, Outgoing]]:
    """
    stdin and stdout for the protocol alone, for the length of a `with`.

    Whatever else reads stdin meanwhile finds its end; what is printed goes to stderr.
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
