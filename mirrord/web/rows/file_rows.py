"""Rows of attachments and records."""

from dataclasses import dataclass
from uuid import UUID

from mirrord.db.content import stored_bytes
from mirrord.db.database import Connection
from mirrord.domain.entry import Digest, TenantId
from mirrord.domain.place import name_key, numbered_attachment, numbered_names

# Concurrent uploads must not use the same name: the second would be renamed later, unknown to its page.
_LOCK_UPLOADS = (
    "SELECT pg_advisory_xact_lock(hashtextextended('console attachment ' || mirrord.current_tenant()::text, 0))"
)
_SIBLINGS = """
SELECT name, digest FROM mirrord.attachment
 WHERE tenant_id = mirrord.current_tenant() AND parent_key = coalesce(%s, '00000000-0000-0000-0000-000000000000'::uuid)
   AND deleted_at IS NULL"""
_INSERT = "INSERT INTO mirrord.attachment (parent_id, name, digest, size, media_type) VALUES (%s, %s, %s, %s, %s)"
_REPLACE = """
UPDATE mirrord.attachment SET digest = %s, size = %s, media_type = %s, deleted_at = NULL
 WHERE tenant_id = mirrord.current_tenant() AND id = %s AND version = %s RETURNING id"""
_STORED = """
SELECT name, digest FROM mirrord.attachment
 WHERE tenant_id = mirrord.current_tenant() AND id = %s AND deleted_at IS NULL"""


@dataclass(frozen=True, slots=True)
class StoredAttachment:
    """An attachment. name: in `assets/`, or its path."""

    name: str
    digest: Digest


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that a person uploads. digest: of its data."""

    name: str
    data: bytes
    digest: Digest
    media_type: str


async def add_attachment(connection: Connection, tenant: UUID, parent: UUID | None, upload: Upload) -> str:
    """Store an attachment. Returns its name, numbered if the file's is in use; equal bytes share one name."""
    await connection.execute(_LOCK_UPLOADS)
    digests = {
        name_key(existing): digest
        for existing, digest in await (await connection.execute(_SIBLINGS, (parent,))).fetchall()
    }
    names = numbered_names(upload.name, numbered_attachment)
    name = next(name for name in names if digests.get(name_key(name), upload.digest) == upload.digest)
    if name_key(name) in digests:
        return name
    await stored_bytes.store_blob(connection, TenantId(tenant), upload.digest, upload.data)
    await connection.execute(_INSERT, (parent, name, upload.digest, len(upload.data), upload.media_type))
    return name


async def load_attachment(connection: Connection, attachment: UUID) -> StoredAttachment | None:
    """The row of an attachment; None: not found."""
    row = await (await connection.execute(_STORED, (attachment,))).fetchone()
    return StoredAttachment(*row) if row else None


async def replace_attachment(
    connection: Connection, attachment: UUID, version: int, digest: Digest, size: int, media_type: str | None
) -> bool:
    """Replace the bytes by ones in `blob`; restores a deleted attachment. False: another writer was faster."""
    cursor = await connection.execute(_REPLACE, (digest, size, media_type, attachment, version))
    return await cursor.fetchone() is not None


_WRITE = """
UPDATE mirrord.record SET text = %s, deleted_at = NULL
 WHERE tenant_id = mirrord.current_tenant() AND id = %s AND version = %s RETURNING version"""


async def write_text(connection: Connection, record: UUID, version: int, text: str) -> bool:
    """Write the text; restores a deleted record. False: another writer was faster."""
    cursor = await connection.execute(_WRITE, (text, record, version))
    return await cursor.fetchone() is not None


async def resolve_conflict(connection: Connection, conflict: int, resolution: str) -> bool:
    """Mark a conflict as resolved. False: it was resolved before."""
    row = await (await connection.execute("SELECT mirrord.settle_conflict(%s, %s)", (conflict, resolution))).fetchone()
    return row is not None and bool(row[0])
