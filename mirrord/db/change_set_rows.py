"""Change sets as rows, and the authors that events of commands give to versions."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from mirrord.db.database import Connection
from mirrord.domain.entry import TenantId, parse_id
from mirrord.domain.event import Event, EventType

CHANGE_SET = "change_set"  # in the data of events

_ADD = """
INSERT INTO mirrord.change_set (tenant_id, id, kind, title, message, actor, client, started_at, applied_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (tenant_id, id) DO UPDATE SET kind = EXCLUDED.kind, title = EXCLUDED.title, message = EXCLUDED.message,
    applied_at = EXCLUDED.applied_at
 WHERE change_set.actor = EXCLUDED.actor AND change_set.applied_at IS NULL AND EXCLUDED.applied_at IS NOT NULL"""
# Events of commands whose version may have arrived while no daemon ran; one that is named already is not asked again.
_UNNAMED = """
SELECT told.id FROM mirrord.event AS told
 WHERE told.tenant_id = %(tenant)s AND told.channel = 'file' AND told.data ? 'page_id'
   AND told.occurred_at > clock_timestamp() - interval '10 minutes' AND NOT EXISTS (
    SELECT FROM mirrord.page_revision AS version
     WHERE version.tenant_id = told.tenant_id AND version.page_id::text = told.data ->> 'page_id'
       AND version.actor @> told.actor AND version.created_at > told.occurred_at - interval '5 s')
 ORDER BY told.occurred_at DESC LIMIT 500"""


async def add_change_sets(connection: Connection, tenant: TenantId, events: Iterable[Event]) -> None:
    """Add the change sets that events from files name; one already stored learns only that it was applied."""
    rows = [row for event in events if (row := _values(tenant, event)) is not None]
    first_rows = {(row[1], row[8]): row for row in reversed(rows)}
    if first_rows:
        async with connection.cursor() as cursor:
            await cursor.executemany(_ADD, list(first_rows.values()))


def _values(tenant: TenantId, event: Event) -> tuple[object, ...] | None:
    """The row of the change set that *event* names; None: it names none."""
    change_set, client = event.data.get(CHANGE_SET), _text_or_none(event.data.get("client"))
    if not isinstance(change_set, str) or (key := parse_id(change_set)) is None:
        return None
    actor = Jsonb({"kind": event.actor.kind, "name": event.actor.name})
    if event.type == EventType.CHANGES_APPLIED:
        title, message = _text_or_none(event.data.get("title")), _text_or_none(event.data.get("message"))
        title = title or _title_of(event.actor.name, event.occurred_at)
        return tenant, key, "draft", title, message, actor, client, event.occurred_at, event.occurred_at
    title = _title_of(client or event.actor.name, event.occurred_at)
    return tenant, key, "connection", title, None, actor, client, event.occurred_at, None


def _title_of(author: str, moment: datetime) -> str:
    return f"{author}, {moment.astimezone():%Y-%m-%d %H:%M}"


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


async def name_authors(connection: Connection, events: Collection[UUID]) -> set[UUID]:
    """Set authors and change sets of versions from *events*. Returns the events whose version exists."""
    query = "SELECT told FROM unnest(%s::uuid[]) AS told WHERE mirrord.name_author(told)"
    return {event for (event,) in await (await connection.execute(query, (list(events),))).fetchall()}


async def load_unnamed(connection: Connection, tenant: TenantId) -> Sequence[UUID]:
    """The last events of commands that have named no version yet, the earliest first."""
    rows = await (await connection.execute(_UNNAMED, {"tenant": tenant})).fetchall()
    return [event for (event,) in reversed(rows)]
