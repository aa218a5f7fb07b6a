"""Tenants: their names and ids."""

import re

from mirrord.db.connect import Connection, Database
from mirrord.domain.entry import TenantId
from mirrord.errors import UserError

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def is_tenant_name(name: str) -> bool:
    """Whether *name* is a valid name for a tenant."""
    return _SLUG.fullmatch(name) is not None


async def ensure_tenant(database: Database, name: str) -> TenantId:
    """The tenant called *name*; created if missing. Raises UserError for a name that is not a slug."""
    check_name(name)
    async with database.connection() as connection:
        await connection.execute("INSERT INTO mirrord.tenant (name) VALUES (%s) ON CONFLICT (name) DO NOTHING", (name,))
        await connection.execute(
            "INSERT INTO mirrord.tenant_clock (tenant_id) SELECT id FROM mirrord.tenant WHERE name = %s "
            "ON CONFLICT (tenant_id) DO NOTHING",
            (name,),
        )
        tenant = await _find(connection, name)
    assert tenant is not None
    return tenant


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


async def _find(connection: Connection, name: str) -> TenantId | None:
    row = await (await connection.execute("SELECT id FROM mirrord.tenant WHERE name = %s", (name,))).fetchone()
    return TenantId(row[0]) if row else None
