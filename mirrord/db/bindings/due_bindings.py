"""Which bindings have something to do: a look that a daemon makes many times a second, and what makes it look."""

from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from mirrord.db.array_texts import array_of
from mirrord.db.bindings.binding_rows import DueBinding
from mirrord.db.database import Connection, Database, set_tenant
from mirrord.domain.entry import TenantId

_RUNNING = """
SELECT b.tenant_id, b.id, b.name, b.compared_at IS NULL OR b.compared_at < now() - b.compare_every, c.seq > b.feed_seq
  FROM mirrord.binding AS b JOIN mirrord.tenant_clock AS c ON c.tenant_id = b.tenant_id
 WHERE b.state = 'running' AND b.tenant_id = ANY (%s::uuid[])"""
_DUE = """
SELECT b.tenant_id, b.id, b.name, b.compared_at IS NULL OR b.compared_at < now() - b.compare_every, c.seq > b.feed_seq,
       EXISTS (SELECT FROM mirrord_bind.change AS q WHERE q.binding = b.id)
  FROM mirrord.binding AS b JOIN mirrord.tenant_clock AS c ON c.tenant_id = b.tenant_id
 WHERE b.state = 'running' AND b.tenant_id = ANY (%s::uuid[])"""
# Where the feed has only pages as the binding agreed on them, no pass is needed, and they count as looked at.
_NEWS = """
WITH news AS MATERIALIZED (
    SELECT b.id, b.feed_seq, c.seq, f.is_own, f.is_other
      FROM mirrord.binding AS b JOIN mirrord.tenant_clock AS c ON c.tenant_id = b.tenant_id
     CROSS JOIN LATERAL (
           SELECT coalesce(bool_or(e.entry_id IS NOT NULL
                                   AND (p.version IS DISTINCT FROM e.version OR e.external_version = '')), false),
                  coalesce(count(*) = %(most)s
                           OR bool_or(e.entry_id IS NULL AND b.id <> ALL (%(reading)s::uuid[])), false)
             FROM (SELECT entry_id FROM mirrord.entry_feed AS changed
                    WHERE changed.tenant_id = %(tenant)s AND changed.seq > b.feed_seq
                    ORDER BY changed.seq LIMIT %(most)s) AS changed
             LEFT JOIN mirrord.binding_entry AS e
               ON (e.tenant_id, e.binding_id, e.entry_id) = (%(tenant)s, b.id, changed.entry_id)
             LEFT JOIN mirrord.page AS p ON (p.tenant_id, p.id) = (%(tenant)s, changed.entry_id)
           ) AS f (is_own, is_other)
     WHERE b.tenant_id = %(tenant)s AND b.state = 'running' AND c.seq > b.feed_seq
), passed AS MATERIALIZED (
    SELECT b.id, n.seq FROM news AS n JOIN mirrord.binding AS b ON (b.tenant_id, b.id) = (%(tenant)s, n.id)
     WHERE NOT (n.is_own OR n.is_other) AND b.feed_seq = n.feed_seq FOR NO KEY UPDATE OF b SKIP LOCKED
), noted AS (
    UPDATE mirrord.binding AS b SET feed_seq = p.seq FROM passed AS p WHERE (b.tenant_id, b.id) = (%(tenant)s, p.id)
)
SELECT id, is_own, is_other FROM news"""
_MOST_NEWS = 200  # changes of pages that a look weighs for each binding; of more, a pass goes through all
_QUEUED = """
SELECT b FROM unnest(%s::uuid[]) AS b WHERE EXISTS (SELECT FROM mirrord_bind.change AS c WHERE c.binding = b)"""


@dataclass(frozen=True, slots=True)
class Look:
    """
    What a look knows before.

    has_queue: there were running bindings at the last look, and so there is a queue: unless the last binding was
    dropped since, one statement tells all, and one more for each tenant of which the clock moved. reading: bindings to
    which pages that are not theirs mean nothing.
    """

    tenants: Collection[TenantId]
    has_queue: bool = False
    reading: Sequence[UUID] = ()


async def load_due(database: Database, look: Look) -> list[DueBinding]:
    """
    The running bindings of the tenants of *look*, and whether there is something to do for each.

    Those with pages of their own that others edited are first.
    """
    async with database.autocommit() as connection:
        tenant_ids = (array_of(list(look.tenants)),)
        if look.has_queue:
            with suppress(psycopg.errors.UndefinedTable):
                running = await (await connection.execute(_DUE, tenant_ids)).fetchall()
                return await _weigh_news(connection, running, look.reading)
        running = await (await connection.execute(_RUNNING, tenant_ids)).fetchall()
        if not running:
            return []
        queued = await _load_queued(connection, [binding for _, binding, *_ in running])
    return [
        DueBinding(TenantId(tenant), binding, name, is_due, has_news or binding in queued)
        for tenant, binding, name, is_due, has_news in running
    ]


async def _weigh_news(
    connection: Connection, running: Sequence[tuple[Any, ...]], reading: Sequence[UUID]
) -> list[DueBinding]:
    """The bindings of *running*, those first of which others edited pages: documents, too, move the tenant's clock."""
    news: dict[UUID, tuple[bool, bool]] = {}
    for tenant in {TenantId(tenant) for tenant, *_, has_moved, _ in running if has_moved}:
        news |= await _load_news(connection, tenant, reading)
    ordered = sorted(running, key=lambda row: not news.get(row[1], (False, False))[0])
    return [
        DueBinding(TenantId(tenant), binding, name, is_due, is_queued or any(news.get(binding, ())))
        for tenant, binding, name, is_due, _, is_queued in ordered
    ]


async def _load_news(
    connection: Connection, tenant: TenantId, reading: Sequence[UUID]
) -> dict[UUID, tuple[bool, bool]]:
    """By binding: whether others edited its pages, and whether pages changed that it does not know."""
    async with AsyncExitStack() as ending:
        async with connection.pipeline():
            await ending.enter_async_context(connection.transaction())
            await set_tenant(connection, tenant)
            values = {"tenant": tenant, "most": _MOST_NEWS, "reading": array_of(list(reading))}
            cursor = await connection.execute(_NEWS, values)
        return {binding: (is_own, is_other) for binding, is_own, is_other in await cursor.fetchall()}


async def _load_queued(connection: Connection, bindings: Sequence[UUID]) -> set[UUID]:
    """Those of *bindings* with changes in the queue; none if the last one was dropped meanwhile, and the queue too."""
    try:
        cursor = await connection.execute(_QUEUED, (bindings,))
        return {binding for (binding,) in await cursor.fetchall()}
    except psycopg.errors.UndefinedTable:
        return set()
