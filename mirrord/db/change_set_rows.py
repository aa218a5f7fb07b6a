"""Change sets as rows, and the authors that events of commands give to versions."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from mirrord.db.database import Connection
from mirrord.domain.entry import Actor, TenantId, parse_id
from mirrord.domain.event import Event, EventType
from mirrord.domain.review import title_without_words

CHANGE_SET = "change_set"  # in the data of events
_ENTRY_TABLES = ("page", "attachment", "record")

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
# Events of deletions that wait in a halt, however long, or did until just now.
_HALTED_DELETIONS = """
SELECT told.id FROM mirrord.event AS told
 WHERE told.tenant_id = %(tenant)s AND told.channel = 'file' AND told.type LIKE '%%Deleted'
   AND told.data ->> 'page_id' IN (
    SELECT lost.id::text FROM mirrord.halt CROSS JOIN LATERAL unnest(halt.entries) AS lost (id)
     WHERE halt.tenant_id = %(tenant)s
       AND (halt.closed_at IS NULL OR halt.closed_at > clock_timestamp() - interval '10 minutes'))"""


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
        title = title or title_without_words(None, event.actor.name, event.occurred_at)
        return tenant, key, "draft", title, message, actor, client, event.occurred_at, event.occurred_at
    title = title_without_words(client, event.actor.name, event.occurred_at)
    return tenant, key, "connection", title, None, actor, client, event.occurred_at, None


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


async def name_authors(connection: Connection, tenant: TenantId, events: Collection[UUID]) -> set[UUID]:
    """Set authors and change sets of versions from *events*. Returns the events whose version exists."""
    query = "SELECT told FROM mirrord.name_authors(%s, %s::uuid[]) AS told"
    return {event for (event,) in await (await connection.execute(query, (tenant, list(events)))).fetchall()}


async def load_unnamed(connection: Connection, tenant: TenantId) -> Sequence[UUID]:
    """The last events of commands that have named no version yet, the earliest first."""
    rows = await (await connection.execute(_UNNAMED, {"tenant": tenant})).fetchall()
    return [event for (event,) in reversed(rows)]


async def load_halted_deletions(connection: Connection, tenant: TenantId) -> Sequence[UUID]:
    """The events of deletions that wait for a person, or that a person has just decided about."""
    rows = await (await connection.execute(_HALTED_DELETIONS.encode(), {"tenant": tenant})).fetchall()
    return [event for (event,) in rows]


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """A change set as stored. actor: {kind, name}. outcome: of an undo. undone_by: None unless it was undone."""

    id: UUID
    kind: str
    title: str
    message: str | None
    actor: Mapping[str, str]
    client: str | None
    undoes: UUID | None
    partial: bool
    state: str
    outcome: Mapping[str, Any] | None
    started_at: datetime
    applied_at: datetime | None
    undone_by: UUID | None

    @property
    def shown_state(self) -> str:
        """What became of it, for people and agents: its state, or `undone`."""
        return "undone" if self.undone_by is not None else self.state


@dataclass(frozen=True, slots=True)
class Position:
    """Where a list of change sets, the newest first, goes on; None: at its begin. without: ids that it leaves out."""

    started_at: datetime | None = None
    id: UUID | None = None
    without: tuple[UUID, ...] = ()

    def after(self, change_set: ChangeSet) -> "Position":
        """The position behind *change_set*."""
        return Position(change_set.started_at, change_set.id, self.without)


_COLUMNS = "id, kind, title, message, actor, client, undoes, partial, state, outcome, started_at, applied_at, undone_by"
_SELECT = f"SELECT {_COLUMNS} FROM mirrord.change_set WHERE tenant_id = %(tenant)s"


async def load_change_sets(connection: Connection, tenant: TenantId, limit: int) -> list[ChangeSet]:
    """The newest change sets, the newest first."""
    query = f"{_SELECT} ORDER BY started_at DESC, id LIMIT %(limit)s"
    rows = await connection.execute(query.encode(), {"tenant": tenant, "limit": limit})
    return [ChangeSet(*row) for row in await rows.fetchall()]


async def load_of_actor(
    connection: Connection, tenant: TenantId, actor: Actor, position: Position, limit: int
) -> list[ChangeSet]:
    """The change sets of an actor after a position, the newest first."""
    query = (
        f"{_SELECT} AND actor = %(actor)s AND NOT id = ANY (%(without)s) AND (%(at)s::timestamptz IS NULL "
        "OR (started_at, id) < (%(at)s, %(id)s::uuid)) ORDER BY started_at DESC, id DESC LIMIT %(limit)s"
    )
    values = {"tenant": tenant, "actor": Jsonb({"kind": actor.kind, "name": actor.name}), "limit": limit}
    values |= {"at": position.started_at, "id": position.id, "without": list(position.without)}
    return [ChangeSet(*row) for row in await (await connection.execute(query.encode(), values)).fetchall()]


async def load_undone(
    connection: Connection, tenant: TenantId, actor: Actor, change_sets: Sequence[UUID]
) -> dict[UUID, UUID]:
    """Those of an actor's change sets that were undone, with the undo of each."""
    rows = await connection.execute(
        "SELECT id, undone_by FROM mirrord.change_set "
        "WHERE tenant_id = %s AND id = ANY (%s) AND actor = %s AND undone_by IS NOT NULL",
        (tenant, list(change_sets), Jsonb({"kind": actor.kind, "name": actor.name})),
    )
    return dict(await rows.fetchall())


