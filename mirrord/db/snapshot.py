"""A consistent snapshot of one tenant's rows."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg import AsyncConnection, IsolationLevel

from mirrord.db.connect import Connection, Database, set_tenant, translate_errors
from mirrord.domain.entry import TenantId


@asynccontextmanager
async def open_snapshot(database: Database, tenant: TenantId) -> AsyncIterator[Connection]:
    """
    A separate connection in one read-only transaction that sees one moment.

    It locks no row and has no time limit, so that files may be written meanwhile.
    """
    with translate_errors():
        async with await AsyncConnection.connect(database.dsn, autocommit=True) as connection:
            await connection.execute("SET idle_in_transaction_session_timeout = 0")
            await connection.execute("SET plan_cache_mode = auto")  # for queries of all rows of a tenant, not of one
            await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
            async with connection.transaction():
                await set_tenant(connection, tenant)
                yield connection
