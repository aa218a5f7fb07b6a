"""The dialect of a tenant's pages, which documents are derived by."""

from collections.abc import Sequence

from mirrord.db.database import Connection
from mirrord.domain.dialect import USUAL_DAYS, DayFormats, Dialect, TenantDialect
from mirrord.domain.entry import TenantId

BATCH_DOCUMENTS = 1_000  # documents that one transaction forgets, well within its time limit
BATCH_LINKS = 20_000  # links that one transaction makes due
_FORGET_SQL = """
UPDATE mirrord.page SET content = NULL
 WHERE tenant_id = %s AND id IN (SELECT id FROM mirrord.page
                                  WHERE tenant_id = %s AND content IS NOT NULL AND 'content' <> ALL (ahead) LIMIT %s)
RETURNING 1"""


async def load_dialect(connection: Connection, tenant: TenantId) -> Dialect:
    """The dialect of the tenant's pages."""
    return (await load_tenant_dialect(connection, tenant)).dialect


async def load_tenant_dialect(connection: Connection, tenant: TenantId) -> TenantDialect:
    """The dialect of the tenant's pages, with its formats of days."""
    return (await load_tenant_dialects(connection, [tenant]))[tenant]


async def load_tenant_dialects(connection: Connection, tenants: Sequence[TenantId]) -> dict[TenantId, TenantDialect]:
    """The dialect of the pages of each of *tenants*, with its formats of days."""
    query = "SELECT id, dialect, day_formats FROM mirrord.tenant WHERE id = ANY (%s)"
    rows = await (await connection.execute(query, (list(tenants),))).fetchall()
    stored = {tenant: TenantDialect(Dialect(dialect), day_formats_of(days)) for tenant, dialect, days in rows}
    return {tenant: stored.get(tenant, TenantDialect()) for tenant in tenants}


def day_formats_of(stored: Sequence[str] | None) -> DayFormats:
    """The formats of days in a row of a tenant."""
    return DayFormats(*stored) if stored else USUAL_DAYS


async def store_dialect(connection: Connection, tenant: TenantId, spoken: TenantDialect) -> None:
    """Store the dialect of the tenant's pages, with its formats of days."""
    statement = "UPDATE mirrord.tenant SET dialect = %s, day_formats = %s WHERE id = %s"
    days = [spoken.days.title, spoken.days.file] if spoken.days != USUAL_DAYS else None
    await connection.execute(statement, (spoken.dialect.value, days, tenant))


async def forget_documents(connection: Connection, tenant: TenantId) -> bool:
    """
    Let a batch of documents be derived again, under their versions and with the ids of their blocks.

    Documents that apps wrote and that are not rendered yet stay. Returns whether there were any.
    """
    cursor = await connection.execute(_FORGET_SQL, (tenant, tenant, BATCH_DOCUMENTS))
    return await cursor.fetchone() is not None  # a cursor knows no count of rows before its answer is fetched


# A batch is joined: a cluster takes no row of columns beside IN.
_MAKE_DUE_SQL = """
UPDATE mirrord.page_link AS l SET due = true
  FROM (SELECT tenant_id, source_id, number FROM mirrord.page_link WHERE tenant_id = %s AND NOT due LIMIT %s) AS batch
 WHERE l.tenant_id = %s AND (l.tenant_id, l.source_id, l.number) = (batch.tenant_id, batch.source_id, batch.number)
RETURNING 1"""
_FOLLOW_AGAIN_SQL = """
UPDATE mirrord.link_cursor SET seq = 0, entry_id = '00000000-0000-0000-0000-000000000000' WHERE tenant_id = %s"""


async def forget_meanings(connection: Connection, tenant: TenantId) -> bool:
    """
    Let the meanings of a batch of links be looked up again; with the last one, the names of all entries, too.

    Returns whether there were any.
    """
    cursor = await connection.execute(_MAKE_DUE_SQL, (tenant, BATCH_LINKS, tenant))
    if await cursor.fetchone() is not None:
        return True
    await connection.execute(_FOLLOW_AGAIN_SQL, (tenant,))
    return False
