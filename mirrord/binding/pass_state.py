"""What one pass of a binding knows: the rows of the app that it looks at, their pages, and their order."""

from collections.abc import Iterable
from collections.abc import Mapping as ByKey
from dataclasses import dataclass, field
from uuid import UUID

from mirrord.binding.app_rows import AppRow, is_name_of, read_properties
from mirrord.binding.files.file_source import FileSource
from mirrord.binding.mappings.mapping import FOLDER_PREFIX, Mapping, entry_id_of
from mirrord.binding.paths.path_places import PathPlaces
from mirrord.binding.paths.row_paths import FOLDER_VERSION, folders_of
from mirrord.binding.row_decision import BoundEntry
from mirrord.binding.row_order import RowOrder, order_rows
from mirrord.binding.statements.bound_sql import role_of
from mirrord.binding.statements.path_queries import PathStatements
from mirrord.binding.statements.row_queries import AppStatements
from mirrord.db.bindings import app_tables, binding_rows, bound_folders, bound_pages, former_entries
from mirrord.db.bindings.app_tables import AppRecord
from mirrord.db.bindings.binding_rows import BindingRow, EntryRow
from mirrord.db.bindings.bound_pages import PageVersion
from mirrord.db.bindings.former_entries import RowKey
from mirrord.db.bindings.page_state import PageState
from mirrord.db.bindings.pass_rows import AppQuery, PassRows, load_pass_rows, load_troubled
from mirrord.db.database import Connection
from mirrord.domain.entry import Digest, EntryId


def row_key_of(mapping: Mapping) -> RowKey:
    """What the ids of the pages of *mapping* are in the app."""
    return RowKey(str(mapping.page.table), mapping.page.id)


@dataclass(frozen=True, slots=True)
class AppSource:
    """
    Where the rows of a binding are.

    tenant: the value of the app's tenant column. paths, files: None: rows have none.
    """

    binding: UUID
    mapping: Mapping
    statements: AppStatements
    tenant: str
    paths: PathStatements | None = None
    files: FileSource | None = None

    @property
    def noted_query(self) -> AppQuery:
        """How the rows are read with the ids that the transaction notes."""
        writes = self.mapping.writes is not None
        return AppQuery(role_of(self.binding), self.statements.noted_rows, self.tenant, writes)

    async def load_rows(self, connection: Connection, ids: Iterable[str]) -> dict[str, AppRow]:
        """The living rows with *ids*."""
        query, role, sought = self.statements.rows, role_of(self.binding), set(ids)
        if self.paths is None:
            return rows_of(await app_tables.load_rows(connection, role, query, sorted(sought), self.tenant))
        of_rows = sorted(external_id for external_id in sought if self.mapping.has_row(external_id))
        rows = rows_of(await app_tables.load_rows(connection, role, query, of_rows, self.tenant))
        return await PathPlaces(connection, self.paths, role, self.tenant).with_places(rows, sought)

    async def load_children(self, connection: Connection, ids: Iterable[str]) -> set[str]:
        """The ids of living rows below *ids*."""
        query, role = self.statements.children, role_of(self.binding)
        if query is None:
            return set()
        return {record[0] for record in await app_tables.load_rows(connection, role, query, sorted(ids), self.tenant)}

    async def load_versions(self, connection: Connection) -> dict[str, str]:
        """The versions of all living rows, by id."""
        query, role = self.statements.versions, role_of(self.binding)
        records = await app_tables.load_versions(connection, role, query, self.tenant)
        versions = {external_id: version for external_id, version, *_ in records}
        if self.paths is not None:
            folders = folders_of([path or "" for _, _, path in records])
            versions |= dict.fromkeys((FOLDER_PREFIX + path for path in folders), FOLDER_VERSION)
        return versions


def rows_of(records: Iterable[AppRecord]) -> dict[str, AppRow]:
    """The rows in *records*, which has one record for each body of a row."""
    rows: dict[str, AppRow] = {}
    for external_id, parent, title, position, version, body, properties in records:
        before = rows.get(external_id)
        count = before.bodies + 1 if before is not None else 1
        read = read_properties(properties)
        damage = properties if read is None else None
        rows[external_id] = AppRow(external_id, parent, title or "", position, version, body, read or {}, count, damage)
    return rows


