"""The rows of an app, read with the rights of a binding's role."""

from collections.abc import Collection
from typing import Any

from mirrord.db.bindings.bound_pages import acting_as
from mirrord.db.database import Connection

AppRecord = tuple[Any, ...]  # in the order of bound_sql: id, parent, title, position, version, body, properties


async def load_rows(
    connection: Connection, role: str, query: str, ids: Collection[str], tenant: str
) -> list[AppRecord]:
    """The living rows with *ids*."""
    if not ids:
        return []
    async with acting_as(connection, role):
        cursor = await connection.execute(query.encode(), {"ids": list(ids), "tenant": tenant})
    return await cursor.fetchall()


async def load_versions(connection: Connection, role: str, query: str, tenant: str) -> list[AppRecord]:
    """The ids and versions of all living rows, with their paths where they have them."""
    async with acting_as(connection, role):
        cursor = await connection.execute(query.encode(), {"ids": [], "tenant": tenant})
    return await cursor.fetchall()
