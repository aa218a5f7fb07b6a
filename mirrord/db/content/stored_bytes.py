"""Stored bytes: of attachments by their digest, those that entries had earlier, and what an editor may still show."""

from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.db.database import Connection
from mirrord.domain.entry import Base, Digest, EntryId, MirrorId, TenantId

PART_BYTES = 1 << 20  # bytes


async def store_blob(connection: Connection, tenant: TenantId, digest: Digest, data: bytes) -> None:
    """Store *data*; equal bytes are stored once."""
    for part in range(max(1, -(-len(data) // PART_BYTES))):
        await connection.execute(
            "INSERT INTO mirrord.blob (tenant_id, digest, part, bytes) VALUES (%s, %s, %s, %b) ON CONFLICT DO NOTHING",
            (tenant, digest, part, data[part * PART_BYTES : (part + 1) * PART_BYTES]),
        )


async def load_blob(connection: Connection, tenant: TenantId, digest: Digest) -> bytes | None:
    """The bytes; None if no part is stored. An app may have written bytes that do not match the digest."""
    cursor = await connection.execute(
        "SELECT bytes FROM mirrord.blob WHERE tenant_id = %s AND digest = %s ORDER BY part", (tenant, digest)
    )
    rows = await cursor.fetchall()
    return b"".join(row[0] for row in rows) if rows else None


EntryDigest = tuple[EntryId, Digest]


async def newest_page_versions(
    connection: Connection, tenant: TenantId, questions: Sequence[EntryDigest]
) -> dict[EntryId, int]:
    """For each (entry, digest) the newest version of the page with these bytes, if there is one."""
    return await _load_versions(connection, tenant, questions, "page_revision AS r", "page_id")


async def find_texts(
    connection: Connection, tenant: TenantId, questions: Sequence[EntryDigest]
) -> frozenset[EntryDigest]:
    """The pairs (entry, digest) of which the history of pages and records has the text."""
    parameters = (tenant, [entry for entry, _ in questions], [digest for _, digest in questions])
    cursor = await connection.execute(
        "SELECT r.page_id, r.digest FROM mirrord.page_revision AS r WHERE r.tenant_id = %s "
        "AND r.page_id = ANY (%s) AND r.digest = ANY (%s) AND r.text_removed_at IS NULL "
        "UNION ALL SELECT r.record_id, r.digest FROM mirrord.record_revision AS r WHERE r.tenant_id = %s "
        "AND r.record_id = ANY (%s) AND r.digest = ANY (%s) AND r.text_removed_at IS NULL",
        parameters + parameters,
    )
    return frozenset((entry, digest) for entry, digest in await cursor.fetchall()) & frozenset(questions)


async def find_places(
    connection: Connection, tenant: TenantId, questions: Sequence[EntryDigest]
) -> list[tuple[EntryId, Digest, EntryId | None, str]]:
    """(entry, digest, parent, name): the places of pages while they had these bytes."""
    cursor = await connection.execute(
        "SELECT DISTINCT r.page_id, r.digest, r.parent_id, r.name FROM mirrord.page_revision AS r "
        "WHERE r.tenant_id = %s AND r.page_id = ANY (%s) AND r.digest = ANY (%s)",
        (tenant, [entry for entry, _ in questions], [digest for _, digest in questions]),
    )
    pairs = set(questions)
    return [(entry, digest, *place) for entry, digest, *place in await cursor.fetchall() if (entry, digest) in pairs]


async def newest_attachment_versions(
    connection: Connection, tenant: TenantId, questions: Sequence[EntryDigest]
) -> dict[EntryId, int]:
    """The same for attachments."""
    return await _load_versions(connection, tenant, questions, "attachment_revision AS r", "attachment_id")


async def newest_record_versions(
    connection: Connection, tenant: TenantId, questions: Sequence[EntryDigest]
) -> dict[EntryId, int]:
    """The same for records."""
    return await _load_versions(connection, tenant, questions, "record_revision AS r", "record_id")


async def newest_versions(
    connection: Connection, tenant: TenantId, questions: Sequence[EntryDigest]
) -> dict[EntryId, int]:
    """The same for entries that may be pages or records."""
    pages = await newest_page_versions(connection, tenant, questions)
    return pages | await newest_record_versions(connection, tenant, questions)


async def _load_versions(
    connection: Connection, tenant: TenantId, questions: Sequence[EntryDigest], table: str, column: str
) -> dict[EntryId, int]:
    cursor = await connection.execute(
        f"SELECT r.{column}, r.digest, max(r.version) FROM mirrord.{table} WHERE r.tenant_id = %s "
        f"AND r.{column} = ANY (%s) AND r.digest = ANY (%s) GROUP BY r.{column}, r.digest",
        (tenant, [entry for entry, _ in questions], [digest for _, digest in questions]),
    )
    pairs = set(questions)
    return {entry: version for entry, digest, version in await cursor.fetchall() if (entry, digest) in pairs}


MAX_OLDER_VERSIONS = 8  # versions


@dataclass(frozen=True, slots=True)
class Revision:
    """One version of a page."""

    version: int
    digest: Digest
    text: str


async def load_shown_versions(
    connection: Connection, tenant: TenantId, bases: Sequence[Base]
) -> dict[EntryId, list[Revision]]:
    """The newest versions that each file may have held, from its last save to the base, oldest first."""
    cursors = [
        await connection.execute(
            "SELECT version, digest, markdown FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s "
            "AND version BETWEEN %s AND %s AND digest IS NOT NULL AND markdown IS NOT NULL "
            "ORDER BY version DESC LIMIT %s",
            (tenant, base.entry, base.saved or 0, base.version, MAX_OLDER_VERSIONS + 1),
        )
        for base in bases
    ]
    histories = [[Revision(*row) for row in reversed(await cursor.fetchall())] for cursor in cursors]
    return {base.entry: revisions for base, revisions in zip(bases, histories, strict=True)}


@dataclass(frozen=True, slots=True)
class MergedBuffer:
    """
    A stale buffer that was merged.

    texts: the one the editor had, the one it saved, and the row's. The row's is version row_version, the saved one
    row_version + 1, the merge row_version + 2.
    """

    entry: EntryId
    path: str
    texts: tuple[str | None, str, str | None]
    row_version: int


async def add_merged_buffer(connection: Connection, tenant: TenantId, mirror: MirrorId, buffer: MergedBuffer) -> None:
    """Record that a stale buffer was merged: nothing is left to do, but the merge can be reviewed and undone."""
    await connection.execute(
        "INSERT INTO mirrord.conflict (tenant_id, mirror_id, entry_id, path, base_text, file_text, row_text, "
        "row_version, resolved_at, resolution) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, clock_timestamp(), "
        "'stale-buffer')",
        (tenant, mirror, buffer.entry, buffer.path, *buffer.texts, buffer.row_version),
    )
