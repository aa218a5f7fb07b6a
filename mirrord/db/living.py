"""Everything of a tenant that lives, without its texts and bytes, which are read apart and a few at a time."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from mirrord.db.connect import Connection
from mirrord.domain.entry import Digest, EntryId, Kind, Place, TenantId
from mirrord.domain.state import NO_TEXT, Row

_AT_ONCE = 5_000  # rows a fetch

_LIVING = """
SELECT id, kind, parent_id, coalesce(name, ''), index, name_key IS NOT NULL, version, digest, ahead,
       CASE WHEN name_key IS NULL THEN title END, coalesce(octet_length(markdown), 0),
       CASE WHEN name_key IS NULL THEN created_at END
  FROM mirrord.page WHERE tenant_id = %(tenant)s AND deleted_at IS NULL
UNION ALL
SELECT id, 'attachment', parent_id, name, false, name_key IS NOT NULL, version, digest, '{}', NULL, size,
       CASE WHEN name_key IS NULL THEN created_at END
  FROM mirrord.attachment WHERE tenant_id = %(tenant)s AND deleted_at IS NULL
UNION ALL
SELECT id, 'record', NULL, kind || '/' || key, false, true, version, digest, ahead, NULL,
       coalesce(octet_length(text), 0), NULL
  FROM mirrord.record WHERE tenant_id = %(tenant)s AND deleted_at IS NULL"""


@dataclass(frozen=True, slots=True)
class Living:
    """An entry. size: of its text or bytes, as the row says. made_at: None where it has a place already."""

    row: Row
    size: int
    made_at: datetime | None


async def everything(connection: Connection, tenant: TenantId) -> AsyncIterator[Living]:
    """All that lives; titles only of what has no place yet. Call it inside a snapshot."""
    parents: dict[EntryId | None, EntryId | None] = {None: None}  # one object each: there may be 100,000 children
    async with connection.cursor(name="everything") as cursor:
        cursor.itersize = _AT_ONCE
        await cursor.execute(_LIVING, {"tenant": tenant})
        async for entry, kind, parent, name, index, placed, version, digest, ahead, title, size, made_at in cursor:
            known = NO_TEXT if kind == Kind.FOLDER else Digest(digest) if digest is not None else None
            place = Place(parents.setdefault(parent, parent), name, index)
            row = Row(EntryId(entry), Kind(kind), place, placed, version, known, False, frozenset(ahead), title)
            yield Living(row, size, made_at)


async def moment(connection: Connection, tenant: TenantId) -> tuple[int, datetime]:
    """How far the tenant's change feed is in this snapshot, and when that was, by Postgres' clock."""
    cursor = await connection.execute(
        "SELECT seq, now() FROM mirrord.tenant_clock WHERE tenant_id = %s",
        (tenant,),
    )
    row = await cursor.fetchone()
    assert row is not None
    return row[0], row[1]


async def first_parts(connection: Connection, tenant: TenantId, digests: Sequence[Digest]) -> dict[Digest, bytes]:
    """The beginnings of some blobs: all of those that have one part."""
    cursor = await connection.execute(
        "SELECT digest, bytes FROM mirrord.blob WHERE tenant_id = %s AND digest = ANY (%s) AND part = 0",
        (tenant, list(digests)),
    )
    return {Digest(digest): data for digest, data in await cursor.fetchall()}


async def parts(connection: Connection, tenant: TenantId, digest: Digest) -> AsyncIterator[bytes]:
    """A blob, a part at a time; nothing if it is not there."""
    async with connection.cursor(name="parts") as cursor:
        cursor.itersize = 1
        await cursor.execute(
            "SELECT bytes FROM mirrord.blob WHERE tenant_id = %s AND digest = %s ORDER BY part", (tenant, digest)
        )
        async for (data,) in cursor:
            yield data
