"""Records: writes of their text, and resolution of their conflicts."""

from uuid import UUID

from mirrord.db.connect import Connection

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
