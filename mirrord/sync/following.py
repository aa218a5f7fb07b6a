"""What follows the feed: links and segments, a batch of changed entries at a time."""

import asyncio

from mirrord.db import cursors
from mirrord.sync.anchoring import anchor_batch
from mirrord.sync.linking import link_batch
from mirrord.sync.sides import DAEMON_ACTOR, Sides


async def follow_some(sides: Sides, untold: asyncio.Event | None = None) -> int:
    """
    Let links and segments follow one batch, in a transaction that takes the lease along.

    How many entries and links it held of what there was most of: below cursors.FEED that was all. 0 without the lease.
    untold: set where changes are to become events.
    """
    tenant = sides.tenant
    if sides.lease is None:
        return 0
    async with sides.database.transaction(tenant) as connection:
        is_behind, has_notes = await cursors.waiting(connection, tenant)
    if has_notes and untold is not None:
        untold.set()
    if not is_behind:
        return 0
    async with sides.database.transaction(tenant, sides.fence, DAEMON_ACTOR) as connection:
        return max(await link_batch(connection, tenant), await anchor_batch(connection, tenant))
