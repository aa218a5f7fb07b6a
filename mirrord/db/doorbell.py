"""LISTEN: which tenants' rows may have changed. A hint only; the feed says what changed, and is polled too."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from psycopg import AsyncConnection, sql

from mirrord.db.connect import Connection, daemon_dsn, translated
from mirrord.domain.entry import TenantId

PING = 10.0  # seconds without a note after which the connection is tried
PATIENCE = 1.0  # seconds between looks at whether to stop


async def rings(dsn: str, tenants: Sequence[TenantId], stop: asyncio.Event) -> AsyncIterator[TenantId | None]:
    """
    Yield a tenant when its bell rings; None first, once listening: whatever rang before was not heard.

    Ends when *stop* is set, at the latest after a second. Raises Unavailable when the connection breaks.
    """
    bells = {f"mirrord_{tenant.hex[:16]}": tenant for tenant in tenants}
    with translated():
        async with await AsyncConnection.connect(daemon_dsn(dsn), autocommit=True) as connection:
            for channel in bells:
                await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            yield None
            silent = 0.0
            while not stop.is_set():
                async for note in connection.notifies(timeout=0):  # those that came with an answer, too
                    yield bells.get(note.channel)
                silent = 0.0 if await _is_readable(connection) else silent + PATIENCE
                if silent >= PING:
                    await connection.execute("SELECT 1")
                    silent = 0.0


async def _is_readable(connection: Connection) -> bool:
    """Whether the server sends something within PATIENCE. The driver can wait as well, but wakes all the time."""
    loop, sent = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection.fileno(), sent.set)
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(sent.wait(), PATIENCE)
    finally:
        loop.remove_reader(connection.fileno())
    return sent.is_set()
