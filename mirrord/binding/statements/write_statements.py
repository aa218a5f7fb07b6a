"""The SQL by which a binding in mode `both` writes rows of the app, as text."""

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as ByKey

from mirrord.binding.mappings.mapping import Mapping, TableName, columns_of_new_rows, columns_written
from mirrord.binding.mappings.write_rules import NEXT, NOW, Creation, Touch
from mirrord.binding.statements.bound_sql import (
    SCHEMA,
    Tables,
    installation_statements,
    quote_literal,
    quote_name,
    quote_table,
    renewal_statements,
    role_of,
)
from mirrord.binding.statements.row_queries import condition_of, match_of, parent_of, select_version
from mirrord.domain.entry import TenantId
from mirrord.errors import UserError

Types = ByKey[str, ByKey[str, str]]  # of columns, by table and name

_UTC = "(clock_timestamp() AT TIME ZONE 'UTC')"
_TIMES = {"timestamp with time zone": "clock_timestamp()", "date": f"{_UTC}::date"}
_NUMBERS = ("smallint", "integer", "bigint", "numeric")


class WriteStatements:
    """
    Statements that write one row of the app. types: of the app's columns.

    Their parameters are `id`, the row's, and `tenant`; those of a statement with values have `values`, a JSON object of
    columns, and `body` and `plain`.
    """

    def __init__(self, mapping: Mapping, types: Types) -> None:
        self._mapping = mapping
        self._types = types
        self._page, self._table = mapping.page, quote_table(mapping.page.table)
        self._is_page = f"p.{quote_name(self._page.id)} = %(id)s::{self._type_of(self._page.table, self._page.id)}"

    @property
    def locks(self) -> Sequence[str]:
        """Statements that lock the row, and that of its body if it has a table; they fail if a transaction has it."""
        end = "FOR NO KEY UPDATE NOWAIT"
        locks = [f"SELECT FROM {self._table} AS p WHERE {self._is_page} AND {condition_of(self._mapping)} {end}"]
        if self._mapping.body.table is not None:
            table = quote_table(self._mapping.body.table)
            locks.append(f"SELECT FROM {table} AS b WHERE {self._matched_body} {end}")
        return locks

    @property
    def lock_of_deleted(self) -> str:
        """The statement that locks the row, also if it is deleted; it fails if a transaction has it."""
        condition = condition_of(self._mapping, is_living=False)
        return f"SELECT FROM {self._table} AS p WHERE {self._is_page} AND {condition} FOR NO KEY UPDATE NOWAIT"

    def update_page(self, columns: Sequence[str], *, with_body: bool) -> str:
        """The statement that sets *columns* of the page's row. with_body: its body, too, which is in the same row."""
        sets = [self._sets_of_body()] if with_body else []
        if columns:
            types = self._types[str(self._page.table)]
            names = [quote_name(column) for column in columns]
            record = ", ".join(f"{name} {types[column]}" for name, column in zip(names, columns, strict=True))
            values = ", ".join(f"x.{name}" for name in names)
            sets.append(
                f"({', '.join(names)}) = (SELECT {values} FROM jsonb_to_record(%(values)s::jsonb) AS x ({record}))"
            )
        return self._update_statement(sets)

    def update_body(self) -> str:
        """The statement that sets the body where it has a table of its own."""
        assert self._mapping.body.table is not None
        assert self._mapping.writes is not None
        sets = [
            self._sets_of_body(),
            *self._touch_statements("b", self._mapping.body.table, self._mapping.writes.of_body),
        ]
        return f"UPDATE {quote_table(self._mapping.body.table)} AS b SET {', '.join(sets)} WHERE {self._matched_body}"

    def unless_changed(self, update: str) -> str:
        """*update*, of the row that still has the version `version`."""
        return f"{update} AND %(version)s IN ({select_version(self._mapping, self._is_page)})"

    def insert_row(self, table: TableName, columns: Sequence[str], times: Sequence[str]) -> str:
        """The statement that adds a row with *columns* of `values`, and the time in *times*; it returns its id."""
        types = self._types[str(table)]
        names = [quote_name(column) for column in columns]
        record = ", ".join(f"{name} {types[column]}" for name, column in zip(names, columns, strict=True))
        selected = [f"x.{name}" for name in names] + [self._now_expression(table, column) for column in times]
        key = self._page.id if table == self._page.table else self._mapping.body.id_column
        return (
            f"INSERT INTO {quote_table(table)} ({', '.join([*names, *map(quote_name, times)])})\n"
            f"SELECT {', '.join(selected)} FROM jsonb_to_record(%(values)s::jsonb) AS x ({record})\n"
            f"RETURNING {quote_name(key)}::text"
        )

    def delete_row(self) -> str | None:
        """The statement that deletes the row; None: the mapping has no way to."""
        assert self._mapping.writes is not None
        if self._mapping.writes.removes_rows:
            return f"DELETE FROM {self._table} AS p WHERE {self._is_page}"
        column = self._page.deleted
        if column is None:
            return None
        is_boolean = self._type_of(self._page.table, column) == "boolean"
        return self._update_statement(
            [f"{quote_name(column)} = {'true' if is_boolean else self._now_expression(self._page.table, column)}"]
        )

    def revive_row(self) -> str | None:
        """The statement that makes a deleted row live again; None: deleted rows are removed."""
        column = self._page.deleted
        if column is None:
            return None
        is_boolean = self._type_of(self._page.table, column) == "boolean"
        revived = [f"{quote_name(column)} = {'false' if is_boolean else 'NULL'}"]
        condition = condition_of(self._mapping, is_living=False)
        return f"{self._update_statement(revived)} AND {condition}"

    def load_ancestors(self) -> str | None:
        """The statement that returns the ids of the row `id` and of all above it; None: rows have no parents."""
        if self._page.parent is None:
            return None
        key, parent = quote_name(self._page.id), quote_name(self._page.parent)
        return (
            f"WITH RECURSIVE above (id, parent) AS (\n"
            f"    SELECT p.{key}::text, p.{parent}::text FROM {self._table} AS p WHERE {self._is_page}\n"
            f"    UNION SELECT p.{key}::text, p.{parent}::text FROM {self._table} AS p\n"
            f"      JOIN above AS a ON a.parent = p.{key}::text)\n"
            "SELECT id FROM above"
        )

    @property
    def load_space(self) -> str:
        """The statement that returns the space of the row `id`."""
        return f"SELECT {self._space}::text FROM {self._table} AS p WHERE {self._is_page}"

    @property
    def load_in_other_spaces(self) -> str:
        """The statement that returns the ids of `limit` rows below the row `id` that are in another space."""
        assert self._page.parent is not None
        key, parent, space = (quote_name(name) for name in (self._page.id, self._page.parent, self._page.space or ""))
        return (
            f"WITH RECURSIVE below (id, space) AS (\n"
            f"    SELECT p.{key}, p.{space} FROM {self._table} AS p WHERE {self._is_page}\n"
            f"    UNION SELECT p.{key}, b.space FROM {self._table} AS p JOIN below AS b ON p.{parent} = b.id\n"
            f"     WHERE {condition_of(self._mapping)})\n"
            f"SELECT p.{key}::text FROM {self._table} AS p JOIN below AS b ON p.{key} = b.id\n"
            f" WHERE p.{space} IS DISTINCT FROM b.space LIMIT %(limit)s"
        )

    @property
    def lock_below(self) -> str:
        """The statement that locks the rows `ids`; it fails if a transaction has one."""
        return f"SELECT FROM {self._table} AS p WHERE {self._are_pages} FOR NO KEY UPDATE NOWAIT"

    @property
    def write_space(self) -> str:
        """The statement that gives the rows `ids` the space of the row `id`."""
        assert self._mapping.writes is not None
        of_row = f"SELECT {self._space} FROM {self._table} AS p WHERE {self._is_page}"
        touches = self._touch_statements("p", self._page.table, self._mapping.writes.of_page)
        sets = ", ".join([f"{quote_name(self._page.space or '')} = ({of_row})", *touches])
        return f"UPDATE {self._table} AS p SET {sets} WHERE {self._are_pages}"

    @property
    def _space(self) -> str:
        assert self._page.space is not None
        return f"p.{quote_name(self._page.space)}"

    @property
    def _are_pages(self) -> str:
        kind = self._type_of(self._page.table, self._page.id)
        return f"p.{quote_name(self._page.id)} = ANY (%(ids)s::text[]::{kind}[])"

    @property
    def load_following(self) -> str:
        """The statement that returns ids and numbers, from `number` on, of `limit` rows below `parent`, in order."""
        column = self._order_column
        parent = parent_of(self._page) or "NULL::text"
        return (
            f"SELECT p.{quote_name(self._page.id)}::text, {column}::text FROM {self._table} AS p\n"
            f" WHERE {column} >= %(number)s AND {parent} IS NOT DISTINCT FROM %(parent)s\n"
            f"   AND {condition_of(self._mapping)} ORDER BY {column} LIMIT %(limit)s"
        )

    @property
    def load_free_number(self) -> str:
        """The statement that returns the id `id` and a number behind those of all rows that the binding may see."""
        column = self._order_column
        return f"SELECT %(id)s::text, (coalesce(max({column}), 0) + 1)::text FROM {self._table} AS p"

    @property
    def lock_numbered(self) -> str:
        """The statement that locks the rows `ids` and returns them with their numbers; it fails if one is not free."""
        key, kind = f"p.{quote_name(self._page.id)}", self._type_of(self._page.table, self._page.id)
        return (
            f"SELECT {key}::text, {self._order_column}::text FROM {self._table} AS p\n"
            f" WHERE {key} = ANY (%(ids)s::text[]::{kind}[]) AND {condition_of(self._mapping)}\n"
            f" ORDER BY {key} FOR NO KEY UPDATE NOWAIT"
        )

    @property
    def _order_column(self) -> str:
        assert self._page.order is not None
        return f"p.{quote_name(self._page.order.column)}"

    def check_touches(self) -> None:
        """Raise UserError if a touched column cannot have the value that the mapping gives it."""
        assert self._mapping.writes is not None
        list(self._touch_statements("p", self._page.table, self._mapping.writes.of_page))
        if self._mapping.body.table is not None:
            list(self._touch_statements("b", self._mapping.body.table, self._mapping.writes.of_body))
        self.delete_row()
        creation = self._mapping.writes.creation or Creation()
        for table, touches in ((self._page.table, creation.of_page), (self._mapping.body.table, creation.of_body)):
            for touch in touches:
                if table is not None and not touch.is_constant and touch.value == NOW:
                    self._now_expression(table, touch.column)

    def _update_statement(self, sets: Sequence[str]) -> str:
        assert self._mapping.writes is not None
        touches = self._touch_statements("p", self._page.table, self._mapping.writes.of_page)
        return f"UPDATE {self._table} AS p SET {', '.join([*sets, *touches])} WHERE {self._is_page}"

    def _sets_of_body(self) -> str:
        assert self._mapping.writes is not None
        body = f"{quote_name(self._mapping.body.column)} = %(body)s"
        plain = self._mapping.writes.plain
        return body if plain is None else f"{body}, {quote_name(plain)} = %(plain)s"

    @property
    def _matched_body(self) -> str:
        body = self._mapping.body
        assert body.table is not None
        key = f"%(id)s::{self._type_of(body.table, body.id_column)}"
        return " AND ".join(match_of(match, key) for match in body.matches)

    def _touch_statements(self, alias: str, table: TableName, touches: Sequence[Touch]) -> Iterator[str]:
        for touch in touches:
            name = quote_name(touch.column)
            if touch.is_constant:
                yield f"{name} = {quote_literal(touch.value).replace('%', '%%')}"
            elif touch.value == NEXT:
                if not self._type_of(table, touch.column).startswith(_NUMBERS):
                    raise UserError(f"{table}.{touch.column} is no number, and cannot be the next one.")
                yield f"{name} = coalesce({alias}.{name}, 0) + 1"
            else:
                yield f"{name} = {self._now_expression(table, touch.column)}"

    def _now_expression(self, table: TableName, column: str) -> str:
        kind = self._type_of(table, column)
        if kind in _TIMES:
            return _TIMES[kind]
        if kind.startswith("timestamp"):
            return "clock_timestamp()" if kind.endswith("with time zone") else _UTC
        if kind == "text" or kind.startswith("character"):
            return f"""to_char({_UTC}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""
        raise UserError(f"{table}.{column} is of type {kind}, and cannot hold a time.")

    def _type_of(self, table: TableName, column: str) -> str:
        return self._types[str(table)][column]


_SEQUENCES = """\
DO $$
DECLARE
    sequence text;
