"""Batches of changed entries in the feed's order, for followers of the feed."""

from collections.abc import Awaitable, Callable, Sequence

from mirrord.db import cursors
from mirrord.db.connect import Connection
from mirrord.db.cursors import Follower
from mirrord.domain.entry import EntryId, TenantId


async def process_changed(
    connection: Connection,
    tenant: TenantId,
    follower: Follower,
    process: Callable[[Connection, TenantId, Sequence[EntryId]], Awaitable[None]],
) -> int:
    """Process one batch after the cursor of *follower*, and move the cursor; return the batch's number of entries."""
    changed = await cursors.load_changes_after(
        connection, tenant, await cursors.lock_cursor(connection, tenant, follower)
    )
    if changed:
        await process(connection, tenant, [entry for _, entry in changed])
        await cursors.store_cursor(connection, tenant, follower, changed[-1])
    return len(changed)
