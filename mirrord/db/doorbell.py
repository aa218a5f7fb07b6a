"""LISTEN: which tenants' rows may have changed. A hint only; the feed says what changed, and is polled too."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from psycopg import AsyncConnection, sql

from mirrord.db.connect import daemon_dsn, translated
from mirrord.domain.entry import TenantId

PING = 10.0  # seconds without a note after which the connection is tried


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
                heard = False
                async for note in connection.notifies(timeout=1.0, stop_after=1):
                    heard = True
                    yield bells.get(note.channel)
                silent = 0.0 if heard else silent + 1.0
                if silent >= PING:
                    await connection.execute("SELECT 1")
                    silent = 0.0