@dataclass(slots=True)
class PassState:
    """
    What a pass looks at.

    bound: of all rows with *ids*, and of their parents. children: rows that are looked at because their parent came or
    went. untroubled: pages without a problem of this binding; others may have one. ancestors: versions of edited pages
    that both sides agreed on; others may be in the history, too.
    """

    ids: set[str]
    rows: dict[str, AppRow] = field(default_factory=dict)
    bound: dict[str, BoundEntry] = field(default_factory=dict)
    pages: dict[EntryId, PageState] = field(default_factory=dict)
    untroubled: set[EntryId] = field(default_factory=set)
    ancestors: ByKey[EntryId, PageVersion] = field(default_factory=dict)
    order: RowOrder = field(default_factory=lambda: RowOrder((), frozenset(), frozenset()))

    @property
    def vanished(self) -> list[str]:
        """The ids of bound rows that the app no longer has."""
        return sorted(
            external_id for external_id in self.ids if external_id in self.bound and external_id not in self.rows
        )

    @property
    def lost_pages(self) -> dict[str, EntryId]:
        """The pages of rows that vanished, and those that are deleted, by the id of the row."""
        vanished = {external_id: self.bound[external_id].entry for external_id in self.vanished}
        deleted = {entry for entry, page in self.pages.items() if page.is_deleted}
        return vanished | {each: bound.entry for each, bound in self.bound.items() if bound.entry in deleted}

    def add_row(self, row: AppRow) -> None:
        """Add *row*, which lives again; rows below it that have no other parent follow in later passes."""
        self.rows[row.external_id] = row
        living = self.bound.keys() - set(self.vanished)
        self.order = order_rows({external_id: each.parent for external_id, each in self.rows.items()}, living)

    def entry_of(self, binding: UUID, external_id: str) -> EntryId:
        """The page of a row: the one that it has, else that of its id."""
        bound = self.bound.get(external_id)
        return bound.entry if bound is not None else entry_id_of(binding, external_id)

    def parent_of(self, row: AppRow) -> EntryId | None:
        """The page of the parent of *row*; None: there is none, or the row is below itself."""
        if row.parent is None or row.external_id in self.order.orphans or row.external_id in self.order.cyclic:
            return None
        bound = self.bound.get(row.parent)
        return bound.entry if bound is not None else None


async def load_state(
    connection: Connection, binding: BindingRow, source: AppSource, ids: set[str], loaded: PassRows | None
) -> PassState:
    """
    Load the rows with *ids*, those above that are not bound yet, and bound ones below those that came or went.

    loaded: what is known of *ids*; None: it is to be loaded.
    """
    state = PassState(set(ids))
    turned = set[str]()
    if source.paths is not None:
        await _add_rows(connection, binding, source, state, ids)
        await _add_folders(connection, binding, source, state)
        turned |= await _moved_rows(connection, binding, state)
    elif ids:
        loaded = loaded or await load_pass_rows(connection, binding, source.noted_query, sorted(ids))
        await _add_known_rows(connection, binding, source, state, loaded)
    turned |= {external_id for external_id in state.ids if (external_id in state.rows) != (external_id in state.bound)}
    if turned:
        below = await source.load_children(connection, turned)
        children = set(await binding_rows.load_entries(connection, binding, below))  # the others have their own turn
        children |= await binding_rows.load_external_ids(
            connection, binding, [state.entry_of(binding.id, external_id) for external_id in sorted(turned)]
        )
        await _add_rows(connection, binding, source, state, children - state.ids)
    state.order = order_rows(
        {external_id: row.parent for external_id, row in state.rows.items()}, state.bound.keys() - set(state.vanished)
    )
    with_pages = ids if source.paths is None else set[str]()
    entries = [state.entry_of(binding.id, external_id) for external_id in sorted(state.ids - with_pages)]
    if entries:
        state.pages |= await bound_pages.load_pages(connection, binding.tenant, entries)
    return state


