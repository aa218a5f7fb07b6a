"""What a person asks about: counts of a tenant, and the history of a page."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mirrord.db.connect import Connection
from mirrord.domain.entry import EntryId, TenantId


@dataclass(frozen=True, slots=True)
class Counts:
    """One tenant in numbers. seq: of the change feed."""

    pages: int
    attachments: int
    conflicts: int
    problems: int
    halts: int
    seq: int


@dataclass(frozen=True, slots=True)
class Revision:
    """One version of a page. size: characters of its text; None: a folder, or not rendered yet."""

    version: int
    created_at: datetime
    actor: dict[str, Any] | None
    digest: bytes | None
    size: int | None
    name: str | None
    deleted: bool
    parents: list[int]


async def counts(connection: Connection, tenant: TenantId) -> Counts:
    """Count what a tenant has now."""
    cursor = await connection.execute(
        "SELECT (SELECT count(*) FROM mirrord.page WHERE tenant_id = %(t)s AND deleted_at IS NULL AND kind = 'page'), "
        "(SELECT count(*) FROM mirrord.attachment WHERE tenant_id = %(t)s AND deleted_at IS NULL), "
        "(SELECT count(*) FROM mirrord.conflict WHERE tenant_id = %(t)s AND resolved_at IS NULL), "
        "(SELECT count(*) FROM mirrord.problem WHERE tenant_id = %(t)s), "
        "(SELECT count(*) FROM mirrord.halt WHERE tenant_id = %(t)s AND closed_at IS NULL), "
        "(SELECT seq FROM mirrord.tenant_clock WHERE tenant_id = %(t)s)",
        {"t": tenant},
    )
    row = await cursor.fetchone()
    assert row is not None
    return Counts(*row)


async def server_version(connection: Connection) -> str:
    """For people: `18.4`."""
    row = await (await connection.execute("SHOW server_version")).fetchone()
    return str(row[0]).split()[0] if row else ""


async def page_at(connection: Connection, tenant: TenantId, path: str) -> EntryId | None:
    """The page (also a deleted one) whose file some mirror has at *path*, or whose names spell it."""
    cursor = await connection.execute(
        "SELECT entry_id FROM mirrord.mirror_base WHERE tenant_id = %s AND path = ANY (%s) LIMIT 1",
        (tenant, [path, f"{path}.md", f"{path}/_index.md"]),
    )
    if row := await cursor.fetchone():
        return EntryId(row[0])
    cursor = await connection.execute(
        "SELECT page_id FROM mirrord.page_revision WHERE tenant_id = %s AND name = %s ORDER BY created_at DESC LIMIT 1",
        (tenant, path.rpartition("/")[2].removesuffix(".md")),
    )
    row = await cursor.fetchone()
    return EntryId(row[0]) if row else None


async def history(connection: Connection, tenant: TenantId, page: EntryId) -> list[Revision]:
    """Every version of a page, the newest first."""
    cursor = await connection.execute(
        "SELECT version, created_at, actor, digest, length(markdown), name, deleted, parents "
        "FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s ORDER BY version DESC",
        (tenant, page),
    )
    return [Revision(*row) for row in await cursor.fetchall()]


async def live_rows(connection: Connection, tenant: TenantId) -> list[tuple[Any, ...]]:
    """(entry, kind, parent, name, index, digest, ready) of everything alive; ready: nothing is still to be derived."""
    cursor = await connection.execute(
        "SELECT id, kind, parent_id, coalesce(name, ''), index, digest, "
        "name_key IS NOT NULL AND ahead = '{}' AND (digest IS NOT NULL OR kind = 'folder') "
        "FROM mirrord.page WHERE tenant_id = %(t)s AND deleted_at IS NULL UNION ALL "
        "SELECT id, 'attachment', parent_id, name, false, digest, name_key IS NOT NULL "
        "FROM mirrord.attachment WHERE tenant_id = %(t)s AND deleted_at IS NULL",
        {"t": tenant},
    )
    return await cursor.fetchall()
