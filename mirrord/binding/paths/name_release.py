"""Names of pages that go, for those that take their places: a row for its folder, or a folder for its row."""

from dataclasses import replace

from mirrord.binding.pass_state import PassState
from mirrord.db.bindings import binding_rows, bound_pages
from mirrord.db.bindings.binding_rows import BindingRow, EntryRow
from mirrord.db.bindings.bound_pages import PageWrite
from mirrord.db.database import Connection
from mirrord.domain.place import name_key
from mirrord.errors import Stale


async def release_names(connection: Connection, binding: BindingRow, state: PassState) -> None:
    """
    Rename the pages of vanished rows that have the names of new ones. Raises Stale if one changed meanwhile.

    They are deleted at the end of the pass, since what is below them has to leave them first.
    """
    coming = {
        (state.entry_of(binding.id, row.parent) if row.parent is not None else None, name_key(row.name))
        for external_id, row in state.rows.items()
        if external_id not in state.bound
    }
    for external_id in state.vanished:
        bound = state.bound[external_id]
        page = state.pages.get(bound.entry)
        if page is None or page.is_deleted or page.name is None or page.text is None:
            continue
        if (page.parent, name_key(page.name)) not in coming:
            continue
        write = PageWrite(page.entry, page.parent, f"{page.name[:50]} {page.entry.hex[:8]}", page.text)
        version = await bound_pages.update_page(connection, write, page.version)
        if version is None:
            raise Stale(f"The page {page.name!r} changed meanwhile.")
        if bound.version == page.version:
            state.bound[external_id] = bound = replace(bound, version=version)
            agreed = EntryRow(external_id, bound.entry, version, bound.digest, bound.app_version)
            await binding_rows.store_entries(connection, binding, [agreed])
        state.pages[page.entry] = replace(page, version=version, name=write.name)
