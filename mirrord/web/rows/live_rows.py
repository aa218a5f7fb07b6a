"""Rows that the console follows live: the newest changes, and the mirror's state."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from mirrord.db.database import Connection, set_tenant
from mirrord.domain.entry import EntryId, TenantId
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


_MIRRORS = """
SELECT m.id, m.kind, m.host, m.root, m.holder, m.expires_at > clock_timestamp(), m.expires_at,
       (SELECT count(*) FROM mirrord.entry_feed AS f WHERE f.tenant_id = m.tenant_id AND f.seq > m.ack_seq),
       CASE WHEN m.expires_at > clock_timestamp() THEN m.state END,
       (SELECT coalesce(sum(cardinality(h.entries)), 0) FROM mirrord.halt AS h
         WHERE h.tenant_id = m.tenant_id AND h.mirror_id = m.id AND h.closed_at IS NULL),
       (SELECT count(DISTINCT t.path) FROM mirrord.problem AS t
         WHERE t.tenant_id = m.tenant_id AND t.mirror_id = m.id AND t.path <> ''),
       (SELECT t.sentence FROM mirrord.problem AS t
         WHERE t.tenant_id = m.tenant_id AND t.mirror_id = m.id AND t.path = '' AND t.code = 'root')
  FROM mirrord.mirror AS m WHERE m.tenant_id = mirrord.current_tenant() ORDER BY m.expires_at DESC LIMIT 20"""
_STANDING = """
SELECT string_agg(m.id::text || (m.expires_at > clock_timestamp()) || m.ack_seq || coalesce(m.state::text, ''), ' '
                  ORDER BY m.id)
  FROM mirrord.mirror AS m WHERE m.tenant_id = mirrord.current_tenant()"""
_STATE = """
SELECT CASE WHEN count(*) = 0 THEN 'inactive'
            WHEN bool_or(EXISTS (SELECT FROM mirrord.problem AS t WHERE t.tenant_id = m.tenant_id
                                    AND t.mirror_id = m.id AND t.path = '' AND t.code = 'root')) THEN 'stopped'
            WHEN bool_or(m.state IS NULL OR (m.state ->> 'waits')::bigint > 0 OR m.state -> 'work' <> '[]'
                         OR EXISTS (SELECT FROM mirrord.entry_feed AS f
                                     WHERE f.tenant_id = m.tenant_id AND f.seq > m.ack_seq)) THEN 'at_work'
            ELSE 'in_sync' END
  FROM mirrord.mirror AS m WHERE m.tenant_id = mirrord.current_tenant() AND m.expires_at > clock_timestamp()"""
_EVENTS = """
SELECT type, occurred_at, actor, channel,
       coalesce(data ->> 'path', data ->> 'name', data ->> 'title', replace(data ->> 'command', '_', ' '), ''),
       data ->> 'page_id', CASE WHEN type = 'ChangesApplied' THEN data ->> 'change_set' END
  FROM mirrord.event
 WHERE tenant_id = mirrord.current_tenant() AND (%(all)s OR NOT starts_with(type, 'Approval'))
 ORDER BY occurred_at DESC LIMIT 50"""


@dataclass(frozen=True, slots=True)
class Mirror:
    """
    A mirror. root: of its tree on that host. is_held: a daemon holds its lease. until: the end of its lease.

    behind: the number of entries changed since its last acknowledgement. state: of its daemon, as described in
    docs/rows.md; None: no daemon is running, or it has not reported yet. halted: the number of entries that wait for a
    decision about their deletion. problems: the number of paths that are listed as problems. stopped: why nothing is
    synced, such as a pause; None: something is.
    """

    id: UUID
    kind: str
    host: str | None
    root: str | None
    holder: str | None
    is_held: bool
    until: datetime
    behind: int
    state: dict[str, Any] | None
    halted: int
    problems: int
    stopped: str | None


@dataclass(frozen=True, slots=True)
class RecentEvent:
    """A domain event. what: its path or name. page, change_set: that it is about, if it is about one."""

    type: str
    at: datetime
    by: dict[str, Any]
    channel: str
    what: str
    page: str | None
    change_set: str | None


async def load_mirrors(connection: Connection) -> list[Mirror]:
    """The mirrors of the tenant, active ones first."""
    return [Mirror(*row) for row in await (await connection.execute(_MIRRORS)).fetchall()]


async def load_mirrors_state(connection: Connection) -> str:
    """The state of all mirrors, as a text for comparisons only."""
    row = await (await connection.execute(_STANDING)).fetchone()
    return str(row[0]) if row else ""


async def load_state_of_each(connection: Connection, tenants: Sequence[TenantId]) -> list[str]:
    """
    How far files and rows of several tenants agree, in their order: `in_sync`, `at_work`, `stopped`, or `inactive`
    where no daemon is.

    connection: in a transaction, of a role that may choose its tenant; its tenant is the last of them afterwards.
    """
    cursors = []
    for tenant in tenants:
        await set_tenant(connection, tenant)
        cursors.append(await connection.execute(_STATE))
    return [row[0] for cursor in cursors if (row := await cursor.fetchone()) is not None]


async def load_recent_events(connection: Connection, *, with_requests: bool) -> list[RecentEvent]:
    """Recent domain events, the newest first. with_requests: also those of requests and of decisions about them."""
    return [RecentEvent(*row) for row in await (await connection.execute(_EVENTS, {"all": with_requests})).fetchall()]
