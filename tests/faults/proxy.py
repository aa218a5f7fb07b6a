"""A proxy before Postgres that counts protocol messages of every connection together, and cuts one at the n-th."""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

SOCKET = ".s.PGSQL.5432"
_HEADER = 5  # a byte that tells the kind, four that tell the length without that byte
_FIRST_HEADER = 4  # a connection's first message has no kind

Cut = Callable[[bytes], bool]


class Proxy:
    """
    Listens on a Unix socket in *directory*, in a thread of its own.

    Messages of both directions are counted from when `arm` was called; before the message whose number was given
    there the connection is cut on both of its sides: neither learns what the other would have said.
    """

    def __init__(self, dsn: str, directory: Path) -> None:
        parameters = conninfo_to_dict(dsn)
        self._server = Path(str(parameters["host"])) / SOCKET
        self._socket = directory / SOCKET
        self.dsn = make_conninfo(dsn, host=str(directory))
        self.seen: list[str] = []
        self._left = 0
        self._holds: Callable[[], bool] | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
        self._socket.unlink(missing_ok=True)

    def arm(self, number: int) -> None:
        """Cut before the *number*-th message from now on; 0: never, only count."""
        self.seen, self._left = [], number

    def arm_when(self, holds: Callable[[], bool]) -> None:
        """Cut before the first message that comes when *holds*."""
        self._holds = holds

    async def _listen(self) -> None:
        self._listener = await asyncio.start_unix_server(self._serve, self._socket)

    async def _end(self) -> None:
        self._listener.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_unix_connection(self._server)
        ways = [
            asyncio.ensure_future(self._pass_on(reader, server_writer, ">", first=True)),
            asyncio.ensure_future(self._pass_on(server_reader, writer, "<", first=False)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for end in (writer, server_writer):
                end.transport.abort()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: str, *, first: bool
    ) -> None:
        read: Callable[[asyncio.StreamReader], Awaitable[tuple[str, bytes]]] = _first_message if first else _message
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                kind, data = await read(reader)
                read = _message
                if self._is_the_one(way + kind + _completed(way + kind, data)):
                    return
                writer.write(data)
                await writer.drain()

    def _is_the_one(self, message: str) -> bool:
        self.seen.append(message)
        self._left -= 1
        if self._holds is not None and self._holds():
            self._holds = None
            return True
        return self._left == 0


def _completed(message: str, data: bytes) -> str:
    """What the server says it has done: ` COMMIT`, ` INSERT 0 1`."""
    return " " + data[_HEADER:-1].decode("ascii") if message == "<C" else ""


async def _first_message(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = await reader.readexactly(_FIRST_HEADER)
    return "startup", head + await reader.readexactly(int.from_bytes(head, "big") - _FIRST_HEADER)


async def _message(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = await reader.readexactly(_HEADER)
    return chr(head[0]), head + await reader.readexactly(int.from_bytes(head[1:], "big") - _FIRST_HEADER)
