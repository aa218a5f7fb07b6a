"""Batches of changed entries in the feed's order, for followers of the feed."""

from collections.abc import Awaitable, Callable, Sequence

from mirrord.db import cursors
from mirrord.db.connect import Connection
from mirrord.db.cursors import Follower
from mirrord.domain.entry import EntryId, TenantId


async def look_at_changed(
    connection: Connection,
    tenant: TenantId,
    follower: Follower,
    look: Callable[[Connection, TenantId, Sequence[EntryId]], Awaitable[None]],
) -> int:
    """Process one batch after the cursor of *follower*, and move the cursor; return the batch's number of entries."""
    changed = await cursors.changed_after(connection, tenant, await cursors.hold(connection, tenant, follower))
    if changed:
        await look(connection, tenant, [entry for _, entry in changed])
        await cursors.move(connection, tenant, follower, changed[-1])
    return len(changed)
