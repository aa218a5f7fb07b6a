"""Changes in a tenant since a cursor of the feed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId
from mirrord.web.rows.page_rows import BY_SQL, ON_DISK_SQL

BATCH_ENTRIES = 200  # entries per read
_CHANGED = f"""
SELECT f.seq, f.entry_id, p.version, {BY_SQL}, {ON_DISK_SQL},
       (p.parent_id, p.name, p.title, p.icon, p.position, p.kind, p.deleted_at IS NULL)::text
  FROM (SELECT seq, entry_id FROM mirrord.entry_feed
         WHERE tenant_id = mirrord.current_tenant() AND kind = 'page' AND (seq, entry_id) > (%s, %s::uuid)
         ORDER BY seq, entry_id LIMIT {BATCH_ENTRIES}) AS f
  LEFT JOIN mirrord.page AS p ON p.tenant_id = mirrord.current_tenant() AND p.id = f.entry_id
 ORDER BY f.seq, f.entry_id"""
_PAGES_ON_DISK = f"""
SELECT p.id FROM mirrord.page AS p
 WHERE p.tenant_id = mirrord.current_tenant() AND p.id = ANY (%s) AND {ON_DISK_SQL}"""
_MAX_ENTRY = UUID(int=(1 << 128) - 1)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A position in the feed: after all changes before *seq*, and after the entries up to *entry* at *seq*."""

    seq: int
    entry: UUID = _MAX_ENTRY


@dataclass(frozen=True, slots=True)
class Change:
    """
    A page after its last change. seq: of that change in the feed.

    by: {kind, name, channel}. sidebar_state: the page's state in the sidebar, as a text for comparisons only.
    """

    seq: int
    id: EntryId
    version: int
    by: dict[str, Any] | None
    on_disk: bool
    sidebar_state: str


async def load_newest_cursor(connection: Connection) -> Cursor:
    """The current end of the feed."""
    row = await (
        await connection.execute("SELECT seq FROM mirrord.tenant_clock WHERE tenant_id = mirrord.current_tenant()")
    ).fetchone()
    return Cursor(int(row[0]) if row else 0)


async def load_changes(connection: Connection, cursor: Cursor) -> tuple[list[Change], Cursor]:
    """The next changed pages, in order, and the cursor after them; an unchanged cursor means the end."""
    rows = await (await connection.execute(_CHANGED, (cursor.seq, cursor.entry))).fetchall()
    next_cursor = Cursor(rows[-1][0], rows[-1][1]) if rows else cursor
    return [Change(*row) for row in rows if row[2] is not None], next_cursor  # purged pages have a row in the feed, too


async def load_pages_on_disk(connection: Connection, pages: Iterable[UUID]) -> set[EntryId]:
    """The pages among *pages* that are on disk."""
    return {EntryId(row[0]) for row in await (await connection.execute(_PAGES_ON_DISK, (list(pages),))).fetchall()}
