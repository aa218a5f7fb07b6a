"""Let links and segments follow the feed, one batch of changed entries at a time."""

import asyncio

from mirrord.db import cursors
from mirrord.sync.anchoring import anchor_batch
from mirrord.sync.linking import link_batch
from mirrord.sync.sides import DAEMON_ACTOR, Sides


async def follow_batch(sides: Sides, unpublished: asyncio.Event | None = None) -> int:
    """
    Let links and segments follow one batch, in a transaction that checks the lease.

    Returns the larger of the two batch sizes: below cursors.FEED nothing is left. 0 without the lease.
    unpublished: set if there are changes to publish as events.
    """
    tenant = sides.tenant
    if sides.lease is None:
        return 0
    async with sides.database.transaction(tenant) as connection:
        is_behind, has_notes = await cursors.has_waiting(connection, tenant)
    if has_notes and unpublished is not None:
        unpublished.set()
    if not is_behind:
        return 0
    async with sides.database.transaction(tenant, sides.fence, DAEMON_ACTOR) as connection:
        return max(await link_batch(connection, tenant), await anchor_batch(connection, tenant))
