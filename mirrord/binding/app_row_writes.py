"""Writing one row of the app: locked if it still says what was read, written, and read again."""

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as ByKey
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from mirrord.binding.app_rows import AppRow
from mirrord.binding.mappings.mapping import Mapping, TableName
from mirrord.binding.new_pages import REFUSALS
from mirrord.binding.new_row import NewRow
from mirrord.binding.page_edits import RowChanges, json_of
from mirrord.binding.pass_state import AppSource, rows_of
from mirrord.binding.statements.bound_sql import role_of
from mirrord.binding.statements.write_statements import Types, WriteStatements
from mirrord.db.bindings import app_writes
from mirrord.db.database import Connection
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_properties import Json

# What a trigger, a policy or a missing grant of the app makes of a write is a problem of that row.
APP_REFUSALS = (*REFUSALS, psycopg.ProgrammingError, psycopg.NotSupportedError, psycopg.errors.InternalError_)
_HELD = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)


def is_refusal(error: Exception) -> bool:
    """Whether the row of the app or its page cannot be written; what passes by itself is no refusal."""
    is_of_app = type(error) is psycopg.DatabaseError  # an error with a code of the app's own
    return is_of_app or isinstance(error, (Damaged, *APP_REFUSALS))


class Outpaced(Exception):
    """A transaction of the app has the row, or changed it."""


