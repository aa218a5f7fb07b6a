"""What an editor may still show: the texts a file held since the last save."""

from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.db.database import Connection
from mirrord.domain.entry import Base, Digest, EntryId, MirrorId, TenantId

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