async def _add_folders(connection: Connection, binding: BindingRow, source: AppSource, state: PassState) -> None:
    """Add the folders that rows may have left, and those at the paths of rows."""
    rows = [row for row in state.rows.values() if source.mapping.has_row(row.external_id)]
    folders_at = {FOLDER_PREFIX + row.path for row in rows if row.path}
    folders_above = await bound_folders.load_bound_above(
        connection, binding, state.bound.keys() & state.ids, FOLDER_PREFIX
    )
    bound = await binding_rows.load_entries(connection, binding, (folders_at | folders_above) - state.ids)
    await _add_rows(connection, binding, source, state, set(bound))


async def _moved_rows(connection: Connection, binding: BindingRow, state: PassState) -> set[str]:
    """The ids of rows with another path than their pages: pages below them may stay behind."""
    rows = {state.bound[row.external_id].entry: row for row in state.rows.values() if row.external_id in state.bound}
    pages = await bound_pages.load_pages(connection, binding.tenant, rows.keys())
    return {
        row.external_id
        for entry, row in rows.items()
        if (page := pages.get(entry)) is not None
        and (
            not is_name_of(page.name, row)
            or page.parent != (state.entry_of(binding.id, row.parent) if row.parent else None)
        )
    }


async def _add_known_rows(
    connection: Connection, binding: BindingRow, source: AppSource, state: PassState, loaded: PassRows
) -> None:
    """Add the rows that the pass began with, their pages, and those above them that are not bound yet."""
    state.rows |= rows_of(loaded.records)
    state.bound |= bound_entries_of(loaded.agreed)
    state.pages |= loaded.pages
    state.ancestors = loaded.ancestors
    state.untroubled |= {state.bound[external_id].entry for external_id in state.ids & state.bound.keys()}
    if unbound := [entry_id_of(binding.id, external_id) for external_id in sorted(state.ids - state.bound.keys())]:
        state.pages |= await bound_pages.load_pages(connection, binding.tenant, unbound)
        state.untroubled |= set(unbound) - await load_troubled(connection, binding, unbound)
    state.untroubled -= loaded.troubled
    above = {row.parent for row in state.rows.values() if row.parent is not None} - state.rows.keys()
    if missing := above - state.bound.keys():
        state.bound |= bound_entries_of(await binding_rows.load_entries(connection, binding, missing))
        await _add_rows(connection, binding, source, state, missing - state.bound.keys() - state.ids)
    await _bind_again(connection, binding, source, state)


async def _bind_again(connection: Connection, binding: BindingRow, source: AppSource, state: PassState) -> None:
    """Bind the rows that are new to the pages that they had before the binding was dropped."""
    if new := state.rows.keys() - state.bound.keys():
        bound = bound_entries_of(await former_entries.bind_again(connection, binding, row_key_of(source.mapping), new))
        state.bound |= bound
        if bound:
            state.pages |= await bound_pages.load_pages(
                connection, binding.tenant, [each.entry for each in bound.values()]
            )


def bound_entries_of(agreed: ByKey[str, EntryRow]) -> dict[str, BoundEntry]:
    """What rows and their pages agreed on, as decisions are made by it."""
    return {
        external_id: BoundEntry(external_id, each.entry, each.version, Digest(each.digest), each.app_version)
        for external_id, each in agreed.items()
    }


async def _add_rows(
    connection: Connection, binding: BindingRow, source: AppSource, state: PassState, ids: set[str]
) -> None:
    """Add the rows with *ids*, and those above them that are not bound yet."""
    state.ids |= ids
    pending = set(ids)
    while pending:
        rows = await source.load_rows(connection, pending)
        state.rows |= rows
        above = {row.parent for row in rows.values() if row.parent is not None} - state.rows.keys()
        state.bound |= bound_entries_of(await binding_rows.load_entries(connection, binding, pending | above))
        pending = above - state.bound.keys() - state.ids
        state.ids |= pending
    await _bind_again(connection, binding, source, state)
