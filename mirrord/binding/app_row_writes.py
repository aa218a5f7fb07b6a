"""Writing one row of the app: locked at the version that was read, written, and read again."""

from collections.abc import Mapping as ByKey
from dataclasses import dataclass
from typing import Any

import orjson

from mirrord.binding.app_rows import AppRow
from mirrord.binding.bound_sql import role_of
from mirrord.binding.page_edits import RowChanges
from mirrord.binding.pass_state import AppSource
from mirrord.binding.write_statements import Types, WriteStatements
from mirrord.db.bindings import app_writes
from mirrord.db.database import Connection
from mirrord.errors import Damaged


class Outpaced(Exception):
    """The row has another version than was read, or a transaction of the app has it."""


@dataclass(frozen=True, slots=True)
class AppRowWrites:
    """Writes rows of the app in the transaction of a pass. types: of the app's columns."""

    connection: Connection
    source: AppSource
    types: Types

    @property
    def _statements(self) -> WriteStatements:
        return WriteStatements(self.source.mapping, self.types)

    @property
    def _role(self) -> str:
        return role_of(self.source.binding)

    @property
    def can_delete(self) -> bool:
        """Whether the mapping has a way to delete a row."""
        return self._statements.delete() is not None

    async def write(self, row: AppRow, changes: RowChanges) -> AppRow:
        """
        Write *changes*; returns the row as the app then has it.

        Raises:
            Outpaced: the row has another version, or a transaction of the app has it; nothing was written.
            Damaged: the app does not keep what was written.
        """
        await self._lock(row)
        statements, mapping = self._statements, self.source.mapping
        values = self._values_of(row) | {"body": changes.body, "plain": changes.plain}
        values["values"] = orjson.dumps(dict(changes.columns)).decode()
        is_in_row = changes.body is not None and mapping.body.table is None
        if changes.columns or is_in_row:
            await self._run(statements.update_page(list(changes.columns), with_body=is_in_row), values)
        if changes.body is not None and mapping.body.table is not None:
            await self._run(statements.update_body(), values)
        current = await self._load(row.external_id)
        if current is None:
            raise Damaged("the app hides it after a write")
        _check_kept(changes, current, self.source.mapping.front)
        return current

    async def delete(self, row: AppRow) -> None:
        """Delete *row* in the way of the app. Raises Outpaced as write() does."""
        statement = self._statements.delete()
        assert statement is not None
        await self._lock(row)
        await self._run(statement, self._values_of(row))
        if await self._load(row.external_id) is not None:
            raise Damaged("the app keeps it after it was deleted")

    async def revive(self, external_id: str) -> AppRow | None:
        """Let a deleted row live again, and return it; None: there is none that is deleted only."""
        statement = self._statements.revive()
        if statement is None:
            return None
        values = {"id": external_id, "tenant": self.source.tenant}
        await app_writes.write_rows(self.connection, self._role, statement, values)
        return await self._load(external_id)

    async def load_chain(self, external_id: str) -> set[str]:
        """The ids of a row and of those above it."""
        query = self._statements.ancestors()
        if query is None:
            return set()
        values = {"id": external_id, "tenant": self.source.tenant}
        return await app_writes.load_chain(self.connection, self._role, query, values)

    async def _lock(self, row: AppRow) -> None:
        if not await app_writes.lock_rows(self.connection, self._role, self._statements.locks, self._values_of(row)):
            raise Outpaced

    async def _run(self, statement: str, values: ByKey[str, Any]) -> None:
        if await app_writes.write_rows(self.connection, self._role, statement, values) != 1:
            raise Damaged("the app does not let it be written")

    async def _load(self, external_id: str) -> AppRow | None:
        return (await self.source.load_rows(self.connection, [external_id])).get(external_id)

    def _values_of(self, row: AppRow) -> dict[str, Any]:
        page_version, _, body_version = row.version.partition(":")
        return {
            "id": row.external_id,
            "tenant": self.source.tenant,
            "page_version": page_version,
            "body_version": body_version,
        }


def _check_kept(changes: RowChanges, current: AppRow, front: ByKey[str, str]) -> None:
    """Raise Damaged if a column made another kind of value of what was written, such as a text of a list."""
    for key, column in front.items():
        if column in changes.columns and _kind_of(changes.columns[column]) != _kind_of(current.properties.get(key)):
            raise Damaged(f"the app's column {column} cannot hold such a value of `{key}`")


def _kind_of(value: object) -> type:
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)
