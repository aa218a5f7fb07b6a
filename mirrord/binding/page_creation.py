"""New pages get rows in the app, parents first; or a problem says why they have none."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import psycopg

from mirrord.binding.app_row_writes import AppRowWrites, Outpaced, is_refusal
from mirrord.binding.app_rows import AppRow, is_name_of
from mirrord.binding.intake import actor_name_of
from mirrord.binding.links.page_links import PageLinks
from mirrord.binding.new_row import NewPlace, holds_uuid, new_row_of
from mirrord.binding.page_edits import RowChanges, changes_of, edited_text, with_title
from mirrord.binding.pass_state import AppSource
from mirrord.binding.paths.path_moves import PathMoves
from mirrord.binding.renumbering import number_before, number_place
from mirrord.binding.space_moves import SpaceMoves
from mirrord.db import open_issues
from mirrord.db.bindings import binding_rows, bound_pages, unbound_pages
from mirrord.db.bindings.binding_rows import BindingRow, EntryRow
from mirrord.db.bindings.bound_pages import PageWrite
from mirrord.db.bindings.page_state import PageState
from mirrord.db.database import Connection
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import EntryId
from mirrord.errors import Damaged, Stale

MAX_TROUBLED_PAGES = 20  # new pages with a problem that are tried again with every pass
MAX_LOOKED_AT = 50  # new pages without one


@dataclass(slots=True)
class PageCreation:
    """
    The new pages of one pass.

    limit: how many rows may be created. is_careful: as of Intake. created: ids of new rows. leaves_pages: other pages
    are to be looked at in a later pass. later: ids of rows that are, too. waits: one waits for a transaction of the
    app.
    """

    connection: Connection
    binding: BindingRow
    source: AppSource
    limit: int
    is_careful: bool
    created: set[str] = field(default_factory=set)
    later: set[str] = field(default_factory=set)
    leaves_pages: bool = False
    waits: bool = False
    problems: list[Problem] = field(default_factory=list)

    async def carry_all(self) -> None:
        """Give new pages rows, or list why they have none."""
        search = unbound_pages.UnboundSearch(self.binding, actor_name_of(self.binding), self._can_create)
        troubled, settled = await unbound_pages.load_troubled(self.connection, search, MAX_TROUBLED_PAGES)
        await binding_rows.delete_problems_of(self.connection, self.binding, settled)
        changed = await unbound_pages.load_changed(self.connection, search, MAX_LOOKED_AT)
        self.leaves_pages = len(changed) == MAX_LOOKED_AT
        pending, created = list(dict.fromkeys([*changed, *troubled])), list[EntryId]()
        while pending:
            if len(self.created) >= self.limit:
                self.leaves_pages = True
                break
            entry = pending.pop(0)
            if await self._create_and_record(entry):
                created.append(entry)
                pending += await unbound_pages.load_below(self.connection, search, [entry])
        if self.source.mapping.links is not None:
            for entry in created:
                await self._link_new_row(entry)

    @property
    def _can_create(self) -> bool:
        rules = self.source.mapping.writes
        return rules is not None and rules.creation is not None

    async def _create_and_record(self, entry: EntryId) -> bool:
        """Whether the page has a row now."""
        pages = await bound_pages.load_pages(self.connection, self.binding.tenant, [entry])
        page = pages[entry]
        await binding_rows.delete_problems_of(self.connection, self.binding, [entry])
        try:
            async with self.connection.transaction():
                external_id = await self._revive_or_create(page)
                if self.is_careful:
                    await bound_pages.check_now(self.connection)
        except Outpaced:
            self.leaves_pages = self.waits = True
            return False
        except (Damaged, psycopg.DatabaseError) as error:
            if not is_refusal(error):
                raise
            reason = error.diag.message_primary if isinstance(error, psycopg.Error) else None
            await self._note_problem(page, reason or str(error))
            return False
        self.created.add(external_id)
        return True

    async def _revive_or_create(self, page: PageState) -> str:
        """Let the page have the row again that it had before it was deleted, or a new one; returns the row's id."""
        links = PageLinks(self.connection, self.binding, self.source.mapping)
        titled, spelled = await links.new_form(with_title(page.text or "", page.name or ""), page.entry, page.parent)
        row = await self._app.revive(str(page.entry)) if self._has_same_ids else None
        if row is not None:  # the app may have rows below it, with pages that came to the top when it was deleted
            self.later |= await self.source.load_children(self.connection, [row.external_id])
        if row is None:
            above = await self._id_above(page)
            titled = await self._make_room(titled, above)
            row = await self._insert_app_row(page, titled, above)
        else:
            changes = await asyncio.to_thread(changes_of, page.entry, row, self.source.mapping, titled)
            row = await self._app.write(row, changes) if changes else row
        await self._record(page, row, titled, spelled)
        return row.external_id

    async def _link_new_row(self, entry: EntryId) -> None:
        """Write the addresses of other new rows into that of the page *entry*; where that fails, paths stay there."""
        page = (await bound_pages.load_pages(self.connection, self.binding.tenant, [entry]))[entry]
        external_id = await binding_rows.load_external_id(self.connection, self.binding, entry)
        assert external_id is not None
        links = PageLinks(self.connection, self.binding, self.source.mapping)
        try:
            async with self.connection.transaction():
                linked, spelled = await links.new_form(page.text or "", entry, page.parent)
                row = (await self.source.load_rows(self.connection, [external_id])).get(external_id)
                if row is None:  # a trigger of the app removed it when another came
                    return
                changes = await asyncio.to_thread(changes_of, entry, row, self.source.mapping, linked)
                if changes.body is not None:
                    row = await self._app.write(row, RowChanges(body=changes.body, plain=changes.plain))
                    await self._record(page, row, linked, spelled)
                    if self.is_careful:
                        await bound_pages.check_now(self.connection)
        except (Damaged, Outpaced, psycopg.DatabaseError) as error:
            if not isinstance(error, Outpaced) and not is_refusal(error):
                raise

    async def _record(self, page: PageState, row: AppRow, text_in_app: str, spelled: Mapping[str, str]) -> None:
        """Give the page what its *row* says, and record that both agree. text_in_app: with addresses of the app."""
        links = PageLinks(self.connection, self.binding, self.source.mapping)
        text = await asyncio.to_thread(edited_text, page.entry, row, self.source.mapping, text_in_app)
        form = await links.page_form(text, page.entry, page.parent, spelled)
        text = form.text
        if form.waits:
            self.later.add(row.external_id)
        name, version = None if is_name_of(page.name, row) else row.name, page.version
        if name is not None or text != page.text:
            write = PageWrite(page.entry, page.parent, name, text)
            new_version = await bound_pages.update_page(self.connection, write, page.version)
            if new_version is None:
                raise Stale(f"The page {page.name!r} changed meanwhile.")
            version = new_version
        agreed = EntryRow(row.external_id, page.entry, version, row.digest, row.version)
        await binding_rows.store_entries(self.connection, self.binding, [agreed])

    @property
    def _app(self) -> AppRowWrites:
        return AppRowWrites(self.connection, self.source, self.binding.fingerprint)

    @property
    def _has_same_ids(self) -> bool:
        page = self.source.mapping.page
        return holds_uuid(self.binding.fingerprint[str(page.table)][page.id])

    async def _make_room(self, text: str, above: str | None) -> str:
        """*text* with a whole number as its position, which no other row has any more."""
        before = number_before(self.source.mapping, text)
        if before is None:
            return text
        room = await number_place(self._app, text, before, None, above)
        if room.moved:
            await self._app.renumber(room.moved)
        return room.text

    async def _id_above(self, page: PageState) -> str | None:
        """The id of the row above that of *page*. Raises Damaged if it can have none."""
        if not self._can_create:
            raise Damaged("the mapping has no `page.create`")
        if page.parent is None:
            return None
        above = await binding_rows.load_external_id(self.connection, self.binding, page.parent)
        is_in_space = above is not None and self.source.mapping.is_space(above)
        if self.source.mapping.page.parent is None and self.source.paths is None and not is_in_space:
            raise Damaged("it is below another page, and the mapping has no `page.parent`")
        return above

    async def _insert_app_row(self, page: PageState, text: str, above: str | None) -> AppRow:
        mapping, types = self.source.mapping, self.binding.fingerprint
        columns = await SpaceMoves(self._app).columns_below(above)
        place = NewPlace(self.source.tenant, columns, await self._path_of(page))
        return await self._app.create(await asyncio.to_thread(new_row_of, page.entry, mapping, types, place, text))

    async def _path_of(self, page: PageState) -> str | None:
        """The path of a new row; None: rows have none. Raises Damaged if it is not free."""
        if self.source.paths is None:
            return None
        paths = PathMoves(self._app, self.binding, self.source.paths)
        path = await paths.path_at(page.parent, page.name or "")
        await paths.check_free([path], [])
        return path

    async def _note_problem(self, page: PageState, reason: str) -> None:
        paths = await open_issues.load_paths(self.connection, self.binding.tenant, [page.entry], 1)
        sentence = f"{page.name!r} is in no row of the app, and stays a page of your own: {reason}."
        self.problems.append(Problem(paths[0], "bound-new", sentence, page.entry))
