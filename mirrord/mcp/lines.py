"""
The protocol on stdin and stdout: a message a line.

The SDK's own transport hands each line read, each line written and each flush to a thread and back. Pipes and sockets
tell when they can be read, and take a short line at once.
"""

import fcntl
import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import anyio
import anyio.to_thread
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

_PIECE = 1 << 16  # bytes read at once
_AT_ONCE = select.PIPE_BUF  # bytes that whatever is ready to be written to takes without waiting


class _Stream:
    """What both have in common: nothing to close, since whoever opened the descriptors does that."""

    async def aclose(self) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class Incoming(_Stream):
    """Messages from a descriptor; an exception stands for a line that is none."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: list[bytes] = []  # the next one last
        self._rest = bytearray()

    async def receive(self) -> SessionMessage | Exception:
        """The next one. Raises EndOfStream after the last."""
        while not self._lines:
            await self._read()
        line = self._lines.pop().decode("utf-8", "replace")
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValidationError as error:
            return error

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def _read(self) -> None:
        try:
            await anyio.wait_readable(self._descriptor)
        except PermissionError:  # a regular file, which is always ready
            await anyio.lowlevel.checkpoint()
        piece = os.read(self._descriptor, _PIECE)
        if not piece and not self._rest:
            raise anyio.EndOfStream
        whole, newline, rest = piece.rpartition(b"\n")
        if newline or not piece:
            self._lines = [*reversed((bytes(self._rest) + whole).split(b"\n"))]
            self._rest.clear()
        self._rest += rest


class Outgoing(_Stream):
    """Messages to a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._turn = anyio.Lock()
        self._ready = select.poll()
        self._ready.register(descriptor, select.POLLOUT)

    async def send(self, item: SessionMessage, /) -> None:
        """Write one. Raises BrokenResourceError if nobody reads any more."""
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
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
        yield Incoming(ours[0]), Outgoing(ours[1])
    finally:
        for number, descriptor in enumerate(ours):
            os.dup2(descriptor, number)
            os.close(descriptor)
