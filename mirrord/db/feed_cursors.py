"""How far the followers of the feed of a tenant have come: one cursor each, held while they work."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, TenantId

FEED_BATCH_ENTRIES = 500  # entries per batch
MAX_UNFOLLOWED_ENTRIES = 500  # entries whose names are read, for one link, before links follow them

FeedCursor = tuple[int, UUID]  # a seq of the feed and an entry: everything up to it


@dataclass(frozen=True, slots=True)
class FeedBatch:
    """
    The next changes for the followers, in the order of the feed. Each follower has its own cursor.

    has_due_links: links have to be resolved. has_pending_links: texts have to get targets of links. has_notes: changes
    are waiting to become events. has_segments: some of the entries have segments, or are records of segments. clock:
    the number of the tenant's last change when this was read. unindexed_pages: the number of pages with words to be
    indexed, which the move of the cursor of links does.
    """

    changes: Sequence[FeedCursor]
    link_cursor: FeedCursor
    segment_cursor: FeedCursor
    has_due_links: bool
    has_pending_links: bool
    has_notes: bool
    has_segments: bool
    clock: int
    unindexed_pages: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether no change up to `clock` is missing."""
        return len(self.changes) < FEED_BATCH_ENTRIES

    @property
    def entries_for_links(self) -> list[EntryId]:
        """The changed entries that links have not followed yet."""
        return [EntryId(change[1]) for change in self.changes if change > self.link_cursor]

    @property
    def entries_for_segments(self) -> list[EntryId]:
        """The changed entries that segments have not followed yet; none if no segment is concerned."""
        if not self.has_segments:
            return []
        return [EntryId(change[1]) for change in self.changes if change > self.segment_cursor]


# One statement: it locks both cursors until the transaction ends, and reads after the one that is behind.
_NEXT_BATCH = """
WITH link AS MATERIALIZED (SELECT seq, entry_id FROM mirrord.link_cursor WHERE tenant_id = %(t)s FOR UPDATE),
segment AS MATERIALIZED (SELECT seq, entry_id FROM mirrord.segment_cursor WHERE tenant_id = %(t)s FOR UPDATE),
behind AS (
    SELECT seq, entry_id FROM (TABLE link UNION ALL TABLE segment) AS cursors ORDER BY seq, entry_id LIMIT 1),
batch AS MATERIALIZED (
    SELECT seq, entry_id FROM mirrord.entry_feed
     WHERE tenant_id = %(t)s AND (seq, entry_id) > ((SELECT seq FROM behind), (SELECT entry_id FROM behind))
     ORDER BY seq, entry_id LIMIT %(limit)s)
SELECT ARRAY(SELECT seq FROM batch ORDER BY seq, entry_id), ARRAY(SELECT entry_id FROM batch ORDER BY seq, entry_id),
       link.seq, link.entry_id, segment.seq, segment.entry_id,
       EXISTS (SELECT FROM mirrord.page_link WHERE tenant_id = %(t)s AND due AND pending IS NULL),
       EXISTS (SELECT FROM mirrord.page_link AS l JOIN mirrord.page AS p ON p.tenant_id = %(t)s AND p.id = l.source_id
                WHERE l.tenant_id = %(t)s AND l.pending IS NOT NULL AND p.deleted_at IS NULL),
       EXISTS (SELECT FROM mirrord.event_outbox WHERE tenant_id = %(t)s),
       EXISTS (SELECT FROM mirrord.record WHERE tenant_id = %(t)s AND kind = 'segment'
                  AND key = ANY (ARRAY(SELECT entry_id::text FROM batch)))
       OR EXISTS (SELECT FROM mirrord.record WHERE tenant_id = %(t)s AND kind = 'segment'
                     AND id = ANY (ARRAY(SELECT entry_id FROM batch))),
       coalesce((SELECT seq FROM mirrord.tenant_clock WHERE tenant_id = %(t)s), 0),
       (SELECT count(*) FROM mirrord.search_due WHERE tenant_id = %(t)s)
  FROM link, segment"""
_ADD_CURSOR = """
INSERT INTO mirrord.{} (tenant_id, seq, entry_id)
VALUES (%s, 0, '00000000-0000-0000-0000-000000000000') ON CONFLICT DO NOTHING"""
_MOVE_CURSORS = """
WITH link AS (
    UPDATE mirrord.link_cursor SET seq = %(seq)s, entry_id = %(entry)s
     WHERE tenant_id = %(t)s AND (seq, entry_id) <= (%(seq)s, %(entry)s))
UPDATE mirrord.segment_cursor SET seq = %(seq)s, entry_id = %(entry)s
 WHERE tenant_id = %(t)s AND (seq, entry_id) < (%(seq)s, %(entry)s)"""


async def lock_next_batch(connection: Connection, tenant: TenantId) -> FeedBatch:
    """The next changes, at most FEED_BATCH_ENTRIES; both cursors are locked until this transaction ends."""
    values = {"t": tenant, "limit": FEED_BATCH_ENTRIES}
    while (row := await (await connection.execute(_NEXT_BATCH, values)).fetchone()) is None:
        for cursor in ("link_cursor", "segment_cursor"):
            await connection.execute(_ADD_CURSOR.format(cursor).encode(), (tenant,))
    seqs, entries, link_seq, link_entry, segment_seq, segment_entry, *facts = row
    changes = list(zip(seqs, entries, strict=True))
    return FeedBatch(changes, (link_seq, link_entry), (segment_seq, segment_entry), *facts)


async def move_cursors(connection: Connection, tenant: TenantId, cursor: FeedCursor) -> None:
    """Move both cursors to *cursor*, unless they are beyond it. A batch of pages that are due is indexed with that."""
    seq, entry = cursor
    await connection.execute(_MOVE_CURSORS, {"t": tenant, "seq": seq, "entry": entry})


async def count_unindexed(connection: Connection, tenant: TenantId) -> int:
    """The number of pages with words that are left to be indexed after a move of the cursors."""
    cursor = await connection.execute("SELECT count(*) FROM mirrord.search_due WHERE tenant_id = %s", (tenant,))
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


_UNFOLLOWED = """
SELECT change.entry_id
  FROM mirrord.link_cursor AS cursor JOIN mirrord.entry_feed AS change
    ON change.tenant_id = %(t)s AND (change.seq, change.entry_id) > (cursor.seq, cursor.entry_id)
 WHERE cursor.tenant_id = %(t)s ORDER BY change.seq DESC, change.entry_id LIMIT %(limit)s"""


async def load_unfollowed(
    connection: Connection, tenant: TenantId, limit: int = MAX_UNFOLLOWED_ENTRIES
) -> set[EntryId]:
    """The entries that changed since link_cursor, the latest *limit*: links may not find them by their names yet."""
    cursor = await connection.execute(_UNFOLLOWED, {"t": tenant, "limit": limit})
    return {EntryId(entry) for (entry,) in await cursor.fetchall()}
