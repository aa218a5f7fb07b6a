"""Domain events as rows."""

from collections.abc import Callable, Collection, Sequence
from uuid import UUID

from psycopg.types.json import Jsonb

from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, TenantId, parse_id
from mirrord.domain.event import Event

_INSERT = """
INSERT INTO mirrord.event (tenant_id, id, type, occurred_at, actor, channel, data)
VALUES (%s, %s, %s, %s, %s, 'file', %s) ON CONFLICT (tenant_id, id) DO NOTHING"""
_INSERT_CLAIM = f"""
WITH fresh AS ({_INSERT} RETURNING tenant_id, id)
INSERT INTO mirrord.event_claim (tenant_id, event_id, entry_id, path) SELECT tenant_id, id, %s, %s FROM fresh"""


async def add_file_events(
    connection: Connection, tenant: TenantId, events: Sequence[Event], is_claim: Callable[[Event], bool]
) -> None:
    """
    Add events from files; an event already stored stays unchanged.

    is_claim: whether the event replaces the one derived from the change of its row.
    """
    plain = [_values(tenant, event) for event in events if not is_claim(event)]
    claims = [(*_values(tenant, event), _entry(event), _path(event)) for event in events if is_claim(event)]
    async with connection.cursor() as cursor:
        for statement, rows in ((_INSERT, plain), (_INSERT_CLAIM, claims)):
            if rows:
                await cursor.executemany(statement.encode(), rows)


def _values(tenant: TenantId, event: Event) -> tuple[object, ...]:
    actor = Jsonb({"kind": event.actor.kind, "name": event.actor.name})
    return tenant, event.event_id, event.type, event.occurred_at, actor, Jsonb(dict(event.data))


def _entry(event: Event) -> EntryId | None:
    entry_id = event.data.get("record_id") or event.data.get("page_id")
    return parse_id(entry_id) if isinstance(entry_id, str) else None


def _path(event: Event) -> str | None:
    path = event.data.get("old_path") or event.data.get("path")
    return path if isinstance(path, str) else None


async def name_authors(connection: Connection, events: Collection[UUID]) -> set[UUID]:
    """Set the authors of versions and pages from *events*. Returns the events whose version exists."""
    named: set[UUID] = set()
    for event in events:
        row = await (await connection.execute("SELECT mirrord.name_author(%s)", (event,))).fetchone()
        if row is not None and row[0]:
            named.add(event)
    return named
