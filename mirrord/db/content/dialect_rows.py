"""The dialect of a tenant's pages, which documents are derived by."""

from mirrord.db.database import Connection
from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import TenantId

BATCH_DOCUMENTS = 1_000  # documents that one transaction forgets, well within its time limit
_FORGET_SQL = """
UPDATE mirrord.page SET content = NULL
 WHERE tenant_id = %s AND id IN (SELECT id FROM mirrord.page
                                  WHERE tenant_id = %s AND content IS NOT NULL AND 'content' <> ALL (ahead) LIMIT %s)"""


async def load_dialect(connection: Connection, tenant: TenantId) -> Dialect:
    """The dialect of the tenant's pages."""
    cursor = await connection.execute("SELECT dialect FROM mirrord.tenant WHERE id = %s", (tenant,))
    row = await cursor.fetchone()
    return Dialect(row[0]) if row else Dialect.PLAIN


async def store_dialect(connection: Connection, tenant: TenantId, dialect: Dialect) -> None:
    """Store the dialect of the tenant's pages."""
    await connection.execute("UPDATE mirrord.tenant SET dialect = %s WHERE id = %s", (dialect.value, tenant))


async def forget_documents(connection: Connection, tenant: TenantId) -> bool:
    """
    Let a batch of documents be derived again, under their versions and with the ids of their blocks.

    Documents that apps wrote and that are not rendered yet stay. Returns whether there were any.
    """
    cursor = await connection.execute(_FORGET_SQL, (tenant, tenant, BATCH_DOCUMENTS))
    return cursor.rowcount > 0
