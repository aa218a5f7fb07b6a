"""What Postgres' catalogue says about the tables of an app."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mirrord.db.database import Connection

ID_TYPES = ("text", "uuid", "smallint", "integer", "bigint")  # and character types
_CHARACTERS = re.compile(r"character( varying)?(\(\d+\))?")


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """
    A column. type: as `format_type` writes it. oid: of the type.

    is_plain: its type is one of Postgres' own, or a list of names: comparing its values calls no function of the app.
    """

    type: str
    is_plain: bool
    oid: int

    @property
    def may_be_id(self) -> bool:
        """Whether an id can be of this type."""
        return self.is_plain and (self.type in ID_TYPES or _CHARACTERS.fullmatch(self.type) is not None)


@dataclass(frozen=True, slots=True)
class TableFacts:
    """
    A table. kind: as in pg_class, `r` or `p` for a table. columns: those that were asked for and exist, by name.

    unique_columns: columns of which every value is in one row only. has_policies: row-level security is on.
    """

    kind: str
    columns: Mapping[str, ColumnFacts]
    unique_columns: frozenset[str]
    has_policies: bool


_TABLE = """
SELECT c.oid, c.relkind::text, c.relrowsecurity FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE n.nspname = %s AND c.relname = %s"""
_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typnamespace = 'pg_catalog'::regnamespace OR t.typtype = 'e',
       t.oid::bigint
  FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
 WHERE a.attrelid = %s AND a.attname = ANY (%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""
_EXISTING = """
SELECT sought.schema_name, sought.table_name
  FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS sought (schema_name, table_name, number)
  JOIN pg_namespace AS n ON n.nspname = sought.schema_name
  JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = sought.table_name AND c.relkind IN ('r', 'p')
 ORDER BY sought.number"""
_UNIQUE = """
SELECT a.attname FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
 WHERE i.indrelid = %s AND i.indisunique AND i.indnkeyatts = 1 AND i.indpred IS NULL AND i.indisvalid"""
_TRIGGERS = """
SELECT count(*) FROM pg_trigger
 WHERE tgname = %s AND tgparentid = 0 AND NOT tgisinternal AND tgenabled IN ('O', 'A')"""  # not those of partitions


async def load_table(connection: Connection, schema: str, name: str, columns: Sequence[str]) -> TableFacts | None:
    """The facts about a table and those of its *columns* that exist; None: there is no such table."""
    row = await (await connection.execute(_TABLE, (schema, name))).fetchone()
    if row is None:
        return None
    table, kind, has_policies = row
    of_columns = await (await connection.execute(_COLUMNS, (table, list(columns)))).fetchall()
    unique = await (await connection.execute(_UNIQUE, (table,))).fetchall()
    facts = {column: ColumnFacts(type_name, is_plain, oid) for column, type_name, is_plain, oid in of_columns}
    return TableFacts(kind, facts, frozenset(column for (column,) in unique), has_policies)


async def existing_tables(connection: Connection, tables: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those of *tables*, each a schema and a name, that exist, in their order."""
    values = [[table[part] for table in tables] for part in range(2)]
    return await (await connection.execute(_EXISTING, values)).fetchall()


async def has_queue(connection: Connection) -> bool:
    """Whether a binding made the queue of changed rows."""
    cursor = await connection.execute(
        "SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'mirrord_bind' AND c.relname = 'change'"
    )
    return await cursor.fetchone() is not None


async def count_triggers(connection: Connection, name: str) -> int:
    """How many triggers called *name* fire."""
    row = await (await connection.execute(_TRIGGERS, (name,))).fetchone()
    return int(row[0]) if row else 0
