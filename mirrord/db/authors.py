"""Who wrote what rows say now."""

from collections.abc import Sequence

from mirrord.db.connect import Connection
from mirrord.domain.entry import EntryId, TenantId

_OURS = ["daemon", "file"]  # kinds of actors that mirrord names in its transactions
# A move of mirrord writes or completes one version of a row. One more of the same transaction is from a trigger.
_CHANGED_BY_TRIGGERS = " UNION ALL ".join(
    f"SELECT row.id FROM mirrord.{table} AS row "
    f"JOIN mirrord.{table}_revision AS newest ON newest.tenant_id = row.tenant_id "
    f"AND newest.{table}_id = row.id AND newest.version = row.version "
    f"JOIN mirrord.{table}_revision AS before ON before.tenant_id = row.tenant_id "
    f"AND before.{table}_id = row.id AND before.version = row.version - 1 AND before.xmin = newest.xmin "
    "WHERE row.tenant_id = %(tenant)s AND row.id = ANY (%(entries)s) AND row.updated_by ->> 'kind' = ANY (%(ours)s)"
    for table in ("page", "attachment", "record")
)


async def changed_by_triggers(
    connection: Connection, tenant: TenantId, entries: Sequence[EntryId]
) -> frozenset[EntryId]:
    """Those of *entries* whose newest version a trigger wrote in a transaction of mirrord."""
    values = {"tenant": tenant, "entries": list(entries), "ours": _OURS}
    cursor = await connection.execute(_CHANGED_BY_TRIGGERS, values)
    return frozenset(EntryId(entry) for (entry,) in await cursor.fetchall())
