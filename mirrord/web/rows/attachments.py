"""Attachments: bytes in `blob`, a row that says where they are called what."""

from dataclasses import dataclass
from uuid import UUID

from mirrord.db import blobs
from mirrord.db.connect import Connection
from mirrord.domain.entry import Digest, TenantId
from mirrord.domain.place import name_key, numbered_attachment

# Two uploads at once must not take one name: the second would get another one later, which its page does not know.
_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('console attachment ' || mirrord.current_tenant()::text, 0))"
_BESIDE = """
SELECT name, digest FROM mirrord.attachment
 WHERE tenant_id = mirrord.current_tenant() AND parent_key = coalesce(%s, '00000000-0000-0000-0000-000000000000'::uuid)
   AND deleted_at IS NULL"""
_INSERT = "INSERT INTO mirrord.attachment (parent_id, name, digest, size, media_type) VALUES (%s, %s, %s, %s, %s)"
_REPLACE = """
UPDATE mirrord.attachment SET digest = %s, size = %s, media_type = %s, deleted_at = NULL
 WHERE tenant_id = mirrord.current_tenant() AND id = %s AND version = %s RETURNING id"""
_STORED = """
SELECT name, digest, size FROM mirrord.attachment
 WHERE tenant_id = mirrord.current_tenant() AND id = %s AND deleted_at IS NULL"""


@dataclass(frozen=True, slots=True)
class Stored:
    """An attachment. name: below `assets/`."""

    name: str
    digest: Digest
    size: int


async def add(
    connection: Connection, tenant: UUID, parent: UUID | None, name: str, data: bytes, digest: Digest, media_type: str
) -> str:
    """The name it has: *name*, with a number where that is taken; the same bytes under that name are kept once."""
    await connection.execute(_ALONE)
    beside = {name_key(one): digest for one, digest in await (await connection.execute(_BESIDE, (parent,))).fetchall()}
    free, number = name, 1
    while (known := beside.get(name_key(free))) is not None:
        if known == digest:
            return free
        number += 1
        free = numbered_attachment(name, number)
    await blobs.store(connection, TenantId(tenant), digest, data)
    await connection.execute(_INSERT, (parent, free, digest, len(data), media_type))
    return free


async def load(connection: Connection, attachment: UUID) -> Stored | None:
    """What an attachment's row says; None: there is none."""
    row = await (await connection.execute(_STORED, (attachment,))).fetchone()
    return Stored(*row) if row else None


async def replace(
    connection: Connection, attachment: UUID, version: int, digest: Digest, size: int, media_type: str | None
) -> bool:
    """Other bytes, which are in `blob`; a deleted one lives again. False: somebody was quicker."""
    cursor = await connection.execute(_REPLACE, (digest, size, media_type, attachment, version))
    return await cursor.fetchone() is not None


async def delete(connection: Connection, attachment: UUID, version: int) -> bool:
    """False: somebody was quicker."""
    cursor = await connection.execute(
        "UPDATE mirrord.attachment SET deleted_at = clock_timestamp() WHERE tenant_id = mirrord.current_tenant() "
        "AND id = %s AND version = %s AND deleted_at IS NULL RETURNING id",
        (attachment, version),
    )
    return await cursor.fetchone() is not None
