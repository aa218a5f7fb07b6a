"""LISTEN: notifications of tenants whose rows may have changed. Only hints; the feed is decisive and polled too."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from psycopg import AsyncConnection, sql

from mirrord.db.connect import Connection, daemon_dsn, translate_errors
from mirrord.domain.entry import TenantId

PING_SECONDS = 10.0  # seconds without a notification before the connection is tested
STOP_CHECK_SECONDS = 1.0  # seconds between checks of *stop*


async def notified_tenants(
    dsn: str, tenants: Sequence[TenantId], stop: asyncio.Event
) -> AsyncIterator[TenantId | None]:
    """
    Yield the tenant of each notification. The first item is None, once listening: earlier notifications are lost.

    Ends within a second after *stop* is set. Raises Unavailable when the connection breaks.
    """
    channels = {f"mirrord_{tenant.hex[:16]}": tenant for tenant in tenants}
    with translate_errors():
        async with await AsyncConnection.connect(daemon_dsn(dsn), autocommit=True) as connection:
            for channel in channels:
                await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            yield None
            silent_seconds = 0.0
            while not stop.is_set():
                async for notification in connection.notifies(timeout=0):  # includes those received with a result
                    yield channels.get(notification.channel)
                silent_seconds = 0.0 if await _is_readable(connection) else silent_seconds + STOP_CHECK_SECONDS
                if silent_seconds >= PING_SECONDS:
                    await connection.execute("SELECT 1")
                    silent_seconds = 0.0


async def _is_readable(connection: Connection) -> bool:
    """Whether the server sends data within PATIENCE. The driver's own wait wakes up continually."""
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection.fileno(), readable.set)
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(readable.wait(), STOP_CHECK_SECONDS)
    finally:
        loop.remove_reader(connection.fileno())
    return readable.is_set()
