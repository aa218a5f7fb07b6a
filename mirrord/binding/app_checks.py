"""The app's tables against a mapping: what the mapping names is there, of a type that works, and as it was before."""

from collections.abc import Mapping as ByKey
from collections.abc import Sequence

from mirrord.binding.mappings.mapping import FileTable, Mapping, PageTable, TableName, columns_used
from mirrord.binding.statements.bound_sql import Tables
from mirrord.binding.statements.write_statements import WriteStatements
from mirrord.db.bindings import app_catalogue
from mirrord.db.bindings.app_catalogue import TableFacts
from mirrord.db.database import Connection
from mirrord.errors import UserError

_TABLE_KINDS = ("r", "p")  # of pg_class: ordinary and partitioned
_WHAT_KIND = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}

Fingerprint = dict[str, dict[str, str]]


async def load_tables(connection: Connection, mapping: Mapping) -> dict[TableName, TableFacts]:
    """The tables of *mapping*. Raises UserError if one of them, or a column, cannot be bound."""
    tables = {}
    for table, columns in columns_used(mapping).items():
        facts = await app_catalogue.load_table(connection, table.schema, table.name, columns)
        _check_table(table, columns, facts)
        assert facts is not None
        tables[table] = facts
    _check_ids(mapping, tables)
    if mapping.writes is not None:
        WriteStatements(mapping, fingerprint_of(tables)).check_touches()
    return tables


def _check_table(table: TableName, columns: Sequence[str], facts: TableFacts | None) -> None:
    if facts is None:
        raise UserError(f"There is no table {table}.")
    if facts.kind not in _TABLE_KINDS:
        kind = _WHAT_KIND.get(facts.kind, "no table")
        raise UserError(f"{table} is {kind}: its rows have no version. Bind the table below it, with `page.filter`.")
    if missing := [column for column in columns if column not in facts.columns]:
        raise UserError(f"{table} has no column {', '.join(missing)}.")
    for name, column in facts.columns.items():
        if not column.is_plain:
            raise UserError(
                f"{table}.{name} is of type {column.type}, which is none of Postgres' own: reading it would run "
                "functions of the app with mirrord's rights."
            )


def _check_ids(mapping: Mapping, tables: Tables) -> None:
    page, body = mapping.page, mapping.body
    columns = tables[page.table].columns
    if not columns[page.id].may_be_id:
        raise UserError(f"{page.table}.{page.id} is of type {columns[page.id].type}; ids are texts, numbers or uuids.")
    if page.id not in tables[page.table].unique_columns:
        raise UserError(f"{page.table}.{page.id} is no id: several rows may have the same value.")
    if page.path is not None and not _is_text(columns[page.path].type):
        raise UserError(f"{page.table}.{page.path} is of type {columns[page.path].type}; a path is a text.")
    referring = [(page.table, page.parent)] if page.parent is not None else []
    if body.table is not None:
        referring.append((body.table, body.id_column))
    for table, column in referring:
        _check_reference(tables, (table, column), (page.table, page.id))
    if mapping.space is not None and page.space is not None:
        _check_key(tables, mapping.space.table, mapping.space.id)
        _check_reference(tables, (page.table, page.space), (mapping.space.table, mapping.space.id))
    if mapping.files is not None:
        _check_files(tables, mapping.files, page)


def _check_key(tables: Tables, table: TableName, key: str) -> None:
    """Raise UserError if the column *key* cannot be the id of rows."""
    if not tables[table].columns[key].may_be_id or key not in tables[table].unique_columns:
        raise UserError(f"{table}.{key} is no id: it must be a unique text, number or uuid.")


def _check_files(tables: Tables, files: FileTable, page: PageTable) -> None:
    _check_key(tables, files.table, files.id)
    _check_reference(tables, (files.table, files.page), (page.table, page.id))
    columns = tables[files.table].columns
    if files.bytes is not None and columns[files.bytes].type != "bytea":
        raise UserError(f"{files.table}.{files.bytes} is of type {columns[files.bytes].type}; bytes are a bytea.")


def _check_reference(tables: Tables, source: tuple[TableName, str], target: tuple[TableName, str]) -> None:
    """Raise UserError if the column *source* cannot be compared with the column *target*."""
    (table, column), (target_table, key) = source, target
    type_name, type_of_key = tables[table].columns[column].type, tables[target_table].columns[key].type
    if type_name != type_of_key and not (_is_text(type_name) and _is_text(type_of_key)):
        raise UserError(
            f"{table}.{column} is of type {type_name} and cannot be compared with {key}, "
            f"which is of type {type_of_key}."
        )


def _is_text(type_name: str) -> bool:
    return type_name == "text" or type_name.startswith("character")


def fingerprint_of(tables: Tables) -> Fingerprint:
    """The types of all columns of *tables*, by table and name."""
    return {
        str(table): {name: column.type for name, column in facts.columns.items()} for table, facts in tables.items()
    }


def describe_changes(before: ByKey[str, ByKey[str, str]], now: ByKey[str, ByKey[str, str]]) -> list[str]:
    """What changed in the app's tables, a sentence for each column."""
    sentences = []
    for table, columns in before.items():
        for name, type_name in columns.items():
            current = now.get(table, {}).get(name)
            if current is None:
                sentences.append(f"{table}.{name} is gone.")
            elif current != type_name:
                sentences.append(f"{table}.{name} was of type {type_name} and is of type {current}.")
    return sentences


def columns_of(mapping: Mapping) -> list[tuple[str, str, str]]:
    """Schema, table and name of each column of *mapping*."""
    return [(table.schema, table.name, name) for table, names in columns_used(mapping).items() for name in names]
