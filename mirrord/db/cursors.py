"""How far what follows the feed of a tenant has got: a cursor each, held while it works on."""

from collections.abc import Sequence
from enum import Enum
from uuid import UUID

from mirrord.db.connect import Connection
from mirrord.domain.entry import EntryId, TenantId

FEED = 500  # entries noticed at once

Cursor = tuple[int, UUID]  # a seq of the feed and an entry: everything up to it
_BEGIN = (0, UUID(int=0))


class Follower(Enum):
    """What follows the feed, and the table of its cursors."""

    LINKS = "link_cursor"
    SEGMENTS = "segment_cursor"


async def waiting(connection: Connection, tenant: TenantId, follower: Follower) -> bool:
    """Whether entries changed that *follower* did not look at."""
    cursor = await _cursor(connection, tenant, follower, "")
    found = await connection.execute(
        "SELECT EXISTS (SELECT FROM mirrord.entry_feed WHERE tenant_id = %s AND (seq, entry_id) > (%s, %s))",
        (tenant, *cursor),
    )
    row = await found.fetchone()
    return bool(row and row[0])


async def hold(connection: Connection, tenant: TenantId, follower: Follower) -> Cursor:
    """Up to where *follower* has got; nobody else follows for it until this transaction ends."""
    statement = (
        f"INSERT INTO mirrord.{follower.value} (tenant_id, seq, entry_id) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
    )
    await connection.execute(statement.encode(), (tenant, *_BEGIN))
    return await _cursor(connection, tenant, follower, "FOR UPDATE")


async def _cursor(connection: Connection, tenant: TenantId, follower: Follower, lock: str) -> Cursor:
    statement = f"SELECT seq, entry_id FROM mirrord.{follower.value} WHERE tenant_id = %s {lock}"
    row = await (await connection.execute(statement.encode(), (tenant,))).fetchone()
    return (row[0], row[1]) if row else _BEGIN


async def move(connection: Connection, tenant: TenantId, follower: Follower, cursor: Cursor) -> None:
    """*follower* has got up to *cursor*."""
    statement = f"UPDATE mirrord.{follower.value} SET seq = %s, entry_id = %s WHERE tenant_id = %s"
    await connection.execute(statement.encode(), (*cursor, tenant))


async def changed_after(connection: Connection, tenant: TenantId, cursor: Cursor) -> Sequence[tuple[int, EntryId]]:
    """Some of the entries that changed after *cursor*, with their seq, in the feed's order."""
    found = await connection.execute(
        "SELECT seq, entry_id FROM mirrord.entry_feed WHERE tenant_id = %s AND (seq, entry_id) > (%s, %s) "
        "ORDER BY seq, entry_id LIMIT %s",
        (tenant, *cursor, FEED),
    )
    return [(seq, EntryId(entry)) for seq, entry in await found.fetchall()]
