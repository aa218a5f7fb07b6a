"""
The end of tombstones: what was deleted long ago, and every mirror knows it, goes for good.

The line of the entry in the feed stays, marked: a mirror that was away even longer finds it there, and does not
bring the page back. An entry that still has something below it waits until that is gone.
"""

from datetime import timedelta

from mirrord.db.connect import Connection
from mirrord.domain.entry import EntryId, TenantId

KEPT = timedelta(days=400)  # tombstones, with their versions; and how long a mirror may be away and still count
BATCH = 500  # entries a transaction

# A mirror whose lease nobody held for so long is gone: nothing waits for it.
_ACKNOWLEDGED = """
SELECT coalesce(min(ack_seq), 0) FROM mirrord.mirror
WHERE tenant_id = %(tenant)s AND expires_at > clock_timestamp() - %(kept)s::interval"""
_PURGE = """
WITH due AS (
    SELECT t.id FROM mirrord.{table} AS t
    WHERE t.tenant_id = %(tenant)s AND t.deleted_at < clock_timestamp() - %(kept)s::interval
      AND (SELECT f.seq <= %(acknowledged)s FROM mirrord.entry_feed AS f
           WHERE f.tenant_id = t.tenant_id AND f.entry_id = t.id)
      {childless}
    ORDER BY t.deleted_at LIMIT %(batch)s FOR UPDATE),  -- not restored meanwhile: its history goes as well
{children}gone AS (
    DELETE FROM mirrord.{table} AS t USING due
    WHERE t.tenant_id = %(tenant)s AND t.id = due.id AND t.deleted_at < clock_timestamp() - %(kept)s::interval
    RETURNING t.id)
UPDATE mirrord.entry_feed AS f SET purged_seq = f.seq FROM gone
WHERE f.tenant_id = %(tenant)s AND f.entry_id = gone.id RETURNING f.entry_id"""
_CHILDLESS = """
      AND NOT EXISTS (SELECT FROM mirrord.page AS c WHERE c.tenant_id = t.tenant_id AND c.parent_id = t.id)
      AND NOT EXISTS (SELECT FROM mirrord.attachment AS c WHERE c.tenant_id = t.tenant_id AND c.parent_id = t.id)"""
_TABLES = {"attachment": "", "record": "", "page": _CHILDLESS}
# What belongs to a row, and in which column it says so. Its foreign keys are checked when all of the statement is done.
_CHILDREN = {
    "attachment": {"attachment_revision": "attachment_id"},
    "record": {"record_revision": "record_id"},
    "page": {"page_revision": "page_id", "page_link": "source_id", "segment_anchor": "page_id"},
}
_PURGE_CHILDREN = """{child}_gone AS (
    DELETE FROM mirrord.{child} AS child USING due WHERE child.tenant_id = %(tenant)s AND child.{key} = due.id),
"""


async def purge_some(connection: Connection, tenant: TenantId, kept: timedelta = KEPT) -> list[EntryId]:
    """Purge one batch of what was deleted more than *kept* ago; what went, [] when there is no more."""
    limits = {"tenant": tenant, "kept": kept, "batch": BATCH}
    row = await (await connection.execute(_ACKNOWLEDGED, limits)).fetchone()
    assert row is not None
    gone: list[EntryId] = []
    for table, childless in _TABLES.items():
        children = "".join(_PURGE_CHILDREN.format(child=child, key=key) for child, key in _CHILDREN[table].items())
        statement = _PURGE.format(table=table, childless=childless, children=children)
        cursor = await connection.execute(statement, limits | {"acknowledged": row[0]})
        gone += [EntryId(entry) for (entry,) in await cursor.fetchall()]
    return gone
