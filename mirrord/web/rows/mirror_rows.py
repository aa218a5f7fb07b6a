"""The mirrors of a tenant and their latest activity."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from mirrord.db.database import Connection

_MIRRORS = """
SELECT m.id, m.kind, m.host, m.root, m.holder, m.expires_at > clock_timestamp(), m.expires_at,
       (SELECT count(*) FROM mirrord.entry_feed AS f WHERE f.tenant_id = m.tenant_id AND f.seq > m.ack_seq),
       CASE WHEN m.expires_at > clock_timestamp() THEN m.state END
  FROM mirrord.mirror AS m WHERE m.tenant_id = mirrord.current_tenant() ORDER BY m.expires_at DESC LIMIT 20"""
_STANDING = """
SELECT string_agg(m.id::text || (m.expires_at > clock_timestamp()) || m.ack_seq || coalesce(m.state::text, ''), ' '
                  ORDER BY m.id)
  FROM mirrord.mirror AS m WHERE m.tenant_id = mirrord.current_tenant()"""
_EVENTS = """
SELECT type, occurred_at, actor, channel, coalesce(data ->> 'path', data ->> 'name', data ->> 'command', '')
  FROM mirrord.event WHERE tenant_id = mirrord.current_tenant() ORDER BY occurred_at DESC LIMIT 50"""


@dataclass(frozen=True, slots=True)
class Mirror:
    """
    A mirror. root: of its tree on that host. is_held: a daemon holds its lease. until: the end of its lease.

    behind: the number of entries changed since its last acknowledgement. state: of its daemon, as described in
    docs/rows.md; None: no daemon is running, or it has not reported yet.
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


@dataclass(frozen=True, slots=True)
class RecentEvent:
    """A domain event. what: its path or name."""

    type: str
    at: datetime
    by: dict[str, Any]
    channel: str
    what: str


async def load_mirrors(connection: Connection) -> list[Mirror]:
    """The mirrors of the tenant, active ones first."""
    return [Mirror(*row) for row in await (await connection.execute(_MIRRORS)).fetchall()]


async def load_mirrors_state(connection: Connection) -> str:
    """The state of all mirrors, as a text for comparisons only."""
    row = await (await connection.execute(_STANDING)).fetchone()
    return str(row[0]) if row else ""


async def load_recent_events(connection: Connection) -> list[RecentEvent]:
    """Recent domain events, the newest first."""
    return [RecentEvent(*row) for row in await (await connection.execute(_EVENTS)).fetchall()]
