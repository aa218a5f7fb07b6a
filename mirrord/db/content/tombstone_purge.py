"""
The end of tombstones: what was deleted long ago, and every mirror knows it, is removed.

The entry's row in the feed stays, marked: a mirror that was away even longer finds it there, and does not
restore the page. An entry with descendants waits until these are purged.
"""

from datetime import timedelta

from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, TenantId

TOMBSTONE_AGE = timedelta(
    days=400
)  # age of purged tombstones with their versions; mirrors away for longer do not count
BATCH_ENTRIES = 500  # entries per transaction

# A mirror without a lease for that long is abandoned: nothing waits for it.
_ACKNOWLEDGED = """
SELECT coalesce(min(ack_seq), 0) FROM mirrord.mirror
WHERE tenant_id = %(tenant)s AND expires_at > statement_timestamp() - %(kept)s::interval"""
_PURGE = """
WITH due AS (
    SELECT t.id FROM mirrord.{table} AS t
    WHERE t.tenant_id = %(tenant)s AND t.deleted_at < statement_timestamp() - %(kept)s::interval
      AND (SELECT f.seq <= %(acknowledged)s FROM mirrord.entry_feed AS f
           WHERE f.tenant_id = %(tenant)s AND f.entry_id = t.id)
      {childless}
    ORDER BY t.deleted_at LIMIT %(batch)s FOR UPDATE),  -- not restored meanwhile: its history goes as well
{children}gone AS (
    DELETE FROM mirrord.{table} AS t USING due
    WHERE t.tenant_id = %(tenant)s AND t.id = due.id AND t.deleted_at < statement_timestamp() - %(kept)s::interval
    RETURNING t.id)
UPDATE mirrord.entry_feed AS f SET purged_seq = f.seq FROM gone
WHERE f.tenant_id = %(tenant)s AND f.entry_id = gone.id RETURNING f.entry_id"""
_CHILDLESS = """
      AND NOT EXISTS (SELECT FROM mirrord.page AS c WHERE c.tenant_id = %(tenant)s AND c.parent_id = t.id)
      AND NOT EXISTS (SELECT FROM mirrord.attachment AS c WHERE c.tenant_id = %(tenant)s AND c.parent_id = t.id)"""
_TABLES = {"attachment": "", "record": "", "page": _CHILDLESS}
# Tables of dependent rows, with their referring column. Foreign keys are checked at the end of the statement.
_CHILDREN = {
    "attachment": {"attachment_revision": "attachment_id"},
    "record": {"record_revision": "record_id"},
    "page": {"page_revision": "page_id", "page_link": "source_id", "segment_anchor": "page_id"},
}
_PURGE_CHILDREN = """{child}_gone AS (
    DELETE FROM mirrord.{child} AS child USING due WHERE child.tenant_id = %(tenant)s AND child.{key} = due.id),
"""


async def purge_batch(connection: Connection, tenant: TenantId, age: timedelta = TOMBSTONE_AGE) -> list[EntryId]:
    """Purge one batch of entries deleted more than *age* ago. Returns the purged ones, [] at the end."""
    parameters = {"tenant": tenant, "kept": age, "batch": BATCH_ENTRIES}
    row = await (await connection.execute(_ACKNOWLEDGED, parameters)).fetchone()
    assert row is not None
    purged: list[EntryId] = []
    for table, childless in _TABLES.items():
        children = "".join(_PURGE_CHILDREN.format(child=child, key=key) for child, key in _CHILDREN[table].items())
        statement = _PURGE.format(table=table, childless=childless, children=children)
        cursor = await connection.execute(statement, parameters | {"acknowledged": row[0]})
        purged += [EntryId(entry) for (entry,) in await cursor.fetchall()]
    return purged
