"""Losses that wait in a halt, the commands that caused them, and the part of a halt that an undo takes back."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from mirrord.db.database import Connection
from mirrord.domain.entry import EMPTY_DIGEST, Actor, EntryId, Kind, TenantId

UNDONE = "undone"  # the reason of a halt about what an undo takes out of another one
PENDING_SECONDS = 30  # seconds after which a deletion that reached neither rows nor a halt is none any more

_WAITING = """
WITH waiting AS (
    SELECT halt.id AS halt, halt.side, halt.decision, lost.id
      FROM mirrord.halt CROSS JOIN LATERAL unnest(halt.entries) AS lost (id)
     WHERE halt.tenant_id = %(tenant)s AND halt.closed_at IS NULL AND halt.side IN ('file', 'emptied'))
SELECT halt, side, decision, entry.id, entry.kind, entry.version, entry.parent_id, entry.name
  FROM waiting JOIN mirrord.page AS entry ON entry.tenant_id = %(tenant)s AND entry.id = waiting.id
 WHERE entry.deleted_at IS NULL
UNION ALL
SELECT halt, side, decision, entry.id, 'attachment', entry.version, entry.parent_id, entry.name
  FROM waiting JOIN mirrord.attachment AS entry ON entry.tenant_id = %(tenant)s AND entry.id = waiting.id
 WHERE entry.deleted_at IS NULL
UNION ALL
SELECT halt, side, decision, entry.id, 'record', entry.version, NULL, entry.kind || '/' || entry.key
  FROM waiting JOIN mirrord.record AS entry ON entry.tenant_id = %(tenant)s AND entry.id = waiting.id
 WHERE entry.deleted_at IS NULL
 ORDER BY 1, 4"""
_LAST_OF_PAGES = """
SELECT DISTINCT ON (told.data ->> 'page_id') told.data ->> 'page_id', told.occurred_at, told.actor,
       told.data ->> 'change_set'
  FROM mirrord.event AS told
 WHERE told.tenant_id = %(tenant)s AND told.data ->> 'page_id' = ANY (%(entries)s) AND {}
 ORDER BY told.data ->> 'page_id', told.occurred_at DESC"""
_DELETIONS = _LAST_OF_PAGES.format("told.type LIKE '%%Deleted'")
_EMPTYINGS = _LAST_OF_PAGES.format("told.data ->> 'digest' = %(empty)s")
_REMOVALS = _LAST_OF_PAGES.replace("page_id", "record_id").format("told.type LIKE '%%Removed'")
# What tells that an entry came back after a loss.
_RETURNS = """
SELECT told.data ->> 'page_id', max(told.occurred_at) FROM mirrord.event AS told
 WHERE told.tenant_id = %(tenant)s AND told.occurred_at > %(since)s AND told.data ->> 'page_id' = ANY (%(entries)s)
   AND told.type IN ('PageRestored', 'PageCreated', 'PageWritten', 'PageMoved')
   AND told.data ->> 'digest' IS DISTINCT FROM %(empty)s
 GROUP BY 1
