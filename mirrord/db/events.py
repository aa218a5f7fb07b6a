"""Domain events as rows."""

from collections.abc import Collection, Sequence
from uuid import UUID

from psycopg.types.json import Jsonb

from mirrord.db.connect import Connection
from mirrord.domain.entry import TenantId
from mirrord.domain.event import Event

_INSERT = """
INSERT INTO mirrord.event (tenant_id, id, type, occurred_at, actor, channel, data)
VALUES (%s, %s, %s, %s, %s, 'file', %s) ON CONFLICT (tenant_id, id) DO NOTHING"""


async def add_from_file(connection: Connection, tenant: TenantId, events: Sequence[Event]) -> None:
    """Add what files tell of; an event that is known already stays as it is."""
    rows = [(tenant, one.event_id, one.type, one.occurred_at, _actor(one), Jsonb(dict(one.data))) for one in events]
    async with connection.cursor() as cursor:
        await cursor.executemany(_INSERT, rows)


async def name_authors(connection: Connection, events: Collection[UUID]) -> set[UUID]:
    """Name in versions and pages who wrote them, as *events* tell; those whose version is there."""
    found: set[UUID] = set()
    for event in events:
        row = await (await connection.execute("SELECT mirrord.name_author(%s)", (event,))).fetchone()
        if row is not None and row[0]:
            found.add(event)
    return found


def _actor(event: Event) -> Jsonb:
    return Jsonb({"kind": event.actor.kind, "name": event.actor.name})
