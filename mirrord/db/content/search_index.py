"""The index of words: which pages are due, and batches of them (docs/decisions/0079)."""

from mirrord.db.database import Connection
from mirrord.domain.entry import TenantId


async def mark_all_due(connection: Connection) -> int:
    """Make every page of the tenant due; returns their number."""
    await connection.execute("SELECT mirrord.rebuild_search()")
    row = await (
        await connection.execute("SELECT count(*) FROM mirrord.search_due WHERE tenant_id = mirrord.current_tenant()")
    ).fetchone()
    return int(row[0]) if row else 0


async def index_batch(connection: Connection, tenant: TenantId) -> int:
    """Index a batch of pages that are due; returns how many are left. Those that others have locked stay due."""
    await connection.execute("SELECT mirrord.index_due_pages(%s)", (tenant,))
    row = await (
        await connection.execute("SELECT count(*) FROM mirrord.search_due WHERE tenant_id = %s", (tenant,))
    ).fetchone()
    return int(row[0]) if row else 0
