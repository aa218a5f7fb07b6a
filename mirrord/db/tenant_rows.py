"""Tenants: names and ids, and a tenant's counts and living entries."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mirrord.db.database import Connection, Database, set_tenant
from mirrord.domain.entry import TenantId
from mirrord.domain.measures import Waiting
from mirrord.errors import UserError

BATCH_TENANTS = 100  # tenants that are created in one transaction

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def is_tenant_name(name: str) -> bool:
    """Whether *name* is a valid name for a tenant."""
    return _SLUG.fullmatch(name) is not None


async def ensure_tenant(database: Database, name: str) -> TenantId:
    """The tenant called *name*; created if missing. Raises UserError for a name that is not a slug."""
    return (await ensure_tenants(database, [name]))[name]


async def ensure_tenants(database: Database, names: Sequence[str]) -> dict[str, TenantId]:
    """The tenants called *names*, by name; the missing ones are created together. Raises UserError for a bad name."""
    for name in names:
        check_name(name)
    async with database.autocommit() as connection:
        tenants = await _find_with_clocks(connection, names)
    # Two daemons create them in the same order. A cluster changes its list of tenants before anything else.
    missing, batch_size = sorted(set(names) - tenants.keys()), 1 if database.is_cluster else BATCH_TENANTS
    for first in range(0, len(missing), batch_size):
        async with database.connection() as connection:
            tenants |= await _add(connection, missing[first : first + batch_size])
    return {name: tenants[name] for name in names}


async def _find_with_clocks(connection: Connection, names: Sequence[str]) -> dict[str, TenantId]:
    """Those of the tenants that exist with their clocks."""
    cursor = await connection.execute("SELECT name, id FROM mirrord.tenant WHERE name = ANY (%s)", (list(names),))
    tenants: dict[str, TenantId] = dict(await cursor.fetchall())
    cursor = await connection.execute(
        "SELECT tenant_id FROM mirrord.tenant_clock WHERE tenant_id = ANY (%s)", (list(tenants.values()),)
    )
    with_clocks = {tenant for (tenant,) in await cursor.fetchall()}
    return {name: tenant for name, tenant in tenants.items() if tenant in with_clocks}


def check_name(name: str) -> str:
    """Return *name*. Raises UserError if it is not a slug."""
    if not _SLUG.fullmatch(name):
        raise UserError(f"{name!r} cannot be a tenant's name: use a-z, 0-9 and dashes, at most 63 characters.")
    return name


async def load_tenants(database: Database) -> dict[str, TenantId]:
    """All tenants by name, in order."""
    async with database.connection() as connection:
        cursor = await connection.execute("SELECT name, id FROM mirrord.tenant ORDER BY name")
        return {name: TenantId(tenant) for name, tenant in await cursor.fetchall()}


async def _add(connection: Connection, names: Sequence[str]) -> dict[str, TenantId]:
    """Create tenants and their clocks, those that were not created meanwhile."""
    async with connection.cursor() as cursor:
        insertion = "INSERT INTO mirrord.tenant (name) VALUES (%s) ON CONFLICT (name) DO NOTHING"
        await cursor.executemany(insertion, [(name,) for name in names])
        await cursor.execute("SELECT name, id FROM mirrord.tenant WHERE name = ANY (%s)", (list(names),))
        tenants = {name: TenantId(tenant) for name, tenant in await cursor.fetchall()}
        insertion = "INSERT INTO mirrord.tenant_clock (tenant_id) VALUES (%s) ON CONFLICT (tenant_id) DO NOTHING"
        await cursor.executemany(insertion, [(tenant,) for tenant in tenants.values()])
    return tenants


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