BEGIN  -- of serial columns, whose defaults new rows get
    FOR sequence IN
        SELECT pg_get_serial_sequence({table}, attname) FROM pg_attribute
         WHERE attrelid = {table}::regclass AND attnum > 0 AND NOT attisdropped AND atthasdef
    LOOP
        IF sequence IS NOT NULL THEN
            EXECUTE 'GRANT USAGE ON SEQUENCE ' || sequence || ' TO {role}';
        END IF;
    END LOOP;
END
$$"""


def _write_grants(tenant: TenantId, mapping: Mapping) -> list[str]:
    """The grants that a binding needs beside those for reading; of mode `in`, one with links only."""
    written, role = columns_written(mapping), quote_name(role_of(mapping.binding_id(tenant)))
    has_later_rows = bool(written) or mapping.links is not None
    grants = [f"GRANT INSERT ON {SCHEMA}.change TO mirrord_daemon"] if has_later_rows else []
    for table, columns in written.items():
        names = ", ".join(map(quote_name, columns))
        grants += [f"GRANT {right} ({names}) ON {quote_table(table)} TO {role}" for right in ("SELECT", "UPDATE")]
    for table, columns in columns_of_new_rows(mapping).items():
        grants.append(f"GRANT INSERT ({', '.join(map(quote_name, columns))}) ON {quote_table(table)} TO {role}")
        grants.append(_SEQUENCES.format(table=quote_literal(quote_table(table)), role=role))
    if mapping.writes is not None and mapping.writes.removes_rows:
        grants.append(f"GRANT DELETE ON {quote_table(mapping.page.table)} TO {role}")
    return grants


def all_installation(tenant: TenantId, mapping: Mapping, tables: Tables, *, has_queue: bool) -> list[str]:
    """Every statement of `bind add`: what reading needs, and the grants for writing."""
    return [*installation_statements(tenant, mapping, tables, has_queue=has_queue), *_write_grants(tenant, mapping)]


def all_renewal(tenant: TenantId, mapping: Mapping, tables: Tables, *, has_queue: bool) -> list[str]:
    """Every statement of `bind resume`."""
    return [*renewal_statements(tenant, mapping, tables, has_queue=has_queue), *_write_grants(tenant, mapping)]
