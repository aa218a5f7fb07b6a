"""Overview of a tenant: counts, and all live rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mirrord.db.connect import Connection, set_tenant
from mirrord.domain.entry import TenantId
from mirrord.domain.measures import Waiting


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of one tenant. seq: of the change feed."""

    pages: int
    attachments: int
    records: int
    conflicts: int
    problems: int
    halts: int
    seq: int


async def load_counts(connection: Connection, tenant: TenantId) -> Counts:
    """Count the entries and open issues of a tenant."""
    cursor = await connection.execute(
        "SELECT (SELECT count(*) FROM mirrord.page WHERE tenant_id = %(t)s AND deleted_at IS NULL AND kind = 'page'), "
        "(SELECT count(*) FROM mirrord.attachment WHERE tenant_id = %(t)s AND deleted_at IS NULL), "
        "(SELECT count(*) FROM mirrord.record WHERE tenant_id = %(t)s AND deleted_at IS NULL), "
        "(SELECT count(*) FROM mirrord.conflict WHERE tenant_id = %(t)s AND resolved_at IS NULL), "
        "(SELECT count(*) FROM mirrord.problem WHERE tenant_id = %(t)s), "
        "(SELECT count(*) FROM mirrord.halt WHERE tenant_id = %(t)s AND closed_at IS NULL), "
        "(SELECT seq FROM mirrord.tenant_clock WHERE tenant_id = %(t)s)",
        {"t": tenant},
    )
    row = await cursor.fetchone()
    assert row is not None
    return Counts(*row)


_WAITING = (
    "SELECT (SELECT count(*) FROM mirrord.conflict WHERE tenant_id = %(t)s AND resolved_at IS NULL), "
    "(SELECT count(*) FROM mirrord.halt WHERE tenant_id = %(t)s AND closed_at IS NULL), "
    "(SELECT count(*) FROM mirrord.problem WHERE tenant_id = %(t)s), "
    "(SELECT count(*) FROM mirrord.approval WHERE tenant_id = %(t)s AND state = 'pending')"
)


async def count_waiting(connection: Connection, tenant: TenantId) -> Waiting:
    """Count what waits for a person. Reads only short tables, however large the tenant is."""
    row = await (await connection.execute(_WAITING, {"t": tenant})).fetchone()
    assert row is not None
    return Waiting(*row)


async def count_waiting_in_each(connection: Connection, tenants: Sequence[TenantId]) -> list[Waiting]:
    """
    Count the same for several tenants, in their order and in one round trip.

    connection: in a transaction, of a role that may choose its tenant; its tenant is the last of them afterwards.
    """
    cursors = []
    for tenant in tenants:
        await set_tenant(connection, tenant)
        cursors.append(await connection.execute(_WAITING, {"t": tenant}))
    rows = [await cursor.fetchone() for cursor in cursors]
    return [Waiting(*row) for row in rows if row is not None]


async def load_server_version(connection: Connection) -> str:
    """The version of the server for display, such as `18.4`."""
    row = await (await connection.execute("SHOW server_version")).fetchone()
    return str(row[0]).split()[0] if row else ""


async def load_live_rows(connection: Connection, tenant: TenantId) -> list[tuple[Any, ...]]:
    """(entry, kind, parent, name, index, digest, ready) of all live entries. ready: nothing is left to derive."""
    cursor = await connection.execute(
        "SELECT id, kind, parent_id, coalesce(name, ''), index, digest, "
        "name_key IS NOT NULL AND ahead = '{}' AND (digest IS NOT NULL OR kind = 'folder') "
        "FROM mirrord.page WHERE tenant_id = %(t)s AND deleted_at IS NULL UNION ALL "
        "SELECT id, 'attachment', parent_id, name, false, digest, name_key IS NOT NULL "
        "FROM mirrord.attachment WHERE tenant_id = %(t)s AND deleted_at IS NULL UNION ALL "
        "SELECT id, 'record', NULL, kind || '/' || key, false, digest, ahead = '{}' AND digest IS NOT NULL "
        "FROM mirrord.record WHERE tenant_id = %(t)s AND deleted_at IS NULL",
        {"t": tenant},
    )
    return await cursor.fetchall()
