"""Whether an entry ever had given bytes, as its history says."""

from collections.abc import Sequence

from mirrord.db.database import Connection
from mirrord.domain.entry import Digest, EntryId, TenantId

EntryDigest = tuple[EntryId, Digest]


async def newest_page_versions(
    connection: Connection, tenant: TenantId, questions: Sequence[EntryDigest]
) -> dict[EntryId, int]:
    """For each (entry, digest) the newest version of the page with these bytes, if there is one."""
    return await _load_versions(connection, tenant, questions, "page_revision AS r", "page_id")


async def find_texts(
    connection: Connection, tenant: TenantId, questions: Sequence[EntryDigest]
) -> frozenset[EntryDigest]:
    """The pairs (entry, digest) found in the history of pages and records."""
    parameters = (tenant, [entry for entry, _ in questions], [digest for _, digest in questions])
    cursor = await connection.execute(
        "SELECT r.page_id, r.digest FROM mirrord.page_revision AS r WHERE r.tenant_id = %s "
        "AND r.page_id = ANY (%s) AND r.digest = ANY (%s) "
        "UNION ALL SELECT r.record_id, r.digest FROM mirrord.record_revision AS r WHERE r.tenant_id = %s "
        "AND r.record_id = ANY (%s) AND r.digest = ANY (%s)",
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