UNION ALL
SELECT lost.id::text, max(halt.closed_at) FROM mirrord.halt CROSS JOIN LATERAL unnest(halt.entries) AS lost (id)
 WHERE halt.tenant_id = %(tenant)s AND halt.closed_at > %(since)s AND lost.id::text = ANY (%(entries)s)
 GROUP BY 1"""
_PENDING = """
SELECT DISTINCT ON (page.id) page.id, page.kind, page.name, told.occurred_at, told.actor, told.data ->> 'change_set'
  FROM mirrord.event AS told
  JOIN mirrord.page AS page
    ON page.tenant_id = %(tenant)s
   AND page.id = CASE WHEN told.data ->> 'page_id' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                      THEN (told.data ->> 'page_id')::uuid END
 WHERE told.tenant_id = %(tenant)s AND told.type LIKE '%%Deleted' AND page.deleted_at IS NULL
   AND told.occurred_at > clock_timestamp() - make_interval(secs => %(seconds)s)
   AND NOT EXISTS (
    SELECT FROM mirrord.page_revision AS version
     WHERE version.tenant_id = %(tenant)s AND version.page_id = page.id
       AND version.created_at > told.occurred_at - interval '5 s'
       AND (version.deleted OR page.kind = 'folder' AND version.version = page.version))
 ORDER BY page.id, told.occurred_at DESC"""  # a page lives on as a folder where attachments below keep it
_LOCK = """
SELECT mirror_id, side, entries FROM mirrord.halt
 WHERE tenant_id = %s AND id = %s AND closed_at IS NULL AND decision IS NULL FOR UPDATE"""
_DISCARD = """
UPDATE mirrord.halt SET decision = 'discard', decided_at = statement_timestamp(), decided_by = %s
 WHERE tenant_id = %s AND id = %s"""
_SHORTEN = "UPDATE mirrord.halt SET entries = %s, sentence = sentence || %s WHERE tenant_id = %s AND id = %s"
_ADD_DISCARDED = """
INSERT INTO mirrord.halt (tenant_id, mirror_id, reason, side, sentence, entries, decision, decided_at, decided_by)
VALUES (%s, %s, %s, %s, %s, %s, 'discard', statement_timestamp(), %s)"""


@dataclass(frozen=True, slots=True)
class WaitingLoss:
    """
    An entry that a halt is about, and that lives in rows.

    side: as in Halt: its file is gone, or was emptied. decision: of a person, about the halt. version, parent, name: of
    the row; name of a record: `kind/key`.
    """

    halt: int
    side: str
    decision: str | None
    entry: EntryId
    kind: Kind
    version: int
    parent: EntryId | None
    name: str


@dataclass(frozen=True, slots=True)
class LossEvent:
    """The last event of a command that deleted or emptied an entry. change_set: as the event names it."""

    occurred_at: datetime
    actor: Mapping[str, Any]
    change_set: str | None


@dataclass(frozen=True, slots=True)
class PendingDeletion:
    """A page that a command deleted, and that lives in rows."""

    kind: Kind
    name: str
    event: LossEvent


async def load_waiting(connection: Connection, tenant: TenantId) -> list[WaitingLoss]:
    """The losses in open halts of which files are the cause."""
    rows = await (await connection.execute(_WAITING.encode(), {"tenant": tenant})).fetchall()
    return [
        WaitingLoss(halt, side, decision, EntryId(entry), Kind(kind), version, parent, name or "")
        for halt, side, decision, entry, kind, version, parent, name in rows
    ]


async def load_loss_events(
    connection: Connection, tenant: TenantId, losses: Iterable[WaitingLoss]
) -> dict[EntryId, LossEvent]:
    """Of *losses* the event that caused each, unless the entry came back after it."""
    entries: dict[str, set[str]] = {}
    for loss in losses:
        statement = _EMPTYINGS if loss.side == "emptied" else _REMOVALS if loss.kind is Kind.RECORD else _DELETIONS
        entries.setdefault(statement, set()).add(str(loss.entry))
    events: dict[EntryId, LossEvent] = {}
    for statement, ids in entries.items():
        values = {"tenant": tenant, "entries": list(ids), "empty": EMPTY_DIGEST.hex()}
        for entry, *event in await (await connection.execute(statement.encode(), values)).fetchall():
            events[EntryId(UUID(entry))] = LossEvent(*event)
    returns = await _load_returns(connection, tenant, events)
    return {
        entry: event for entry, event in events.items() if entry not in returns or event.occurred_at > returns[entry]
    }


async def _load_returns(
    connection: Connection, tenant: TenantId, events: Mapping[EntryId, LossEvent]
) -> dict[EntryId, datetime]:
    """When entries came back last, as far as that was after one of *events*."""
    if not events:
        return {}
    since = min(event.occurred_at for event in events.values())
    values = {"tenant": tenant, "since": since, "entries": list(map(str, events)), "empty": EMPTY_DIGEST.hex()}
    returns: dict[EntryId, datetime] = {}
    for entry, moment in await (await connection.execute(_RETURNS.encode(), values)).fetchall():
        returned = EntryId(UUID(entry))
        returns[returned] = max(moment, returns.get(returned, moment))
    return returns


async def load_pending(connection: Connection, tenant: TenantId) -> dict[EntryId, PendingDeletion]:
    """Pages that commands deleted just now, and that live in rows: the deletions are on their way, or were weighed."""
    rows = await connection.execute(_PENDING.encode(), {"tenant": tenant, "seconds": PENDING_SECONDS})
    pending = {
        EntryId(entry): PendingDeletion(Kind(kind), name or "", LossEvent(*event))
        for entry, kind, name, *event in await rows.fetchall()
    }
    returns = await _load_returns(connection, tenant, {entry: each.event for entry, each in pending.items()})
    return {
        entry: each
        for entry, each in pending.items()
        if entry not in returns or each.event.occurred_at > returns[entry]
    }


async def take_from_halt(
    connection: Connection, tenant: TenantId, halt: int, entries: Collection[EntryId], actor: Actor
) -> bool:
    """
    Take *entries* out of a halt, as discarded ones: the daemon brings their files back. A halt without further entries
    is discarded itself. False: it is decided or closed by now, or is not about all of them.
    """
    row = await (await connection.execute(_LOCK, (tenant, halt))).fetchone()
    if row is None or not set(entries) <= set(row[2]):
        return False
    mirror, side, listed = row
    decider = Jsonb({"kind": actor.kind, "name": actor.name})
    remaining = [entry for entry in listed if entry not in entries]
    if not remaining:
        await connection.execute(_DISCARD, (decider, tenant, halt))
        return True
    note = f" {_taken_back(len(entries))}; {len(remaining)} still {'waits' if len(remaining) == 1 else 'wait'}."
    await connection.execute(_SHORTEN, (remaining, note, tenant, halt))
    sentence = f"{_taken_back(len(entries))}."
    await connection.execute(_ADD_DISCARDED, (tenant, mirror, UNDONE, side, sentence, list(entries), decider))
    return True


def _taken_back(count: int) -> str:
    return f"{count} {'was' if count == 1 else 'were'} taken back by an undo"
