"""The full comparison: all rows of a tenant and all bases of a mirror side by side."""

from dataclasses import dataclass
from uuid import UUID

from mirrord.db.database import Connection, Database
from mirrord.domain.entry import Digest, EntryId, MirrorId, TenantId

BASES_PER_BATCH = 10_000  # bases per batch: those of a large tree would take as much memory as the daemon itself


_BASES = """
SELECT b.entry_id, b.path, coalesce(b.digest, '') FROM mirrord.mirror_base AS b
 WHERE b.tenant_id = %s AND b.mirror_id = %s AND b.entry_id > %s ORDER BY b.entry_id LIMIT %s"""
FIRST = EntryId(UUID(int=0))


@dataclass(frozen=True, slots=True)
class BaseBatch:
    """Some bases as (entry, path, digest). is_last: no others come after them."""

    bases: list[tuple[EntryId, str | None, Digest]]
    is_last: bool

    @property
    def end(self) -> EntryId:
        """The entry after which the next batch begins."""
        return self.bases[-1][0]


async def load_base_batch(connection: Connection, tenant: TenantId, mirror: MirrorId, after: EntryId) -> BaseBatch:
    """
    The bases of one mirror that come after an entry, FIRST at the beginning, for a comparison with the tree.

    To be read in a transaction for each batch: those of a million files take longer than one may last.
    """
    cursor = await connection.execute(_BASES, (tenant, mirror, after, BASES_PER_BATCH))
    bases = await cursor.fetchall()
    return BaseBatch(bases, len(bases) < BASES_PER_BATCH)


async def load_base_paths(database: Database, tenant: TenantId, mirror: MirrorId) -> list[str]:
    """The paths of all bases of one mirror."""
    paths, after, is_last = list[str](), FIRST, False
    while not is_last:
        async with database.transaction(tenant) as connection:
            batch = await load_base_batch(connection, tenant, mirror, after)
        paths += [path for _, path, _ in batch.bases if path is not None]
        is_last = batch.is_last
        after = after if is_last else batch.end
    return paths


_DIFFERING_PAGES = """
SELECT coalesce(p.id, b.entry_id)
FROM (SELECT * FROM mirrord.page WHERE tenant_id = %(tenant)s) AS p
FULL JOIN (SELECT * FROM mirrord.mirror_base
           WHERE tenant_id = %(tenant)s AND mirror_id = %(mirror)s AND kind IN ('page', 'folder')) AS b
  ON b.entry_id = p.id
WHERE p.id IS NULL
   OR b.entry_id IS NULL AND p.deleted_at IS NULL
   OR b.version <> p.version OR b.kind <> p.kind OR b.digest IS DISTINCT FROM p.digest
   OR b.entry_id IS NOT NULL AND p.deleted_at IS NOT NULL
   OR p.deleted_at IS NULL AND (b.parent_id, b.name) IS DISTINCT FROM (p.parent_id, p.name)
   OR p.deleted_at IS NULL AND (p.name_key IS NULL OR p.ahead <> '{}' OR p.digest IS NULL AND p.kind = 'page')
"""
_DIFFERING_ATTACHMENTS = """
SELECT coalesce(a.id, b.entry_id)
FROM (SELECT * FROM mirrord.attachment WHERE tenant_id = %(tenant)s) AS a
FULL JOIN (SELECT * FROM mirrord.mirror_base
           WHERE tenant_id = %(tenant)s AND mirror_id = %(mirror)s AND kind = 'attachment') AS b
  ON b.entry_id = a.id
WHERE a.id IS NULL
   OR b.entry_id IS NULL AND a.deleted_at IS NULL
   OR b.version <> a.version OR b.digest IS DISTINCT FROM a.digest
   OR b.entry_id IS NOT NULL AND a.deleted_at IS NOT NULL
   OR a.deleted_at IS NULL AND (b.parent_id, b.name) IS DISTINCT FROM (a.parent_id, a.name)
   OR a.deleted_at IS NULL AND a.name_key IS NULL
"""

_DIFFERING_RECORDS = """
SELECT coalesce(r.id, b.entry_id)
FROM (SELECT * FROM mirrord.record WHERE tenant_id = %(tenant)s) AS r
FULL JOIN (SELECT * FROM mirrord.mirror_base
           WHERE tenant_id = %(tenant)s AND mirror_id = %(mirror)s AND kind = 'record') AS b
  ON b.entry_id = r.id
WHERE r.id IS NULL
   OR b.entry_id IS NULL AND r.deleted_at IS NULL
   OR b.version <> r.version OR b.digest IS DISTINCT FROM r.digest
   OR b.entry_id IS NOT NULL AND r.deleted_at IS NOT NULL
   OR r.deleted_at IS NULL AND (b.name <> r.kind || '/' || r.key OR r.ahead <> '{}')
"""


async def load_differing(connection: Connection, tenant: TenantId, mirror: MirrorId) -> list[EntryId]:
    """Entries whose row differs from this mirror's base: the full compare of rows with bases."""
    cursor = await connection.execute(
        f"{_DIFFERING_PAGES} UNION ALL {_DIFFERING_ATTACHMENTS} UNION ALL {_DIFFERING_RECORDS}",
        {"tenant": tenant, "mirror": mirror},
    )
    return [EntryId(row[0]) for row in await cursor.fetchall()]


@dataclass(frozen=True, slots=True)
class UnversionedPage:
    """A row whose text is not that of its version. version_text: the version's text. row_text: the row's text."""

    entry: EntryId
    version: int
    version_text: str
    row_text: str


async def load_unversioned(connection: Connection, tenant: TenantId) -> list[UnversionedPage]:
    """Pages whose text changed without a trigger."""
    cursor = await connection.execute(
        "SELECT p.id, p.version, r.markdown, p.markdown FROM mirrord.page AS p JOIN mirrord.page_revision AS r "
        "ON r.tenant_id = p.tenant_id AND r.page_id = p.id AND r.version = p.version "
        "WHERE p.tenant_id = %s AND p.deleted_at IS NULL AND p.ahead = '{}' AND p.markdown <> r.markdown",
        (tenant,),
    )
    return [UnversionedPage(*row) for row in await cursor.fetchall()]
