"""What the planner knows of tables that grow fast."""

from mirrord.db.connect import Database
from mirrord.domain.entry import TenantId

MANY = 200  # rows; so much work that looking whether tables have grown costs nothing beside it


async def keep(database: Database, tenant: TenantId, written: int) -> None:
    """
    Note that so many rows were *written*; of whatever tenants, after many of them count tables that have more than
    doubled anew.
    """
    database.written += written
    if database.written < MANY:
        return
    database.written = 0
    async with database.transaction(tenant) as connection:
        await connection.execute("SELECT mirrord.keep_statistics()")
