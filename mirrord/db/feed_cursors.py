"""How far each follower of the feed of a tenant has come: one cursor each, held while it works."""

from collections.abc import Sequence
from enum import Enum
from uuid import UUID

from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, TenantId

FEED_BATCH_ENTRIES = 500  # entries per batch

FeedCursor = tuple[int, UUID]  # a seq of the feed and an entry: everything up to it
_START = (0, UUID(int=0))


class Follower(Enum):
    """A follower of the feed. The value is the table of its cursors."""

    LINKS = "link_cursor"
    SEGMENTS = "segment_cursor"


_CHANGED = """
EXISTS (SELECT FROM mirrord.entry_feed WHERE tenant_id = %(t)s AND (seq, entry_id) > (
    coalesce((SELECT seq FROM mirrord.{0} WHERE tenant_id = %(t)s), 0),
    coalesce((SELECT entry_id FROM mirrord.{0} WHERE tenant_id = %(t)s), '00000000-0000-0000-0000-000000000000')))"""
_WAITING = f"""
SELECT {" OR ".join(_CHANGED.format(follower.value) for follower in Follower)}
       OR EXISTS (SELECT FROM mirrord.page_link WHERE tenant_id = %(t)s AND due),
       EXISTS (SELECT FROM mirrord.event_outbox WHERE tenant_id = %(t)s)"""


async def has_waiting(connection: Connection, tenant: TenantId) -> tuple[bool, bool]:
    """(a follower has entries to process or links are due, changes are waiting to become events)."""
    row = await (await connection.execute(_WAITING.encode(), {"t": tenant})).fetchone()
    return bool(row and row[0]), bool(row and row[1])


async def lock_cursor(connection: Connection, tenant: TenantId, follower: Follower) -> FeedCursor:
    """The cursor of *follower*, locked until this transaction ends."""
    statement = (
        f"INSERT INTO mirrord.{follower.value} (tenant_id, seq, entry_id) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
    )
    await connection.execute(statement.encode(), (tenant, *_START))
    statement = f"SELECT seq, entry_id FROM mirrord.{follower.value} WHERE tenant_id = %s FOR UPDATE"
    row = await (await connection.execute(statement.encode(), (tenant,))).fetchone()
    return (row[0], row[1]) if row else _START


async def store_cursor(connection: Connection, tenant: TenantId, follower: Follower, cursor: FeedCursor) -> None:
    """Move the cursor of *follower* to *cursor*."""
    statement = f"UPDATE mirrord.{follower.value} SET seq = %s, entry_id = %s WHERE tenant_id = %s"
    await connection.execute(statement.encode(), (*cursor, tenant))


async def load_changes_after(
    connection: Connection, tenant: TenantId, cursor: FeedCursor
) -> Sequence[tuple[int, EntryId]]:
    """The next (seq, entry) after *cursor*, at most FEED of them, in feed order."""
    rows = await connection.execute(
        "SELECT seq, entry_id FROM mirrord.entry_feed WHERE tenant_id = %s AND (seq, entry_id) > (%s, %s) "
        "ORDER BY seq, entry_id LIMIT %s",
        (tenant, *cursor, FEED_BATCH_ENTRIES),
    )
    return [(seq, EntryId(entry)) for seq, entry in await rows.fetchall()]
