"""Records: another text, and that a conflict about one is settled."""

from uuid import UUID

from mirrord.db.connect import Connection

_WRITE = """
UPDATE mirrord.record SET text = %s, deleted_at = NULL
 WHERE tenant_id = mirrord.current_tenant() AND id = %s AND version = %s RETURNING version"""


async def write_text(connection: Connection, record: UUID, version: int, text: str) -> bool:
    """Another text; a deleted one lives again. False: somebody was quicker."""
    cursor = await connection.execute(_WRITE, (text, record, version))
    return await cursor.fetchone() is not None


async def settle(connection: Connection, conflict: int, how: str) -> bool:
    """Nobody needs to decide about it any more. False: somebody did."""
    row = await (await connection.execute("SELECT mirrord.settle_conflict(%s, %s)", (conflict, how))).fetchone()
    return row is not None and bool(row[0])
