"""What needs a person: problems, halts and conflicts, as rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mirrord.db.database import Connection
from mirrord.domain.entry import Digest, EntryId, Kind, MirrorId, TenantId


@dataclass(frozen=True, slots=True)
class Problem:
    """Why one path is not synced, or not unchanged. code: constant. sentence: for people."""

    path: str
    code: str
    sentence: str
    entry: EntryId | None = None


@dataclass(frozen=True, slots=True)
class Halt:
    """Losses that wait. side: where they were detected. decision: None until a person decides."""

    id: int
    reason: str
    side: str | None
    sentence: str
    entries: list[EntryId]
    decision: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NewHalt:
    """Losses that stop now. side: where they were detected; None: after a rewind."""

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


async def load_pages_at(connection: Connection, tenant: TenantId, paths: Sequence[str]) -> dict[str, EntryId]:
    """The pages whose files have *paths*, by path: a problem of a file does not name its page."""
    cursor = await connection.execute(
        "SELECT b.path, p.id FROM mirrord.mirror_base AS b JOIN mirrord.page AS p "
        "ON p.tenant_id = b.tenant_id AND p.id = b.entry_id "
        "WHERE b.path = ANY(%s) AND b.tenant_id = %s AND p.deleted_at IS NULL",
        (list(paths), tenant),
    )
    return {path: EntryId(page) for path, page in await cursor.fetchall()}


async def load_problem_paths(connection: Connection, tenant: TenantId, mirror: MirrorId, code: str) -> list[str]:
    """The paths of one mirror's problems with *code*."""
    cursor = await connection.execute(
        "SELECT path FROM mirrord.problem WHERE tenant_id = %s AND mirror_id = %s AND code = %s ORDER BY path",
        (tenant, mirror, code),
    )
    return [path for (path,) in await cursor.fetchall()]


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
        "UPDATE mirrord.halt SET closed_at = statement_timestamp() WHERE tenant_id = %s AND id = %s", (tenant, halt)
    )


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """
    Two contents for one entry. sibling: the page or attachment with the file's content; None for a record.

    Pages and records have texts, attachments have digests. The base is None if unknown, the row's text if there was
    none. path, row_version: of the file and the row when the conflict arose.
    """

    entry: EntryId
    sibling: EntryId | None
    path: str
    kind: Kind
    row_version: int
    base_text: str | None = None
    file_text: str | None = None
    row_text: str | None = None
    base_digest: Digest | None = None
    file_digest: Digest | None = None
    row_digest: Digest | None = None
    id: int = 0
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class OpenSibling:
    """The page of an open conflict. file_text: that it was made from; version, markdown: as it is."""

    conflict: int
    entry: EntryId
    file_text: str
    version: int
    markdown: str


_OPEN_SIBLING = """
SELECT c.id, p.id, c.file_text, p.version, p.markdown FROM mirrord.conflict AS c
  JOIN mirrord.page AS p ON p.tenant_id = c.tenant_id AND p.id = c.sibling_id
 WHERE c.tenant_id = %s AND c.mirror_id = %s AND c.entry_id = %s AND c.resolved_at IS NULL
   AND c.file_text IS NOT NULL AND p.markdown IS NOT NULL AND p.deleted_at IS NULL AND p.ahead = '{}'
 ORDER BY c.id DESC LIMIT 1"""


async def load_open_sibling(
    connection: Connection, tenant: TenantId, mirror: MirrorId, entry: EntryId
) -> OpenSibling | None:
    """The newest page beside *entry* that keeps a file of *mirror*; None: there is none, or an app just wrote it."""
    row = await (await connection.execute(_OPEN_SIBLING, (tenant, mirror, entry))).fetchone()
    return OpenSibling(*row) if row else None


async def store_file_text(connection: Connection, tenant: TenantId, conflict: int, text: str) -> None:
    """Store the text that the file of an open conflict has now."""
    await connection.execute(
        "UPDATE mirrord.conflict SET file_text = %s WHERE tenant_id = %s AND id = %s", (text, tenant, conflict)
    )


_CONFLICT_COLUMNS = (
    "entry_id, sibling_id, path, kind, row_version, base_text, file_text, row_text, base_digest, file_digest, "
    "row_digest, id, created_at"
)
_SAME_CONFLICT = """
SELECT FROM mirrord.conflict WHERE tenant_id = %s AND entry_id = %s AND sibling_id IS NULL AND file_text = %s
   AND resolved_at IS NULL"""
_ADD_CONFLICT = """
INSERT INTO mirrord.conflict (tenant_id, mirror_id, entry_id, sibling_id, path, kind, row_version,
                              base_text, file_text, row_text, base_digest, file_digest, row_digest)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"""


async def add_conflict(connection: Connection, tenant: TenantId, mirror: MirrorId, conflict: ConflictRow) -> None:
    """Store both sides and the base; a conflict without a sibling is stored once."""
    texts = (conflict.base_text, conflict.file_text, conflict.row_text)
    digests = (conflict.base_digest, conflict.file_digest, conflict.row_digest)
    subject = (conflict.entry, conflict.sibling, conflict.path, conflict.kind, conflict.row_version)
    duplicate = (tenant, conflict.entry, conflict.file_text)
    if await (await connection.execute(_SAME_CONFLICT, duplicate)).fetchone() is None:
        await connection.execute(_ADD_CONFLICT, (tenant, mirror, *subject, *texts, *digests))


async def list_conflicts(connection: Connection, tenant: TenantId) -> list[ConflictRow]:
    """The open conflicts of a tenant, oldest first."""
    cursor = await connection.execute(
        f"SELECT {_CONFLICT_COLUMNS} FROM mirrord.conflict WHERE tenant_id = %s AND resolved_at IS NULL ORDER BY id",
        (tenant,),
    )
    return [_conflict(row) for row in await cursor.fetchall()]


async def load_conflict(connection: Connection, tenant: TenantId, number: int) -> ConflictRow | None:
    """An open conflict; None: no such number, or already resolved."""
    cursor = await connection.execute(
        f"SELECT {_CONFLICT_COLUMNS} FROM mirrord.conflict WHERE tenant_id = %s AND id = %s AND resolved_at IS NULL",
        (tenant, number),
    )
    row = await cursor.fetchone()
    return _conflict(row) if row else None


async def load_numbers_of_entry(connection: Connection, tenant: TenantId, entry: EntryId) -> list[int]:
    """The numbers of the open conflicts about *entry*."""
    cursor = await connection.execute(
        "SELECT id FROM mirrord.conflict WHERE tenant_id = %s AND entry_id = %s AND resolved_at IS NULL ORDER BY id",
        (tenant, entry),
    )
    return [int(row[0]) for row in await cursor.fetchall()]


async def resolve_conflict(connection: Connection, tenant: TenantId, number: int, resolution: str) -> bool:
    """Record a person's resolution. False: it was resolved before."""
    cursor = await connection.execute(
        "UPDATE mirrord.conflict SET resolved_at = statement_timestamp(), resolution = %s, "
        "resolved_by = mirrord.current_actor() "
        "WHERE tenant_id = %s AND id = %s AND resolved_at IS NULL RETURNING id",
        (resolution, tenant, number),
    )
    return await cursor.fetchone() is not None


def _conflict(row: tuple[Any, ...]) -> ConflictRow:
    entry, sibling, path, kind, *columns = row
    return ConflictRow(EntryId(entry), sibling, path, Kind(kind), *columns)
