"""Conflicts: what both sides said and their base, until a person resolved it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mirrord.db.database import Connection
from mirrord.domain.entry import Digest, EntryId, Kind, MirrorId, TenantId


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


_COLUMNS = (
    "entry_id, sibling_id, path, kind, row_version, base_text, file_text, row_text, base_digest, file_digest, "
    "row_digest, id, created_at"
)
_ADD = """
INSERT INTO mirrord.conflict (tenant_id, mirror_id, entry_id, sibling_id, path, kind, row_version,
                              base_text, file_text, row_text, base_digest, file_digest, row_digest)
SELECT %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s
WHERE NOT EXISTS (SELECT FROM mirrord.conflict WHERE tenant_id = %s AND entry_id = %s AND sibling_id IS NULL
                  AND file_text = %s AND resolved_at IS NULL)"""


async def add_conflict(connection: Connection, tenant: TenantId, mirror: MirrorId, conflict: ConflictRow) -> None:
    """Store both sides and the base; a conflict without a sibling is stored once."""
    texts = (conflict.base_text, conflict.file_text, conflict.row_text)
    digests = (conflict.base_digest, conflict.file_digest, conflict.row_digest)
    subject = (conflict.entry, conflict.sibling, conflict.path, conflict.kind, conflict.row_version)
    duplicate = (tenant, conflict.entry, conflict.file_text)
    await connection.execute(_ADD, (tenant, mirror, *subject, *texts, *digests, *duplicate))


async def list_conflicts(connection: Connection, tenant: TenantId) -> list[ConflictRow]:
    """The open conflicts of a tenant, oldest first."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM mirrord.conflict WHERE tenant_id = %s AND resolved_at IS NULL ORDER BY id", (tenant,)
    )
    return [_conflict(row) for row in await cursor.fetchall()]


async def load_conflict(connection: Connection, tenant: TenantId, number: int) -> ConflictRow | None:
    """An open conflict; None: no such number, or already resolved."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM mirrord.conflict WHERE tenant_id = %s AND id = %s AND resolved_at IS NULL",
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
        "UPDATE mirrord.conflict SET resolved_at = clock_timestamp(), resolution = %s, "
        "resolved_by = mirrord.current_actor() "
        "WHERE tenant_id = %s AND id = %s AND resolved_at IS NULL RETURNING id",
        (resolution, tenant, number),
    )
    return await cursor.fetchone() is not None


def _conflict(row: tuple[Any, ...]) -> ConflictRow:
    entry, sibling, path, kind, *columns = row
    return ConflictRow(EntryId(entry), sibling, path, Kind(kind), *columns)