@contextmanager
def _app_errors() -> Iterator[None]:
    """Raise Outpaced where other transactions hold what a write needs, Damaged for an error with a code of the app."""
    try:
        yield
    except _HELD as error:
        raise Outpaced from error
    except psycopg.DatabaseError as error:
        if type(error) is not psycopg.DatabaseError:
            raise
        raise Damaged(error.diag.message_primary or str(error)) from error


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
        return self._statements.delete_row() is not None

    async def lock(self, row: AppRow, *, with_body: bool) -> AppRow:
        """
        Lock *row*, so that nothing of the app changes it, and return what it says then.

        with_body: the row of its body will be written, too.

        Raises:
            Outpaced: a transaction of the app has it, or it is gone.
            Damaged: the app does not let it be written.
        """
        is_locked, *has_body = await self._try_locks(row.external_id)
        current = await self._load_row(row.external_id)
        if current is None:
            raise Outpaced
        if with_body and has_body == [False] and current.version.endswith(":"):
            raise Damaged("the app has no row for its body")
        if not is_locked or (with_body and has_body == [False]):
            raise Damaged("the app does not let it be written")
        return current

    async def write_at_once(self, row: AppRow, changes: RowChanges) -> AppRow | None:
        """
        Lock *row* and write *changes* in one round trip; returns it as the app then has it.

        None: nothing was written, because it has another version, or because that takes several statements.

        Raises:
            Outpaced: a transaction of the app has it.
            Damaged: the app does not keep what was written.
        """
        (statement, *others), values = self._updates_of(changes), self._values_with(row.external_id, changes)
        if others:
            return None
        reading = {"ids": [row.external_id], "tenant": self.source.tenant}
        acts = [
            *((lock, values) for lock in self._statements.locks),
            (self._statements.unless_changed(statement), values | {"version": row.version}),
            (self.source.statements.rows, reading),
        ]
        with _app_errors():
            *locks, written, rows = await app_writes.run_together(self.connection, self._role, acts)
        if written.count == 1 and not all(lock.count for lock in locks[: 2 if changes.body is not None else 1]):
            raise Damaged("the app does not let it be written")  # a policy hides a row from locks: this takes it back
        return _kept(changes, rows_of(rows.records), row, self.source.mapping) if written.count == 1 else None

    def _updates_of(self, changes: RowChanges) -> list[str]:
        """The statements that write *changes*."""
        statements, is_in_row = self._statements, self.source.mapping.body.table is None
        with_body = changes.body is not None
        of_page = []
        if changes.columns or (with_body and is_in_row):
            of_page = [statements.update_page(list(changes.columns), with_body=with_body and is_in_row)]
        return [*of_page, *([statements.update_body()] if with_body and not is_in_row else [])]

    def _values_with(self, external_id: str, changes: RowChanges) -> dict[str, Any]:
        values = self._values_of(external_id) | {"body": changes.body, "plain": changes.plain}
        return values | {"values": json_of(dict(changes.columns))}

    async def write(self, row: AppRow, changes: RowChanges) -> AppRow:
        """
        Write *changes* into a row that lock() locked; returns it as the app then has it.

        Raises Damaged if the app does not keep what was written.
        """
        values = self._values_with(row.external_id, changes)
        for statement in self._updates_of(changes):
            await self._run_statement(statement, values)
        rows = await self.source.load_rows(self.connection, [row.external_id])
        return _kept(changes, rows, row, self.source.mapping)

    async def create(self, values: NewRow) -> AppRow:
        """
        Add a row; returns it as the app then has it.

        Raises Damaged if it is no page of the mapping.
        """
        mapping = self.source.mapping
        external_id = await self._insert_into(mapping.page.table, values.of_page, values.times_of_page)
        if mapping.body.table is not None:
            of_body = {**values.of_body, mapping.body.id_column: external_id}
            await self._insert_into(mapping.body.table, of_body, values.times_of_body)
        current = await self._load_row(external_id)
        if current is None:
            raise Damaged("a new row does not fit `page.filter`: name its columns in `page.create`")
        return current

    async def _insert_into(self, table: TableName, values: ByKey[str, Any], times: Sequence[str]) -> str:
        statement = self._statements.insert_row(table, list(values), times)
        parameters = {"values": json_of(values)}
        with _app_errors():
            (external_id,) = await app_writes.load_ids(self.connection, self._role, statement, parameters)
        return external_id

    async def delete(self, row: AppRow) -> None:
        """Delete *row* in the way of the app. Raises Outpaced if it says something else, or a transaction has it."""
        statement = self._statements.delete_row()
        assert statement is not None
        if (await self.lock(row, with_body=False)).digest != row.digest:
            raise Outpaced
        await self._run_statement(statement, self._values_of(row.external_id))
        if await self._load_row(row.external_id) is not None:
            raise Damaged("the app keeps it after it was deleted")

    async def revive(self, external_id: str) -> AppRow | None:
        """
        Let a deleted row live again, and return it; None: there is none that is deleted only.

        Raises Outpaced if a transaction of the app has it.
        """
        statement, values = self._statements.revive_row(), self._values_of(external_id)
        if statement is None:
            return None
        with _app_errors():
            await app_writes.lock_rows(self.connection, self._role, [self._statements.lock_of_deleted], values)
            await app_writes.write_rows(self.connection, self._role, statement, values)
        return await self._load_row(external_id)

    async def load_following(self, parent: str | None, number: int, limit: int) -> list[tuple[str, str]]:
        """Ids and numbers, from *number* on, of the first *limit* rows below *parent*, in order; None: at the top."""
        values = {"tenant": self.source.tenant, "parent": parent, "number": number, "limit": limit}
        with _app_errors():
            return await app_writes.load_numbered(self.connection, self._role, self._statements.load_following, values)

    async def renumber(self, numbers: Sequence[tuple[str, int]]) -> None:
        """
        Give each row the number that follows the one that it has here; the highest of *numbers* first.

        Raises Outpaced if a transaction of the app has one of the rows, or gave it another number.
        """
        order = self.source.mapping.page.order
        assert order is not None
        values = {"tenant": self.source.tenant, "ids": [external_id for external_id, _ in numbers]}
        with _app_errors():
            locked = await app_writes.load_numbered(self.connection, self._role, self._statements.lock_numbered, values)
        if dict(locked) != {external_id: str(number) for external_id, number in numbers}:
            raise Outpaced
        for external_id, number in sorted(numbers, key=lambda pair: -pair[1]):
            await self._number(external_id, number + 1)

    async def step_aside(self, external_id: str) -> None:
        """Give a row that lock() locked a number behind all others, so that another may take its own."""
        query, values = self._statements.load_free_number, self._values_of(external_id)
        with _app_errors():
            ((_, number),) = await app_writes.load_numbered(self.connection, self._role, query, values)
        await self._number(external_id, int(number))

    async def load_space(self, external_id: str) -> str | None:
        """The space of a row; None: it is in none, or gone."""
        query, values = self._statements.load_space, self._values_of(external_id)
        spaces = await app_writes.load_ids(self.connection, self._role, query, values)
        return spaces[0] if spaces else None

    async def load_in_other_spaces(self, external_id: str, limit: int) -> list[str]:
        """The ids of the first *limit* rows below a row that are in another space."""
        values = self._values_of(external_id) | {"limit": limit}
        return await app_writes.load_ids(self.connection, self._role, self._statements.load_in_other_spaces, values)

    async def write_space(self, external_id: str, below: Sequence[str]) -> None:
        """
        Give the rows *below* the space of another one.

        Raises:
            Outpaced: a transaction of the app has one of them.
            Damaged: the app does not let one be written.
        """
        values = self._values_of(external_id) | {"ids": list(below)}
        acts = [(self._statements.lock_below, values), (self._statements.write_space, values)]
        with _app_errors():
            _, written = await app_writes.run_together(self.connection, self._role, acts)
        if written.count != len(below):
            raise Damaged("the app does not let a page below it be moved to another space")

    async def write_column(self, external_id: str, column: str, value: Json) -> None:
        """Set a column of a row that is locked."""
        values = self._values_of(external_id) | {"values": json_of({column: value})}
        await self._run_statement(self._statements.update_page([column], with_body=False), values)

    async def load_places(self, statement: str, values: ByKey[str, Any]) -> list[tuple[str, str]]:
        """The ids and paths that a statement returns. Raises Outpaced if a transaction of the app has a row."""
        values = {"tenant": self.source.tenant, **values}
        with _app_errors():
            return await app_writes.load_numbered(self.connection, self._role, statement, values)

    async def _number(self, external_id: str, number: int) -> None:
        order = self.source.mapping.page.order
        assert order is not None
        try:
            await self.write_column(external_id, order.column, number)
        except psycopg.errors.UniqueViolation as error:
            raise Damaged(
                f"the number {number} is that of a row which is no page of the app: give it another `position`"
            ) from error

    async def load_chain(self, external_id: str) -> set[str]:
        """The ids of a row and of those above it."""
        query = self._statements.load_ancestors()
        if query is None:
            return set()
        values = self._values_of(external_id)
        return set(await app_writes.load_ids(self.connection, self._role, query, values))

    async def _try_locks(self, external_id: str) -> list[bool]:
        """Lock the row, and that of its body; returns whether each was there to be locked."""
        values = self._values_of(external_id)
        with _app_errors():
            return await app_writes.lock_rows(self.connection, self._role, self._statements.locks, values)

    async def _run_statement(self, statement: str, values: ByKey[str, Any]) -> None:
        with _app_errors():
            count = await app_writes.write_rows(self.connection, self._role, statement, values)
        if count != 1:
            raise Damaged("the app does not let it be written")

    async def _load_row(self, external_id: str) -> AppRow | None:
        return (await self.source.load_rows(self.connection, [external_id])).get(external_id)

    def _values_of(self, external_id: str) -> dict[str, Any]:
        return {"id": external_id, "tenant": self.source.tenant}


def _kept(changes: RowChanges, rows: ByKey[str, AppRow], row: AppRow, mapping: Mapping) -> AppRow:
    """The row among *rows* that *row* became. Raises Damaged if the app hides it, or does not keep *changes*."""
    current = rows.get(row.external_id)
    if current is None:
        raise Damaged("the app hides it after a write")
    _check_kept(changes, current, mapping.front)
    return current


def _check_kept(changes: RowChanges, current: AppRow, front: ByKey[str, str]) -> None:
    """Raise Damaged if a column made another kind of value of what was written, such as a text of a list."""
    for key, column in front.items():
        if column in changes.columns and _kind_of(changes.columns[column]) != _kind_of(current.properties.get(key)):
            raise Damaged(f"the app's column {column} cannot hold such a value of `{key}`")


def _kind_of(value: object) -> type:
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)
