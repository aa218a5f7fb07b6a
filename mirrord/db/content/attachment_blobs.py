"""Bytes of attachments by their digest, in parts."""

from mirrord.db.database import Connection
from mirrord.domain.entry import Digest, TenantId

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
