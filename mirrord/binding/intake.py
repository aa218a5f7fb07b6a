"""Carry what the app says over to pages, in one transaction: rows of the app, pages and what they agree on."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import psycopg

from mirrord.binding.app_rows import AppRow, is_name_of, text_of
from mirrord.binding.links.page_links import PageLinks
from mirrord.binding.mappings.mapping import Format, entry_id_of
from mirrord.binding.new_pages import REFUSALS, NewPages
from mirrord.binding.pass_state import AppSource, PassState
from mirrord.binding.paths.name_release import release_names
from mirrord.binding.row_decision import Act, BoundEntry, decide_row
from mirrord.binding.statements.page_rewrites import rewrite_statement
from mirrord.db import open_issues
from mirrord.db.bindings import binding_rows, bound_pages
from mirrord.db.bindings.binding_rows import BindingRow, DueBinding, EntryRow
from mirrord.db.bindings.bound_pages import PageWrite
from mirrord.db.bindings.page_state import PageState
from mirrord.db.database import Connection
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import EntryId, MirrorId
from mirrord.errors import Damaged, Stale
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.sync.writing.entry_bodies import MAX_LOOP_BYTES

REFUSED, ROW = "bound-edit", "bound-row"  # codes of problems


def actor_name_of(binding: BindingRow | DueBinding) -> str:
    """The name of the author of what *binding* writes."""
    return f"binding {binding.name}"


class NeedsCare(Exception):
    """The pass is to be made again with each row by itself, as an app would write it."""


def _is_text_alone(write: PageWrite, page: PageState) -> bool:
    """Whether *write* changes nothing but the text of a page that lives and is rendered."""
    is_in_place = write.name is None and write.parent == page.parent and page.name is not None
    return is_in_place and page.text is not None and page.text != write.text and not (page.is_deleted or page.is_ahead)


@dataclass(slots=True)
class Intake:
    """
    One pass in its transaction.

    is_careful: what Postgres checks at the end of a transaction is checked after each row, which holds the tenant's
    clock until then. written, deleted: numbers of pages. needed: pages with one below that could not be written.
    later: ids of rows that are to be looked at in a later pass. leaves_pages: new pages are, too. added: ids of rows
    that have a page now, and had none.
    waits: one of these waits for a transaction of the app. unstored: what was agreed on and is to be stored at the end
    of the pass.
    """

    connection: Connection
    binding: BindingRow
    source: AppSource
    state: PassState
    is_careful: bool = False
    written: int = 0
    deleted: int = 0
    problems: list[Problem] = field(default_factory=list)
    needed: set[EntryId] = field(default_factory=set)
    later: set[str] = field(default_factory=set)
    leaves_pages: bool = False
    waits: bool = False
    added: set[str] = field(default_factory=set)
    unstored: list[EntryRow] = field(default_factory=list)

    @property
    def _is_lone(self) -> bool:
        """
        Whether the pass looks at one row only, which has its page: then it needs no savepoint.

        What Postgres refuses ends the pass, and the next one is careful.
        """
        return not self.is_careful and len(self.state.ids) == 1 and self.state.ids <= self.state.bound.keys()

    @property
    def _links(self) -> PageLinks:
        return PageLinks(self.connection, self.binding, self.source.mapping)

    async def carry_over(self) -> None:
        """Write pages, parents first, and delete those of rows that vanished. Raises Stale if a page changed."""
        if self.source.paths is not None:
            await release_names(self.connection, self.binding, self.state)
        new_pages = NewPages(self.connection, self.binding, self.source.mapping, self.state)
        if not self.is_careful:
            await new_pages.insert_all()
            self.written += len(new_pages.inserted)
            self.added |= new_pages.inserted
        for external_id in self.state.order.ordered:
            if external_id not in new_pages.inserted:
                await self._carry_row(self.state.rows[external_id])
        await self._carry_deletions([self.state.bound[external_id] for external_id in self.state.vanished])
        for external_id in self.state.ids - self.state.rows.keys() - self.state.bound.keys():
            await self._end_problems(entry_id_of(self.binding.id, external_id))
        await self._carry_new_pages()
        if self.problems:
            mirror = MirrorId(self.binding.id)
            await open_issues.store_problems(self.connection, self.binding.tenant, mirror, self.problems)

    async def _carry_new_pages(self) -> None:
        """Carry new pages over to the app; in mode `in` they are pages of their own."""

    async def _carry_row(self, row: AppRow) -> None:
        entry, digest = self.state.entry_of(self.binding.id, row.external_id), row.digest
        bound, page = self.state.bound.get(row.external_id), self.state.pages.get(entry)
        if bound is None and page is not None and self._is_of_others(page):
            await self._note_trouble(row, entry, "has the id of another page, which stays")
            return
        act = decide_row(bound, digest, page)
        if act is Act.NOTHING and page is not None and page.parent != self.state.parent_of(row):
            act = Act.WRITE  # its parent came or went
        if act is Act.NOTHING and page is not None and self._links.may_have_addresses(row.body):
            act = Act.WRITE  # the page of an address may have come, or moved
        if act is Act.NOTHING and (bound is None or bound.app_version == row.version):
            return
        try:
            version = page.version if page is not None and act in (Act.NOTHING, Act.RECORD) else None
            if version is None:
                version = await self._write_row(row, entry, page, is_edited=act is Act.TAKE_BACK)
        except (Damaged, *REFUSALS) as error:
            if self._is_lone and isinstance(error, psycopg.Error):
                raise NeedsCare from error
            await self._note_failure(row, entry, page, error)
            return
        await self._store_agreement(EntryRow(row.external_id, entry, version, digest, row.version))
        self._note_added(row.external_id)
        self.state.bound[row.external_id] = BoundEntry(row.external_id, entry, version, digest, row.version)
        if row.external_id in self.state.order.cyclic:
            await self._note_trouble(row, entry, "is below itself in the app, so it is at the top")

    async def _store_agreement(self, agreed: EntryRow) -> None:
        if self._is_lone:
            self.unstored.append(agreed)
        else:
            await binding_rows.store_entries(self.connection, self.binding, [agreed])

    def _note_added(self, external_id: str) -> None:
        if external_id not in self.state.bound:
            self.added.add(external_id)

    async def _with_links(
        self, text: str, row: AppRow, entry: EntryId, parent: EntryId | None, spelled: Mapping[str, str] | None = None
    ) -> str:
        """
        *text* of the page of *row* with links to files; where one has no lasting name yet, a later pass does it.

        spelled: as of AppForm.
        """
        form = await self._links.page_form(text, entry, parent, spelled)
        if form.waits:
            self.later.add(row.external_id)
        return form.text

    def _is_of_others(self, page: PageState) -> bool:
        """Whether *page* lives and was not made by this binding, nor by one of its name before."""
        return not page.is_deleted and page.creator != actor_name_of(self.binding)

    async def _write_row(self, row: AppRow, entry: EntryId, page: PageState | None, *, is_edited: bool) -> int:
        """Give the page what the app says; returns its version."""
        mapping = self.source.mapping
        is_quick = mapping.body.form is Format.MARKDOWN and row.size <= MAX_LOOP_BYTES
        text = text_of(entry, row, mapping) if is_quick else await asyncio.to_thread(text_of, entry, row, mapping)
        parent = self.state.parent_of(row)
        text = await self._with_links(text, row, entry, parent)
        await self._end_problems(entry)
        if page is None:
            async with self._savepoint():
                write = PageWrite(entry, parent, row.name, text)
                versions = await bound_pages.insert_pages(self.connection, [write])
            self.written += 1
            return versions[entry]
        name = None if is_name_of(page.name, row) else row.name
        if not page.is_deleted and name is None and (page.parent, page.text) == (parent, text):
            return page.version
        write = PageWrite(entry, parent, name, text)
        if self._is_lone:
            new_version = await self._update_page(write, page)
        else:
            async with self._savepoint():
                new_version = await self._update_page(write, page)
        if is_edited and page.author != "daemon":  # as a link that followed a move
            await self._note_refusal(row, page)
        return new_version

    async def _update_page(self, write: PageWrite, page: PageState) -> int:
        """Write *page*; returns its version. Raises Stale if it changed meanwhile."""
        if not self.is_careful and _is_text_alone(write, page):
            return await self._rewrite_page(write, page)
        version = await bound_pages.update_page(self.connection, write, page.version)
        if version is None and page.is_deleted:  # the revival of its parent in this pass may have taken it along
            current = await self._load_page(page.entry)
            if current is not None and not current.is_deleted and current.text == page.text:
                version = await bound_pages.update_page(self.connection, write, current.version)
        if version is None:
            raise Stale(f"The page {page.name!r} changed meanwhile.")
        self.written += 1
        return version

    async def _rewrite_page(self, write: PageWrite, page: PageState) -> int:
        """
        Write the text of *page* with its views, so that the engine has only a file to write.

        Raises NeedsCare if a trigger of an app altered it, Stale if the page changed meanwhile.
        """
        text = PageText(write.text, self.source.mapping.dialect)
        values = (self.binding, write.entry, text, page.version)
        is_quick = len(write.text.encode()) <= MAX_LOOP_BYTES
        statement = rewrite_statement(*values) if is_quick else await asyncio.to_thread(rewrite_statement, *values)
        version, is_altered = await bound_pages.rewrite_page(self.connection, statement.sql, statement.values)
        if is_altered:
            raise NeedsCare
        if version is None:
            raise Stale(f"The page {page.name!r} changed meanwhile.")
        self.written += 1
        return version

    @asynccontextmanager
    async def _savepoint(self) -> AsyncIterator[None]:
        async with self.connection.transaction():
            yield
            if self.is_careful:
                await bound_pages.check_now(self.connection)

    async def _end_problems(self, entry: EntryId) -> None:
        if entry in self.state.untroubled:
            return
        await binding_rows.delete_problems_of(self.connection, self.binding, [entry])

    async def _note_refusal(self, row: AppRow, page: PageState) -> None:
        change = "was deleted" if page.is_deleted else "was changed"
        sentence = (
            f"{row.title!r} {change}, and is again what the app says: the binding {self.binding.name!r} only reads the "
            f"app. The text is version {page.version} of its history; `mirrord diff PAGE {page.version}` shows it."
        )
        self.problems.append(Problem(await self._path_of(row, page.entry), REFUSED, sentence, page.entry))

    async def _note_failure(self, row: AppRow, entry: EntryId, page: PageState | None, error: Exception) -> None:
        """The page of a row stays as it is, and where it is."""
        reason = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        await self._note_trouble(row, entry, f"is not carried over: {reason or error}")
        if page is not None and not page.is_deleted and page.parent is not None:
            self.needed.add(page.parent)

    async def _note_trouble(self, row: AppRow, entry: EntryId, ending: str) -> None:
        self.problems.append(Problem(await self._path_of(row, entry), ROW, f"{row.title!r} {ending}.", entry))

    async def _path_of(self, row: AppRow, entry: EntryId) -> str:
        """The path of a page; the title of its row if it has no file yet."""
        paths = await open_issues.load_paths(self.connection, self.binding.tenant, [entry], 1)
        return paths[0] if paths and paths[0] != str(entry) else row.title or row.external_id

    async def _carry_deletions(self, vanished: list[BoundEntry]) -> None:
        """Delete the pages of *vanished* rows; none, if a page that stays would be deleted with them."""
        if self.needed.isdisjoint(bound.entry for bound in vanished):
            doomed = [bound.entry for bound in vanished if self._loses_page(bound)]
            if doomed:  # before any of them is deleted, which takes along what is below it
                await bound_pages.lift_unbound_pages(self.connection, self.binding, doomed)
                await bound_pages.lift_attachments(self.connection, self.binding, doomed)
            for bound in sorted(vanished, key=self._depth_of, reverse=True):  # each by itself, none with the one above
                await self._carry_deletion(bound)
            return
        for bound in vanished:
            page = self.state.pages.get(bound.entry)
            sentence = "The app deleted this page. It stays until all pages below it are carried over."
            name = page.name if page is not None else None
            self.problems.append(Problem(name or bound.external_id, ROW, sentence, bound.entry))

    def _depth_of(self, bound: BoundEntry) -> int:
        """How many pages that this pass looks at are above that of *bound*."""
        above, page = set[EntryId](), self.state.pages.get(bound.entry)
        while page is not None and page.parent is not None and page.parent not in above:
            above.add(page.parent)
            page = self.state.pages.get(page.parent)
        return len(above)

    def _loses_page(self, bound: BoundEntry) -> bool:
        """Whether the page of a row that vanished is to be deleted."""
        page = self.state.pages.get(bound.entry)
        return page is not None and not page.is_deleted and decide_row(bound, None, page) is Act.DELETE

    async def _carry_deletion(self, bound: BoundEntry) -> None:
        page = self.state.pages.get(bound.entry)
        if page is not None and self._loses_page(bound):
            if await bound_pages.delete_page(self.connection, page.entry, page.version) is None:
                page = await self._load_page(page.entry)
                if page is not None and not page.is_deleted:  # else the deletion of its parent took it along
                    raise Stale(f"The page {page.name!r} changed meanwhile.")
            self.deleted += 1
        await self._end_problems(bound.entry)
        await binding_rows.delete_entry(self.connection, self.binding, bound.external_id)

    async def _load_page(self, entry: EntryId) -> PageState | None:
        return (await bound_pages.load_pages(self.connection, self.binding.tenant, [entry])).get(entry)
