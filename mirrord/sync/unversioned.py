"""Texts that somebody wrote into rows behind the triggers: they have no version, so nothing tells of them."""

import logging

from mirrord.db import comparison
from mirrord.db.writes import run
from mirrord.domain.entry import digest_of
from mirrord.sync.bodies import text_of
from mirrord.sync.sides import DAEMON_ACTOR, Sides

log = logging.getLogger(__name__)


async def give_versions(sides: Sides) -> int:
    """
    Make every such text a version, after the one it was written over; how many those were. The feed tells of them then.

    Reads all texts of the tenant, in Postgres.
    """
    async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
        found = await comparison.unversioned(connection, sides.tenant)
        for one in found:
            steps = [(one.version, one.known), (one.version + 1, one.written)]
            for version, text in steps:  # the first gives the row back what its version says
                await run(
                    connection, [sides.writer.rewrite(one.entry, version, digest_of(text.encode()), text_of(text))]
                )
    if found:
        log.warning("unversioned_texts", extra={"tenant": sides.name, "entries": len(found)})
    return len(found)
