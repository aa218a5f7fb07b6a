"""
The protocol on stdin and stdout, one message per line, and the answers to lines that are no messages.

The SDK's own transport passes each read line, each written line and each flush through a thread. Pipes and sockets
signal that they are readable, and accept a short line at once. Answers to malformed lines are as JSON-RPC 2.0
section 5.1 requires.
"""

import asyncio
import fcntl
import json
import os
import re
import select
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

import anyio.to_thread
import orjson
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCMessage,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

Id = str | int | None

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_TOO_DEEP = "The message is nested too deeply, or holds a number or text that JSON does not allow."
_SURROGATE = "The message holds half a character (a lone surrogate, such as a cut emoji). Send whole characters."
_BATCH = "A line holds one message; batches are not a part of this protocol."
_NO_REQUEST = (
    'The message is no request: it needs "jsonrpc": "2.0", a "method", and an "id" that is text or a whole number.'
)


def answer_to(line: str) -> bytes | None:
    """The error that answers *line*; None: no answer is expected, as for an empty line or a notification."""
    if not line.strip():
        return None
    try:
        message = json.loads(line)
    except RecursionError:
        return _encode_error(INVALID_REQUEST, _TOO_DEEP, _id_in(line))
    except ValueError as error:
        return _encode_error(PARSE_ERROR, f"The line is not JSON: {error}.", _id_in(line))
    if isinstance(message, list):
        return _encode_error(INVALID_REQUEST, _BATCH, None)
    if not isinstance(message, dict):
        return _encode_error(INVALID_REQUEST, _NO_REQUEST, None)
    return _answer_to_object(message)


def _answer_to_object(message: dict[str, Any]) -> bytes | None:
    if "method" not in message and ("result" in message or "error" in message):
        return None  # the answer to a request of the server
    is_request = message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    if is_request and "id" not in message:
        return None  # a notification
    if not (is_request and _is_id(message["id"])):
        return _encode_error(INVALID_REQUEST, _NO_REQUEST, message.get("id"))
    if _has_surrogate(message):
        return _encode_error(INVALID_PARAMS, _SURROGATE, message["id"])
    if not isinstance(message.get("params", {}), dict):
        return _encode_error(INVALID_PARAMS, '"params" has to be an object.', message["id"])
    return _encode_error(INVALID_REQUEST, _TOO_DEEP, message["id"])


def _encode_error(code: int, sentence: str, request_id: Any) -> bytes:
    request_id = request_id if _is_id(request_id) and not _has_surrogate(request_id) else None
    answer = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": sentence}}
    return json.dumps(answer, ensure_ascii=True).encode() + b"\n"


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _has_surrogate(value: Any) -> bool:
    return "\\ud" in json.dumps(value) and not _is_encodable(json.dumps(value, ensure_ascii=False))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _id_in(line: str) -> Id:
    """The "id" of the outermost object, as far as the line can be read."""
    depth, before, key = 0, "", ""
    for token in _TOKENS.findall(line):
        if depth == 1 and key == '"id"' and before == ":":
            return _value_of(token)
        if before in ("{", ",") and depth == 1:
            key = token
        depth += (token in "{[") - (token in "}]")
        before = token
    return None


def _value_of(token: str) -> Id:
    try:
        value = json.loads(token)
    except ValueError:
        return None
    return value if _is_id(value) else None


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
        await self.send_line(_encode_message(item.message) + b"\n")

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


def _encode_message(message: JSONRPCMessage) -> bytes:
    """A message as JSON. Results are JSON values by now, which orjson encodes in half the time of a model."""
    if type(message) is JSONRPCResponse:
        try:
            return orjson.dumps({"jsonrpc": message.jsonrpc, "id": message.id, "result": message.result})
        except TypeError:  # a number of more than 64 bits
            pass
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


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
