"""What follows the feed, such as links and segments: a batch of changed entries at a time, in the feed's order."""

from collections.abc import Awaitable, Callable, Sequence

from mirrord.db import cursors
from mirrord.db.connect import Connection
from mirrord.db.cursors import Follower
from mirrord.domain.entry import EntryId, TenantId
from mirrord.sync.sides import DAEMON_ACTOR, Sides


async def follow_some(
    sides: Sides,
    waiting: Callable[[Connection, TenantId], Awaitable[bool]],
    batch: Callable[[Connection, TenantId], Awaitable[int]],
) -> int:
    """What *batch* did, in a transaction that takes the lease along; 0 without it, and where nothing is *waiting*."""
    tenant = sides.tenant
    if sides.lease is None:
        return 0
    async with sides.database.transaction(tenant) as connection:
        if not await waiting(connection, tenant):
            return 0
    async with sides.database.transaction(tenant, sides.fence, DAEMON_ACTOR) as connection:
        return await batch(connection, tenant)


async def look_at_changed(
    connection: Connection,
    tenant: TenantId,
    follower: Follower,
    look: Callable[[Connection, TenantId, Sequence[EntryId]], Awaitable[None]],
) -> int:
    """Look at one batch after the cursor of *follower*, and move it there; how many entries it held."""
    changed = await cursors.changed_after(connection, tenant, await cursors.hold(connection, tenant, follower))
    if changed:
        await look(connection, tenant, [entry for _, entry in changed])
        await cursors.move(connection, tenant, follower, changed[-1])
    return len(changed)
