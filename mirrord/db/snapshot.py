"""One moment of one tenant's rows, for as long as somebody reads them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg import AsyncConnection, IsolationLevel

from mirrord.db.connect import Connection, Database, set_tenant, translated
from mirrord.domain.entry import TenantId


@asynccontextmanager
async def snapshot(database: Database, tenant: TenantId) -> AsyncIterator[Connection]:
    """
    A connection of its own, in one transaction that reads only and sees one moment.

    Nobody waits for it: it holds no row, and no limit of time ends it while files are written.
    """
    with translated():
        async with await AsyncConnection.connect(database.dsn, autocommit=True) as connection:
            await connection.execute("SET idle_in_transaction_session_timeout = 0")
            await connection.execute("SET plan_cache_mode = auto")  # all rows of a tenant are asked for, not one
            await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
            async with connection.transaction():
                await set_tenant(connection, tenant)
                yield connection
