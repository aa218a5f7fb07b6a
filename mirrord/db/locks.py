"""Rows locked by other transactions, so that writes of the other rows need not wait."""

from collections.abc import Sequence

from mirrord.db.connect import Database
from mirrord.db.tables import TABLES
from mirrord.domain.entry import EntryId, TenantId

_FREE = "SELECT id FROM mirrord.{} WHERE tenant_id = %s AND id = ANY (%s) FOR NO KEY UPDATE SKIP LOCKED"


async def load_locked_rows(database: Database, tenant: TenantId, entries: Sequence[EntryId]) -> set[EntryId]:
    """The entries among *entries* whose row another transaction has locked."""
    async with database.transaction(tenant) as connection:
        existing, free = set[EntryId](), set[EntryId]()
        for table in TABLES:
            rows = await connection.execute(
                f"SELECT id FROM mirrord.{table} WHERE tenant_id = %s AND id = ANY (%s)", (tenant, list(entries))
            )
            unlocked = await connection.execute(_FREE.format(table), (tenant, list(entries)))
            existing |= {row[0] for row in await rows.fetchall()}
            free |= {row[0] for row in await unlocked.fetchall()}
    return existing - free
