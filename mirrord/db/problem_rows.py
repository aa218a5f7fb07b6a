"""What needs a person: problems and halts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, MirrorId, TenantId


@dataclass(frozen=True, slots=True)
class Problem:
    """Why one path is not synced, or not unchanged. code: constant. sentence: for people."""

    path: str
    code: str
    sentence: str
    entry: EntryId | None = None


@dataclass(frozen=True, slots=True)
class Halt:
    """Deletions that wait. side: where they were detected. decision: None until a person decides."""

    id: int
    reason: str
    side: str | None
    sentence: str
    entries: list[EntryId]
    decision: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NewHalt:
    """Deletions that stop now. side: where they were detected; None: after a rewind."""

    reason: str
    side: str | None
    sentence: str
    entries: Sequence[EntryId]


async def store_problems(
    connection: Connection, tenant: TenantId, mirror: MirrorId, problems: Iterable[Problem]
) -> None:
    """List problems; a problem already listed keeps its date."""
    for problem in problems:
        await connection.execute(
            "INSERT INTO mirrord.problem (tenant_id, mirror_id, path, code, entry_id, sentence) "
            "VALUES (%s, %s, %s, %s, %s, %s) "
            "ON CONFLICT (tenant_id, mirror_id, path, code) DO UPDATE SET sentence = EXCLUDED.sentence",
            (tenant, mirror, problem.path, problem.code, problem.entry, problem.sentence),
        )


async def delete_problems(
    connection: Connection, tenant: TenantId, mirror: MirrorId, solved: Iterable[tuple[str, str]]
) -> None:
    """Delete the problems identified by (path, code)."""
    for path, code in solved:
        await connection.execute(
            "DELETE FROM mirrord.problem WHERE tenant_id = %s AND mirror_id = %s AND path = %s AND code = %s",
            (tenant, mirror, path, code),
        )


async def load_problems(connection: Connection, tenant: TenantId) -> list[Problem]:
    """All problems of a tenant, by path."""
    cursor = await connection.execute(
        "SELECT path, code, sentence, entry_id FROM mirrord.problem WHERE tenant_id = %s ORDER BY path, code", (tenant,)
    )
    return [Problem(*row) for row in await cursor.fetchall()]


async def add_halt(connection: Connection, tenant: TenantId, mirror: MirrorId, halt: NewHalt) -> None:
    """Record why deletions stopped; an open halt of the same reason and side is extended instead."""
    ids = list(halt.entries)
    cursor = await connection.execute(
        "UPDATE mirrord.halt SET sentence = %s, entries = ARRAY(SELECT DISTINCT unnest(entries || %s::uuid[])) "
        "WHERE tenant_id = %s AND mirror_id = %s AND reason = %s AND side IS NOT DISTINCT FROM %s "
        "AND closed_at IS NULL AND decision IS NULL RETURNING id",
        (halt.sentence, ids, tenant, mirror, halt.reason, halt.side),
    )
    if await cursor.fetchone() is None:
        await connection.execute(
            "INSERT INTO mirrord.halt (tenant_id, mirror_id, reason, side, sentence, entries) "
            "VALUES (%s, %s, %s, %s, %s, %s)",
            (tenant, mirror, halt.reason, halt.side, halt.sentence, ids),
        )


async def load_halts(connection: Connection, tenant: TenantId, mirror: MirrorId | None = None) -> list[Halt]:
    """Open halts of a tenant (or of one mirror), oldest first."""
    cursor = await connection.execute(
        "SELECT id, reason, side, sentence, entries, decision, created_at FROM mirrord.halt "
        "WHERE tenant_id = %s AND closed_at IS NULL AND (%s::uuid IS NULL OR mirror_id = %s) ORDER BY id",
        (tenant, mirror, mirror),
    )
    return [Halt(*row) for row in await cursor.fetchall()]


async def load_paths(connection: Connection, tenant: TenantId, entries: Sequence[EntryId], limit: int) -> list[str]:
    """The first *limit* paths of *entries*, in order; names of entries without a file in any mirror."""
    cursor = await connection.execute(
        "SELECT DISTINCT coalesce(b.path, p.name, a.name, r.kind || '/' || r.key, e.id::text) AS path "
        "FROM unnest(%(entries)s::uuid[]) AS e (id) "
        "LEFT JOIN mirrord.mirror_base AS b ON b.tenant_id = %(tenant)s AND b.entry_id = e.id "
        "LEFT JOIN mirrord.page AS p ON p.tenant_id = %(tenant)s AND p.id = e.id "
        "LEFT JOIN mirrord.attachment AS a ON a.tenant_id = %(tenant)s AND a.id = e.id "
        "LEFT JOIN mirrord.record AS r ON r.tenant_id = %(tenant)s AND r.id = e.id ORDER BY path LIMIT %(most)s",
        {"tenant": tenant, "entries": list(entries), "most": limit},
    )
    return [path for (path,) in await cursor.fetchall()]


async def decide_halt(connection: Connection, halt: int, decision: str) -> bool:
    """Record a person's decision: 'apply' or 'discard' the deletions. False: no such open halt."""
    row = await (await connection.execute("SELECT mirrord.decide_halt(%s, %s)", (halt, decision))).fetchone()
    return bool(row and row[0])


async def close_halt(connection: Connection, tenant: TenantId, halt: int) -> None:
    """Close a halt whose decision was carried out."""
    await connection.execute(
        "UPDATE mirrord.halt SET closed_at = clock_timestamp() WHERE tenant_id = %s AND id = %s", (tenant, halt)
    )
