"""A batch of entries that changed, in the feed's order, for what follows it."""

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
    """Look at one batch after the cursor of *follower*, and move it there; how many entries it held."""
    changed = await cursors.changed_after(connection, tenant, await cursors.hold(connection, tenant, follower))
    if changed:
        await look(connection, tenant, [entry for _, entry in changed])
        await cursors.move(connection, tenant, follower, changed[-1])
    return len(changed)
