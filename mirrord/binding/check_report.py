"""What a binding would do: every statement, and a dry run over all rows of the app. Nothing is written."""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from mirrord.binding.app_checks import fingerprint_of, load_tables
from mirrord.binding.app_rows import AppRow, text_of
from mirrord.binding.files.file_check import check_files
from mirrord.binding.files.file_source import file_source_of
from mirrord.binding.mappings.mapping import Mapping as BoundMapping
from mirrord.binding.mappings.mapping import columns_of_new_rows, columns_written, entry_id_of
from mirrord.binding.pass_state import rows_of
from mirrord.binding.paths.row_paths import folder_rows, folders_of, ids_by_path, placed_rows
from mirrord.binding.row_order import order_rows
from mirrord.binding.statements.bound_sql import Tables
from mirrord.binding.statements.row_queries import select_all
from mirrord.binding.statements.write_statements import all_installation
from mirrord.db.bindings import app_catalogue
from mirrord.db.bindings.app_tables import AppRecord
from mirrord.db.content import dialect_rows
from mirrord.db.database import Connection
from mirrord.domain.entry import TenantId
from mirrord.domain.place import name_key
from mirrord.errors import Damaged, UserError

_FETCH_ROWS = 500  # rows per fetch
MAX_TITLE_CHARACTERS = 200  # a longer title is cut in the name of the file


@dataclass(slots=True)
class CheckReport:
    """
    What a binding would do.

    statements: of `bind add`. files: None: the mapping has none. failures: why rows are not carried over, by title.
    clashes: titles that are the same name in one place. orphans, cyclic: titles of rows whose parent is not there, and
    of those below themselves. warnings: what an operator should know. written: the columns that mirrord writes, by
    table.
    created: those that it gives to new rows.
    """

    statements: list[str]
    pages: int = 0
    files: int | None = None
    failures: list[tuple[str, str]] = field(default_factory=list)
    clashes: list[list[str]] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    cyclic: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    written: Mapping[str, Sequence[str]] = field(default_factory=dict)
    created: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def facts(self) -> Mapping[str, Any]:
        """The report as JSON."""
        return {
            "pages": self.pages,
            **({"files": self.files} if self.files is not None else {}),
            "failures": [{"title": title, "reason": reason} for title, reason in self.failures],
            "clashes": self.clashes,
            "orphans": self.orphans,
            "cycles": self.cyclic,
            "warnings": self.warnings,
            "written": {table: list(columns) for table, columns in self.written.items()},
            "created": {table: list(columns) for table, columns in self.created.items()},
            "sql": self.statements,
        }


def tenant_value(mapping: BoundMapping, tenant: str) -> str:
    """The value of the app's tenant column for *tenant*. Raises UserError if the mapping has none."""
    value = mapping.tenancy.value_of(tenant)
    if value is None:
        names = ", ".join(sorted(set(mapping.tenancy.tenants.values())))
        raise UserError(f"The mapping has no rows of the tenant {tenant!r}; it names {names}.")
    return value


async def check_binding(connection: Connection, mapping: BoundMapping, name: str, tenant: TenantId) -> CheckReport:
    """What the binding would do in the tenant *name*. Raises UserError if the tables of the app cannot be bound."""
    value = tenant_value(mapping, name)
    async with connection.transaction():
        await connection.execute("SET TRANSACTION READ ONLY")
        tables = await load_tables(connection, mapping)
        binding = mapping.binding_id(tenant)
        statements = all_installation(tenant, mapping, tables, has_queue=await app_catalogue.has_queue(connection))
        written = {str(table): columns for table, columns in columns_written(mapping).items()}
        new = {str(table): columns for table, columns in columns_of_new_rows(mapping).items()}
        report = CheckReport(statements, warnings=_warnings_of(mapping, tables), written=written, created=new)
        spoken = replace(mapping, dialect=await dialect_rows.load_dialect(connection, tenant))
        if (files := file_source_of(mapping, fingerprint_of(tables), "", value)) is not None:
            report.files, failures = await check_files(connection, files)
            report.failures += failures
        records = [record async for record in _read_all(connection, spoken, value, report, binding)]
    rows = rows_of(records)
    if mapping.page.path is not None:
        ids_at = ids_by_path(rows)
        rows = placed_rows(rows, ids_at) | folder_rows(folders_of(ids_at.keys()), ids_at)
    _judge_places(rows, report)
    return report


async def _read_all(
    connection: Connection, mapping: BoundMapping, tenant: str, report: CheckReport, binding: UUID
) -> AsyncIterator[AppRecord]:
    """The records of all rows without their bodies, which are tried one by one."""
    async with connection.cursor(name="bound_rows") as cursor:
        cursor.itersize = _FETCH_ROWS
        await cursor.execute(select_all(mapping).encode(), {"tenant": tenant})
        async for record in cursor:
            rows = rows_of([record])
            (row,) = (rows if mapping.page.path is None else placed_rows(rows, {})).values()
            try:
                text_of(entry_id_of(binding, row.external_id), row, mapping)
            except Damaged as damaged:
                report.failures.append((row.title or row.external_id, str(damaged)))
            external_id, parent, title, position, version, _, _ = record
            yield external_id, parent, title, position, version, None, "{}"


def _judge_places(rows: Mapping[str, AppRow], report: CheckReport) -> None:
    order = order_rows({external_id: row.parent for external_id, row in rows.items()})
    report.pages = len(rows)
    report.orphans = [rows[external_id].title or external_id for external_id in sorted(order.orphans)]
    report.cyclic = [rows[external_id].title or external_id for external_id in sorted(order.cyclic)]
    places = defaultdict[tuple[str | None, str], list[str]](list)
    for external_id, row in rows.items():
        parent = None if external_id in order.orphans or external_id in order.cyclic else row.parent
        places[parent, name_key(row.name)].append(row.title)
    report.clashes = [titles for titles in places.values() if len(titles) > 1]
    if doubled := [row.title for row in rows.values() if row.bodies > 1]:
        report.failures += [(title, "it has several bodies, and `body.match` must leave one") for title in doubled]
    if long_titles := sum(len(row.title) > MAX_TITLE_CHARACTERS for row in rows.values()):
        report.warnings.append(f"{long_titles} titles are so long that the names of their files are cut.")


def _warnings_of(mapping: BoundMapping, tables: Tables) -> list[str]:
    warnings = [
        f"{table} has row-level security: the binding sees the rows that its policies show to the new role."
        for table, facts in tables.items()
        if facts.has_policies
    ]
    if mapping.page.deleted is None:
        warnings.append("`page.deleted` is not set: only rows that are removed count as deleted.")
    return warnings
