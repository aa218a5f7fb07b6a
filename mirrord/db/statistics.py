"""Planner statistics of tables that grow fast."""

from mirrord.db.connect import Database
from mirrord.domain.entry import TenantId

CHECK_AFTER_ROWS = 200  # rows; after so many a check of the table sizes costs relatively nothing


async def keep_statistics(database: Database, tenant: TenantId, written: int) -> None:
    """
    Count *written* rows of all tenants; after MANY of them refresh the statistics of tables that have more than
    doubled.
    """
    database.written_rows += written
    if database.written_rows < CHECK_AFTER_ROWS:
        return
    database.written_rows = 0
    async with database.transaction(tenant) as connection:
        await connection.execute("SELECT mirrord.keep_statistics()")
