"""Asking the history whether an entry ever had these bytes."""

from collections.abc import Sequence

from mirrord.db.connect import Connection
from mirrord.domain.entry import Digest, EntryId, TenantId

Question = tuple[EntryId, Digest]


async def of_pages(connection: Connection, tenant: TenantId, questions: Sequence[Question]) -> dict[EntryId, int]:
    """For each (entry, digest): the newest version in the page's history that had these bytes, if any did."""
    return await _versions(connection, tenant, questions, "page_revision AS r", "page_id")


async def texts(connection: Connection, tenant: TenantId, questions: Sequence[Question]) -> frozenset[Question]:
    """Which of *questions*, each (entry, digest), the history of a page or record answers: it had these bytes."""
    wanted = (tenant, [entry for entry, _ in questions], [digest for _, digest in questions])
    cursor = await connection.execute(
        "SELECT r.page_id, r.digest FROM mirrord.page_revision AS r WHERE r.tenant_id = %s "
        "AND r.page_id = ANY (%s) AND r.digest = ANY (%s) "
        "UNION ALL SELECT r.record_id, r.digest FROM mirrord.record_revision AS r WHERE r.tenant_id = %s "
        "AND r.record_id = ANY (%s) AND r.digest = ANY (%s)",
        wanted + wanted,
    )
    return frozenset((entry, digest) for entry, digest in await cursor.fetchall()) & frozenset(questions)


async def places(
    connection: Connection, tenant: TenantId, questions: Sequence[Question]
) -> list[tuple[EntryId, Digest, EntryId | None, str]]:
    """Where pages were (parent, name) while they had the bytes asked for."""
    cursor = await connection.execute(
        "SELECT DISTINCT r.page_id, r.digest, r.parent_id, r.name FROM mirrord.page_revision AS r "
        "WHERE r.tenant_id = %s AND r.page_id = ANY (%s) AND r.digest = ANY (%s)",
        (tenant, [entry for entry, _ in questions], [digest for _, digest in questions]),
    )
    asked = set(questions)
    return [(entry, digest, *place) for entry, digest, *place in await cursor.fetchall() if (entry, digest) in asked]


async def of_attachments(connection: Connection, tenant: TenantId, questions: Sequence[Question]) -> dict[EntryId, int]:
    """The same for attachments."""
    return await _versions(connection, tenant, questions, "attachment_revision AS r", "attachment_id")


async def of_records(connection: Connection, tenant: TenantId, questions: Sequence[Question]) -> dict[EntryId, int]:
    """The same for records."""
    return await _versions(connection, tenant, questions, "record_revision AS r", "record_id")


async def anywhere(connection: Connection, tenant: TenantId, questions: Sequence[Question]) -> dict[EntryId, int]:
    """The same for pages and records, whichever they are."""
    pages = await of_pages(connection, tenant, questions)
    return pages | await of_records(connection, tenant, questions)


async def _versions(
    connection: Connection, tenant: TenantId, questions: Sequence[Question], table: str, column: str
) -> dict[EntryId, int]:
    cursor = await connection.execute(
        f"SELECT r.{column}, r.digest, max(r.version) FROM mirrord.{table} WHERE r.tenant_id = %s "
        f"AND r.{column} = ANY (%s) AND r.digest = ANY (%s) GROUP BY r.{column}, r.digest",
        (tenant, [entry for entry, _ in questions], [digest for _, digest in questions]),
    )
    asked = set(questions)
    return {entry: version for entry, digest, version in await cursor.fetchall() if (entry, digest) in asked}
