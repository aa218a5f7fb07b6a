"""Domain events as rows, and events of commands whose change has not arrived."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from mirrord.db.change_notes import ChangeNote
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, TenantId, parse_id
from mirrord.domain.event import Event

_CLAIM_LIFETIME = "7 days"  # wait of an event for its change; a deletion may wait for a person


@dataclass(frozen=True, slots=True)
class CommandEvent:
    """An event of a command, as stored at intake. path: the previous or current path of its file."""

    entry: EntryId | None
    path: str | None
    event: UUID
    type: str
    data: Mapping[str, Any]


_CLAIMED = """
SELECT c.entry_id, c.path, e.id, e.type, e.data FROM mirrord.event_claim AS c
  JOIN mirrord.event AS e ON e.tenant_id = %(tenant)s AND e.id = c.event_id
 WHERE c.tenant_id = %(tenant)s AND (c.entry_id = ANY (%(ids)s) OR c.path = ANY (%(paths)s) AND NOT EXISTS (
    SELECT FROM mirrord.page AS p WHERE p.tenant_id = %(tenant)s AND p.id = c.entry_id))
 ORDER BY e.occurred_at, e.id"""
_INSERT = """
INSERT INTO mirrord.event (tenant_id, id, type, occurred_at, actor, channel, data)
VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (tenant_id, id) DO NOTHING"""
_DELETE_CHANGES = """
DELETE FROM mirrord.event_outbox AS o
 USING unnest(%s::uuid[], %s::bigint[], %s::uuid[]) AS given (entry, version, child)
 WHERE o.tenant_id = %s AND o.entry_id = given.entry AND o.version = given.version AND o.child = given.child"""


async def load_command_events(
    connection: Connection, tenant: TenantId, ids: Collection[EntryId], paths: Collection[str]
) -> list[CommandEvent]:
    """Events of commands about these entries or paths, in order of occurrence."""
    rows = await connection.execute(_CLAIMED, {"tenant": tenant, "ids": list(ids), "paths": list(paths)})
    return [CommandEvent(*row) for row in await rows.fetchall()]


async def add_events(connection: Connection, tenant: TenantId, events: Sequence[tuple[Event, str]]) -> None:
    """Add events with their channels; an event already stored stays unchanged."""
    rows = [
        (
            tenant,
            event.event_id,
            event.type,
            event.occurred_at,
            Jsonb(asdict(event.actor)),
            channel,
            Jsonb(dict(event.data)),
        )
        for event, channel in events
    ]
    if rows:
        async with connection.cursor() as cursor:
            await cursor.executemany(_INSERT, rows)


async def finish_changes(
    connection: Connection, tenant: TenantId, notes: Sequence[ChangeNote], claims: Sequence[UUID]
) -> None:
    """Delete processed changes (*notes*), and claims matched to a change or expired."""
    if notes:
        columns = [list(column) for column in zip(*(note.key for note in notes), strict=True)]
        await connection.execute(_DELETE_CHANGES, (*columns, tenant))
    await connection.execute(
        "DELETE FROM mirrord.event_claim WHERE tenant_id = %s "
        f"AND (event_id = ANY (%s) OR taken_at < now() - interval '{_CLAIM_LIFETIME}')".encode(),
        (tenant, list(claims)),
    )


_STORED = "SELECT id FROM mirrord.event WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)s)"


_INSERT_FROM_FILE = """
INSERT INTO mirrord.event (tenant_id, id, type, occurred_at, actor, channel, data)
VALUES (%s, %s, %s, %s, %s, 'file', %s) ON CONFLICT (tenant_id, id) DO NOTHING"""


# Before its event, which shows whether it was claimed already.
_INSERT_CLAIM = """
INSERT INTO mirrord.event_claim (tenant_id, event_id, entry_id, path)
SELECT clock.tenant_id, %(event)s::uuid, %(entry)s::uuid, %(path)s::text FROM mirrord.tenant_clock AS clock
 WHERE clock.tenant_id = %(tenant)s
   AND NOT EXISTS (SELECT FROM mirrord.event WHERE tenant_id = %(tenant)s AND id = %(event)s)
    ON CONFLICT DO NOTHING"""


async def add_file_events(
    connection: Connection, tenant: TenantId, events: Sequence[Event], is_claim: Callable[[Event], bool]
) -> None:
    """
    Add events from files; an event already stored stays unchanged.

    is_claim: whether the event replaces the one derived from the change of its row.
    """
    claims = [
        {"tenant": tenant, "event": event.event_id, "entry": _claimed_entry(event), "path": _claimed_path(event)}
        for event in events
        if is_claim(event)
    ]
    async with connection.cursor() as cursor:
        if claims:
            await cursor.executemany(_INSERT_CLAIM, claims)
        if events:
            await cursor.executemany(_INSERT_FROM_FILE, [_file_event_values(tenant, event) for event in events])


async def load_stored_events(connection: Connection, tenant: TenantId, events: Sequence[Event]) -> set[UUID]:
    """The ids of those *events* that are rows already."""
    rows = await connection.execute(_STORED, {"tenant": tenant, "ids": [event.event_id for event in events]})
    return {event for (event,) in await rows.fetchall()}


def _file_event_values(tenant: TenantId, event: Event) -> tuple[object, ...]:
    actor = Jsonb({"kind": event.actor.kind, "name": event.actor.name})
    return tenant, event.event_id, event.type, event.occurred_at, actor, Jsonb(dict(event.data))


def _claimed_entry(event: Event) -> EntryId | None:
    entry_id = event.data.get("record_id") or event.data.get("page_id")
    return parse_id(entry_id) if isinstance(entry_id, str) else None


def _claimed_path(event: Event) -> str | None:
    path = event.data.get("old_path") or event.data.get("path")
    return path if isinstance(path, str) else None
