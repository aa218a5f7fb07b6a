"""Transactions of one tenant, as mirrord_app."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from mirrord.db.connect import APP_ROLE, Connection, Database, set_actor
from mirrord.domain.entry import TenantId

CHANNEL = "console"


class Tables:
    """A small pool of the console's own: what it waits for, sync does not wait for."""

    def __init__(self, dsn: str, *, size: int = 4) -> None:
        self.database = Database(dsn, size=size, role=APP_ROLE)

    async def __aenter__(self) -> "Tables":
        await self.database.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.database.__aexit__()

    @asynccontextmanager
    async def of(self, tenant: UUID, by: str | None = None) -> AsyncIterator[Connection]:
        """One transaction. by: the name of the person who writes in it; None: it only reads."""
        async with self.database.transaction(TenantId(tenant)) as connection:
            if by is not None:
                await set_actor(connection, {"kind": "human", "name": by, "channel": CHANNEL})
            yield connection
