"""What changed in a tenant since somebody looked, by the feed's cursor."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mirrord.db.connect import Connection
from mirrord.domain.entry import EntryId
from mirrord.web.rows.pages import BY, ON_DISK

BATCH = 200  # entries read at once
_CHANGED = f"""
SELECT f.seq, f.entry_id, p.version, {BY}, {ON_DISK},
       (p.parent_id, p.name, p.title, p.icon, p.position, p.kind, p.deleted_at IS NULL)::text
  FROM (SELECT seq, entry_id FROM mirrord.entry_feed
         WHERE tenant_id = mirrord.current_tenant() AND kind = 'page' AND (seq, entry_id) > (%s, %s::uuid)
         ORDER BY seq, entry_id LIMIT {BATCH}) AS f
  LEFT JOIN mirrord.page AS p ON p.tenant_id = mirrord.current_tenant() AND p.id = f.entry_id
 ORDER BY f.seq, f.entry_id"""
_DISK = f"""
SELECT p.id FROM mirrord.page AS p
 WHERE p.tenant_id = mirrord.current_tenant() AND p.id = ANY (%s) AND {ON_DISK}"""
_LAST = UUID(int=(1 << 128) - 1)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Up to where the feed was read: all that changed before *seq*, and at *seq* the entries up to *entry*."""

    seq: int
    entry: UUID = _LAST


@dataclass(frozen=True, slots=True)
class Change:
    """
    A page as it is after its last change. seq: the feed's of that change.

    by: {kind, name, channel}. standing: all that the sidebar shows of it, as a text that is only compared.
    """

    seq: int
    id: EntryId
    version: int
    by: dict[str, Any] | None
    on_disk: bool
    standing: str


async def newest(connection: Connection) -> Cursor:
    """The cursor of now."""
    row = await (
        await connection.execute("SELECT seq FROM mirrord.tenant_clock WHERE tenant_id = mirrord.current_tenant()")
    ).fetchone()
    return Cursor(int(row[0]) if row else 0)


async def changed(connection: Connection, cursor: Cursor) -> tuple[list[Change], Cursor]:
    """The next pages that changed, in order, and the cursor behind them, which is the same when that was all."""
    rows = await (await connection.execute(_CHANGED, (cursor.seq, cursor.entry))).fetchall()
    behind = Cursor(rows[-1][0], rows[-1][1]) if rows else cursor
    return [Change(*row) for row in rows if row[2] is not None], behind  # purged pages have a line in the feed, too


async def on_disk(connection: Connection, pages: Iterable[UUID]) -> set[EntryId]:
    """Those of *pages* that are on disk now."""
    return {EntryId(row[0]) for row in await (await connection.execute(_DISK, (list(pages),))).fetchall()}
