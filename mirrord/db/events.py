"""Domain events as rows."""

import re
from collections.abc import Sequence

from psycopg.types.json import Jsonb

from mirrord.db.connect import Connection
from mirrord.domain.attribution import Told
from mirrord.domain.entry import Digest, EntryId, TenantId
from mirrord.domain.event import Event, Type

_TELLING = [
    *(Type.PAGE_CREATED, Type.PAGE_WRITTEN, Type.PAGE_MOVED, Type.PAGE_RESTORED),
    *(Type.FOLDER_CREATED, Type.FOLDER_RENAMED, Type.SOURCE_RENAMED, Type.SOURCE_MOVED),
]
_HEX = re.compile("[0-9a-f]{64}")  # apps may write what they like
_INSERT = """
INSERT INTO mirrord.event (tenant_id, id, type, occurred_at, actor, channel, data)
VALUES (%s, %s, %s, %s, %s, 'file', %s) ON CONFLICT (tenant_id, id) DO NOTHING"""


async def add_from_file(connection: Connection, tenant: TenantId, events: Sequence[Event]) -> None:
    """Add what files tell of; an event that is known already stays as it is."""
    rows = [(tenant, one.event_id, one.type, one.occurred_at, _actor(one), Jsonb(dict(one.data))) for one in events]
    async with connection.cursor() as cursor:
        await cursor.executemany(_INSERT, rows)


async def told_of(connection: Connection, tenant: TenantId, page: EntryId) -> list[Told]:
    """Who left which text of a page, as far as events tell."""
    cursor = await connection.execute(
        "SELECT data ->> 'digest', occurred_at, actor FROM mirrord.event "
        "WHERE tenant_id = %s AND data ->> 'page_id' = %s AND data ? 'digest' AND type = ANY (%s)",
        (tenant, str(page), _TELLING),
    )
    return [
        Told(Digest(bytes.fromhex(digest)), at, actor)
        for digest, at, actor in await cursor.fetchall()
        if _HEX.fullmatch(digest)
    ]


def _actor(event: Event) -> Jsonb:
    return Jsonb({"kind": event.actor.kind, "name": event.actor.name})
