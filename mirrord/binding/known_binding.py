"""A binding as the last pass of a daemon knew it, so that the next one can ask for everything at once."""

from collections.abc import Mapping as ByKey
from dataclasses import dataclass, replace
from functools import lru_cache
from uuid import UUID

from mirrord.binding.app_checks import columns_of
from mirrord.binding.files.file_source import file_source_of
from mirrord.binding.intake import actor_name_of
from mirrord.binding.mappings.mapping import FILE_PREFIX, Mapping
from mirrord.binding.mappings.mapping_file import parse_mapping
from mirrord.binding.pass_state import AppSource
from mirrord.binding.statements.bound_sql import latch_of, role_of
from mirrord.binding.statements.path_queries import path_statements
from mirrord.binding.statements.row_queries import app_statements
from mirrord.db.bindings.binding_rows import BindingRow
from mirrord.db.bindings.pass_beginning import PassBeginning, PassQuestions
from mirrord.domain.dialect import Dialect

_parsed = lru_cache(maxsize=256)(parse_mapping)


@dataclass(frozen=True, slots=True)
class KnownBinding:
    """A binding, and where its rows are. tenant: its name."""

    row: BindingRow
    tenant: str
    source: AppSource

    def questions(self, *, is_early: bool) -> PassQuestions:
        """What a pass asks for as it begins. is_early: rows, too, which have no paths and are not compared."""
        mapping = self.source.mapping
        rows = self.source.noted_query if is_early and self.source.paths is None else None
        files = FILE_PREFIX if mapping.files is not None else None  # elsewhere a row may have such an id
        return PassQuestions(self.row, actor_name_of(self.row), latch_of(self.row.id), columns_of(mapping), rows, files)

    def renewed(self, beginning: PassBeginning) -> "KnownBinding":
        """The binding as it is now."""
        row, dialect = beginning.binding, beginning.dialect
        is_same = (row.mapping, row.fingerprint) == (self.row.mapping, self.row.fingerprint)
        if is_same and dialect == self.source.mapping.dialect:
            return replace(self, row=row)
        return known_binding(row, self.tenant, dialect)


def known_binding(row: BindingRow, tenant: str, dialect: Dialect = Dialect.PLAIN) -> KnownBinding:
    """The binding *row* of the tenant named *tenant*. dialect: of its pages."""
    mapping = replace(_parsed(row.mapping), dialect=dialect)
    return KnownBinding(row, tenant, _source_of(row.id, row.fingerprint, mapping, tenant))


def _source_of(binding: UUID, types: ByKey[str, ByKey[str, str]], mapping: Mapping, tenant: str) -> AppSource:
    id_type = types[str(mapping.page.table)][mapping.page.id]
    statements, paths = app_statements(mapping, id_type), path_statements(mapping)
    value = mapping.tenancy.value_of(tenant) or ""
    files = file_source_of(mapping, types, role_of(binding), value)
    return AppSource(binding, mapping, statements, value, paths, files)
