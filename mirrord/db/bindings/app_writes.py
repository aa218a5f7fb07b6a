"""Rows of an app, written with the rights of a binding's role."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mirrord.db.bindings.app_tables import AppRecord
from mirrord.db.bindings.bound_pages import acting_as, setting_of_author
from mirrord.db.database import Connection
from mirrord.db.transactions import unsent_statements

Values = Mapping[str, Any]

_APP_SETTINGS = b"""
SELECT set_config('mirrord.actor', %(actor)s, true), set_config('mirrord.mirror', '', true),
       set_config('mirrord.cascade', '', true), set_config('statement_timeout', %(timeout)s, true)"""


async def lock_rows(connection: Connection, role: str, locks: Sequence[str], values: Values) -> list[bool]:
    """Lock rows of the app until the transaction ends; returns whether each of the statements locked one."""
    async with acting_as(connection, role):
        cursors = [await connection.execute(statement.encode(), values) for statement in locks]
    return [cursor.rowcount > 0 for cursor in cursors]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement did: how many rows, and those that it returned."""

    count: int
    records: Sequence[AppRecord]


async def run_together(connection: Connection, role: str, acts: Sequence[tuple[str, Values]]) -> list[Answer]:
    """Run statements, each with its values, in one round trip; where one fails, those after it do not run."""
    async with acting_as(connection, role):
        cursors = [await connection.execute(statement.encode(), values) for statement, values in acts]
    return [
        Answer(cursor.rowcount, await cursor.fetchall() if cursor.description is not None else ()) for cursor in cursors
    ]


async def begin_app_part(connection: Connection, actor_name: str, milliseconds: int) -> None:
    """
    Let what follows in the pipelined_transaction() of a mirror run as in a pass of a binding.

    Pages that triggers of the app write then have *actor_name* as author and no mirror, and folders take what is in
    them along; nothing sets that back. Each statement takes *milliseconds* at most. COMMIT has no limit, since Postgres
    ends the timer before it commits: what is deferred is limited only because finish_changes() runs it, with SET
    CONSTRAINTS ALL IMMEDIATE.
    """
    values = {"actor": setting_of_author(actor_name), "timeout": str(milliseconds)}
    with unsent_statements(connection):
        await connection.execute(_APP_SETTINGS, values)


async def write_rows(connection: Connection, role: str, statement: str, values: Values) -> int:
    """Run *statement*; returns how many rows of the app it wrote."""
    async with acting_as(connection, role):
        cursor = await connection.execute(statement.encode(), values)
    return cursor.rowcount


async def load_numbered(connection: Connection, role: str, statement: str, values: Values) -> list[tuple[str, str]]:
    """The rows of *statement*, as texts: ids, each with a number or a path."""
    async with acting_as(connection, role):
        cursor = await connection.execute(statement.encode(), values)
    return await cursor.fetchall()


async def load_ids(connection: Connection, role: str, statement: str, values: Values) -> list[str]:
    """The ids of rows that *statement* returns."""
    async with acting_as(connection, role):
        cursor = await connection.execute(statement.encode(), values)
    return [external_id for (external_id,) in await cursor.fetchall()]