async def find_change_sets(connection: Connection, tenant: TenantId, beginning: str) -> list[ChangeSet]:
    """The change sets whose id begins with *beginning*, which has no signs of LIKE; at most ten."""
    query = f"{_SELECT} AND id::text LIKE %(beginning)s || '%%' ORDER BY started_at DESC LIMIT 10"
    rows = await connection.execute(query.encode(), {"tenant": tenant, "beginning": beginning})
    return [ChangeSet(*row) for row in await rows.fetchall()]


async def load_requested(connection: Connection, tenant: TenantId) -> list[ChangeSet]:
    """Undos that apps asked for, the earliest first, locked until this transaction ends."""
    query = f"{_SELECT} AND state = 'requested' ORDER BY started_at, id LIMIT 10 FOR UPDATE SKIP LOCKED"
    return [ChangeSet(*row) for row in await (await connection.execute(query.encode(), {"tenant": tenant})).fetchall()]


async def count_entries(connection: Connection, tenant: TenantId, change_sets: Sequence[UUID]) -> dict[UUID, int]:
    """The number of pages, attachments and records that each change set changed."""
    counts: dict[UUID, int] = {}
    for table in _ENTRY_TABLES:
        query = (
            f"SELECT change_set, count(DISTINCT {table}_id) FROM mirrord.{table}_revision "
            "WHERE tenant_id = %s AND change_set = ANY (%s) GROUP BY change_set"
        )
        for change_set, count in await (
            await connection.execute(query.encode(), (tenant, list(change_sets)))
        ).fetchall():
            counts[change_set] = counts.get(change_set, 0) + count
    return counts


async def store_undo(connection: Connection, tenant: TenantId, undo: ChangeSet) -> None:
    """Store an undo that was applied or refused, new or asked for before."""
    await connection.execute(
        "INSERT INTO mirrord.change_set (tenant_id, id, kind, title, actor, undoes, partial, state, outcome, "
        "started_at, applied_at) VALUES (%s, %s, 'undo', %s, %s, %s, %s, %s, %s, %s, %s) "
        "ON CONFLICT (tenant_id, id) DO UPDATE SET state = EXCLUDED.state, outcome = EXCLUDED.outcome, "
        "applied_at = EXCLUDED.applied_at WHERE change_set.state = 'requested'",
        (
            *(tenant, undo.id, undo.title, Jsonb(dict(undo.actor)), undo.undoes, undo.partial, undo.state),
            *(Jsonb(dict(undo.outcome or {})), undo.started_at, undo.applied_at),
        ),
    )


async def mark_undone(connection: Connection, tenant: TenantId, change_set: UUID, undone_by: UUID) -> None:
    """Mark a change set as undone. If it is an undo itself, what it undid counts again."""
    await connection.execute(
        "UPDATE mirrord.change_set SET undone_by = CASE WHEN id = %(change_set)s THEN %(undone_by)s END "
        "WHERE tenant_id = %(tenant)s AND (id = %(change_set)s OR undone_by = %(change_set)s)",
        {"tenant": tenant, "change_set": change_set, "undone_by": undone_by},
    )
