"""Which bindings have something to do: a look that a daemon makes many times a second, and what makes it look."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from uuid import UUID

import psycopg

from mirrord.db.array_texts import array_of
from mirrord.db.bindings.binding_rows import DueBinding
from mirrord.db.database import Connection, Database
from mirrord.domain.entry import TenantId

_RUNNING = """
SELECT b.tenant_id, b.id, b.name, b.compared_at IS NULL OR b.compared_at < now() - b.compare_every, c.seq > b.feed_seq
  FROM mirrord.binding AS b JOIN mirrord.tenant_clock AS c ON c.tenant_id = b.tenant_id
 WHERE b.state = 'running' AND b.tenant_id = ANY (%s::uuid[])"""
_DUE = """
SELECT b.tenant_id, b.id, b.name, b.compared_at IS NULL OR b.compared_at < now() - b.compare_every,
       c.seq > b.feed_seq OR EXISTS (SELECT FROM mirrord_bind.change AS q WHERE q.binding = b.id)
  FROM mirrord.binding AS b JOIN mirrord.tenant_clock AS c ON c.tenant_id = b.tenant_id
 WHERE b.state = 'running' AND b.tenant_id = ANY (%s::uuid[])"""
_QUEUED = """
SELECT b FROM unnest(%s::uuid[]) AS b WHERE EXISTS (SELECT FROM mirrord_bind.change AS c WHERE c.binding = b)"""

_ASK_FOR_NOTIFICATION = """
SELECT setval(latch, 1) FROM (SELECT to_regclass(%s) AS latch) AS sequences
 WHERE pg_sequence_last_value(latch) = 0"""


async def load_due(database: Database, tenants: Collection[TenantId], *, has_queue: bool) -> list[DueBinding]:
    """
    The running bindings of *tenants*, and whether there is something to do for each.

    has_queue: there were some at the last look, and so there is a queue: unless the last one was dropped since, one
    statement tells all.
    """
    async with database.autocommit() as connection:
        tenant_ids = (array_of(list(tenants)),)
        if has_queue:
            with suppress(psycopg.errors.UndefinedTable):
                due = await (await connection.execute(_DUE, tenant_ids)).fetchall()
                return [DueBinding(TenantId(tenant), *facts) for tenant, *facts in due]
        running = await (await connection.execute(_RUNNING, tenant_ids)).fetchall()
        if not running:
            return []
        queued = await _load_queued(connection, [binding for _, binding, *_ in running])
    return [
        DueBinding(TenantId(tenant), binding, name, is_due, has_news or binding in queued)
        for tenant, binding, name, is_due, has_news in running
    ]


async def _load_queued(connection: Connection, bindings: Sequence[UUID]) -> set[UUID]:
    """Those of *bindings* with changes in the queue; none if the last one was dropped meanwhile, and the queue too."""
    try:
        cursor = await connection.execute(_QUEUED, (bindings,))
        return {binding for (binding,) in await cursor.fetchall()}
    except psycopg.errors.UndefinedTable:
        return set()


async def ask_for_notification(connection: Connection, latch: str) -> None:
    """
    Let the app's next write notify, with the sequence *latch* of a trigger; there is none where none was installed.

    It is set at once, and no rollback takes that back. What is written after this and before the changes are taken
    notifies as well: one look more, and none too few.
    """
    await connection.execute(_ASK_FOR_NOTIFICATION, (latch,))
