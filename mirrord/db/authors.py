"""Authors of the current versions of rows."""

from collections.abc import Sequence

from mirrord.db.connect import Connection
from mirrord.domain.entry import EntryId, TenantId

_OWN_ACTOR_KINDS = ["daemon", "file"]  # the actors of mirrord's own transactions
# A move by mirrord writes or completes one version of a row. Another version in the same transaction is a trigger's.
_CHANGED_BY_TRIGGERS = " UNION ALL ".join(
    f"SELECT row.id FROM mirrord.{table} AS row "
    f"JOIN mirrord.{table}_revision AS newest ON newest.tenant_id = row.tenant_id "
    f"AND newest.{table}_id = row.id AND newest.version = row.version "
    f"JOIN mirrord.{table}_revision AS before ON before.tenant_id = row.tenant_id "
    f"AND before.{table}_id = row.id AND before.version = row.version - 1 AND before.xmin = newest.xmin "
    "WHERE row.tenant_id = %(tenant)s AND row.id = ANY (%(entries)s) AND row.updated_by ->> 'kind' = ANY (%(ours)s)"
    for table in ("page", "attachment", "record")
)


async def load_changed_by_triggers(
    connection: Connection, tenant: TenantId, entries: Sequence[EntryId]
) -> frozenset[EntryId]:
    """The entries among *entries* whose newest version a trigger wrote in a transaction of mirrord."""
    values = {"tenant": tenant, "entries": list(entries), "ours": _OWN_ACTOR_KINDS}
    cursor = await connection.execute(_CHANGED_BY_TRIGGERS, values)
    return frozenset(EntryId(entry) for (entry,) in await cursor.fetchall())
