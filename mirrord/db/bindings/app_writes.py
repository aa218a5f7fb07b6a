"""Rows of an app, written with the rights of a binding's role."""

from collections.abc import Mapping, Sequence
from typing import Any

from mirrord.db.bindings.bound_pages import acting_as
from mirrord.db.database import Connection

Values = Mapping[str, Any]


async def lock_rows(connection: Connection, role: str, locks: Sequence[str], values: Values) -> bool:
    """Lock a row of the app until the transaction ends. False: it was changed, or another transaction has it."""
    async with acting_as(connection, role):
        for statement in locks:
            cursor = await connection.execute(statement.encode(), values)
            if await cursor.fetchone() is None:
                return False
    return True


async def write_rows(connection: Connection, role: str, statement: str, values: Values) -> int:
    """Run *statement*; returns how many rows of the app it wrote."""
    async with acting_as(connection, role):
        cursor = await connection.execute(statement.encode(), values)
    return cursor.rowcount


async def load_chain(connection: Connection, role: str, query: str, values: Values) -> set[str]:
    """The ids that *query* returns: of a row, and of those above it."""
    async with acting_as(connection, role):
        cursor = await connection.execute(query.encode(), values)
        return {external_id for (external_id,) in await cursor.fetchall()}
