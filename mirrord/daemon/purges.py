"""What is removed when its time is over: tombstones, and texts of versions that a rule no longer keeps."""

import logging
from contextlib import suppress
from uuid import UUID

import psycopg

from mirrord.db.content.history_purge import RemovalRun, begin_removal, remove_batch
from mirrord.db.content.tombstone_purge import purge_batch
from mirrord.domain.entry import EntryId
from mirrord.domain.history_rule import HistoryRule
from mirrord.errors import Fenced, Unavailable
from mirrord.sync.observation.mirror_handles import DAEMON_ACTOR, Sides

log = logging.getLogger(__name__)


async def purge_tombstones(sides: Sides) -> int:
    """Purge every tombstone past its time; returns their number. After a failure the next purge tries again."""
    count = 0
    with suppress(Unavailable, Fenced, psycopg.errors.IntegrityError):
        while sides.lease is not None:
            async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
                purged = await purge_batch(connection, sides.tenant)
            if not purged:
                break
            count += len(purged)
    if count:
        log.info("purged", extra={"tenant": sides.name, "entries": count})
    return count


async def remove_old_texts(sides: Sides, rule: HistoryRule) -> int:
    """Remove the texts of versions that *rule* no longer keeps; returns their number. A failure is as above."""
    count = size = 0
    with suppress(Unavailable, Fenced):
        if sides.lease is None or (run := await _begin_removal(sides, rule)) is None:
            return 0
        for table in ("page", "record"):
            after: EntryId | None = EntryId(UUID(int=0))
            while after is not None and sides.lease is not None:
                async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
                    batch = await remove_batch(connection, sides.tenant, run, table, after)
                after, count, size = batch.next_after, count + batch.texts, size + batch.size
    if count:
        log.info("texts_removed", extra={"tenant": sides.name, "versions": count, "bytes": size})
    return count


async def _begin_removal(sides: Sides, rule: HistoryRule) -> RemovalRun | None:
    if rule.age is None:
        return None
    async with sides.database.transaction(sides.tenant) as connection:
        return await begin_removal(connection, sides.tenant, rule)
