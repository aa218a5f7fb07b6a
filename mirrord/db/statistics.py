"""What the planner knows of tables that grow fast."""

from mirrord.db.connect import Database
from mirrord.domain.entry import TenantId


async def keep(database: Database, tenant: TenantId) -> None:
    """Count anew what has more than doubled since it was last counted; call it after a large write."""
    async with database.transaction(tenant) as connection:
        await connection.execute("SELECT mirrord.keep_statistics()")
