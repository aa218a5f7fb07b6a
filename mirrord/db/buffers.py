"""What an editor may still show: the texts a file held since somebody saved it last."""

from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.db.connect import Connection
from mirrord.domain.entry import Digest, EntryId, MirrorId, TenantId
from mirrord.domain.state import Base

LOOK_BACK = 8  # versions


@dataclass(frozen=True, slots=True)
class Revision:
    """One version of a page."""

    version: int
    digest: Digest
    text: str


async def shown(connection: Connection, tenant: TenantId, bases: Sequence[Base]) -> dict[EntryId, list[Revision]]:
    """The newest versions that may have been in each file, from the last one saved there to the base, oldest first."""
    cursors = [
        await connection.execute(
            "SELECT version, digest, markdown FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s "
            "AND version BETWEEN %s AND %s AND digest IS NOT NULL AND markdown IS NOT NULL "
            "ORDER BY version DESC LIMIT %s",
            (tenant, base.entry, base.saved or 0, base.version, LOOK_BACK + 1),
        )
        for base in bases
    ]
    found = [[Revision(*row) for row in reversed(await cursor.fetchall())] for cursor in cursors]
    return {base.entry: revisions for base, revisions in zip(bases, found, strict=True)}


async def note_settled(
    connection: Connection,
    tenant: TenantId,
    mirror: MirrorId,
    entry: EntryId,
    path: str,
    texts: tuple[str | None, str, str | None],
    row_version: int,
) -> None:
    """
    Write down that a stale buffer was merged: nobody has to do anything, but may want to know, and undo it.

    texts: the one the editor had, the one it saved, and the row's; as versions the second and the third are
    row_version + 1 and row_version, the merge is row_version + 2.
    """
    await connection.execute(
        "INSERT INTO mirrord.conflict (tenant_id, mirror_id, entry_id, path, base_text, file_text, row_text, "
        "row_version, resolved_at, resolution) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, clock_timestamp(), "
        "'stale-buffer')",
        (tenant, mirror, entry, path, *texts, row_version),
    )
