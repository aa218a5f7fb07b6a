"""Planner statistics of tables that grow fast."""

from mirrord.db.connect import Database
from mirrord.domain.entry import TenantId

MANY = 200  # rows; after so many a check of the table sizes costs relatively nothing


async def keep(database: Database, tenant: TenantId, written: int) -> None:
    """
    Count *written* rows of all tenants; after MANY of them refresh the statistics of tables that have more than
    doubled.
    """
    database.written += written
    if database.written < MANY:
        return
    database.written = 0
    async with database.transaction(tenant) as connection:
        await connection.execute("SELECT mirrord.keep_statistics()")
