"""Pages of rows that are new to a binding, many in one statement: a first comparison finds nothing else."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import orjson
import psycopg

from mirrord.binding.app_rows import AppRow, text_of
from mirrord.binding.mappings.mapping import Mapping, entry_id_of
from mirrord.binding.pass_state import PassState
from mirrord.binding.row_decision import BoundEntry
from mirrord.db.bindings import binding_rows, bound_pages
from mirrord.db.bindings.binding_rows import BindingRow, EntryRow
from mirrord.db.bindings.bound_pages import CompletePage, PageWrite
from mirrord.db.database import Connection
from mirrord.domain.entry import digest_of
from mirrord.domain.place import name_key
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.sync.writing.entry_bodies import text_of as text_values_of

# A row that Postgres refuses is a problem of its own; what passes by itself is not among them.
REFUSALS = (psycopg.errors.IntegrityError, psycopg.errors.DataError, psycopg.errors.RaiseException)
MAX_LINKING_ROWS = 20  # new rows with links that are left to their caller, so that the first text has the links
MAX_CHARACTERS = 4_000_000  # of the texts of one statement, unless it has only one

NewPage = tuple[AppRow, CompletePage]


@dataclass(slots=True)
class NewPages:
    """
    The pages of new rows in one pass.

    inserted: ids of rows with a page now. Rows without a faithful text, those in a statement that Postgres refuses, a
    few that link to pages, those with a page of an earlier binding, and all rows below them are not among them: they
    are for their caller to carry over one by one.
    """

    connection: Connection
    binding: BindingRow
    mapping: Mapping
    state: PassState
    inserted: set[str] = field(default_factory=set)

    async def insert_all(self) -> None:
        """Insert the pages of new rows, parents first."""
        new_rows = [
            self.state.rows[external_id] for external_id in self.state.order.ordered if self._is_new(external_id)
        ]
        linking = self._linking_among(new_rows)
        for level in split_by_depth(new_rows):
            free = [row for row in level if self._has_place(row) and row.external_id not in linking]
            pages = await asyncio.to_thread(self._pages_of, free)
            for batch in split_by_size(pages):
                await self._insert_together(batch)

    def _has_place(self, row: AppRow) -> bool:
        """Whether the page above that of *row* is there; one that was deleted comes back when its row is looked at."""
        return row.parent is None or row.parent in self.state.bound or row.external_id in self.state.order.orphans

    def _linking_among(self, rows: Sequence[AppRow]) -> set[str]:
        """The ids of those *rows* that may link to pages; none if they are many."""
        links = self.mapping.links
        if links is None:
            return set()
        linking = {row.external_id for row in rows if row.body is not None and links.may_be_in(row.body)}
        return linking if len(linking) <= MAX_LINKING_ROWS else set()

    def _is_new(self, external_id: str) -> bool:
        entry = self.state.entry_of(self.binding.id, external_id)
        is_known = external_id in self.state.bound or entry in self.state.pages
        return not is_known and external_id not in self.state.order.cyclic

    def _pages_of(self, rows: Iterable[AppRow]) -> list[NewPage]:
        """The pages of those *rows* that have a faithful text."""
        pages = []
        for row in rows:
            entry = entry_id_of(self.binding.id, row.external_id)
            try:
                text = text_of(entry, row, self.mapping)
            except Damaged:
                continue
            pages.append((row, complete_page_of(PageWrite(entry, self.state.parent_of(row), row.name, text), row.name)))
        return pages

    async def _insert_together(self, pages: Sequence[NewPage]) -> None:
        try:
            async with self.connection.transaction():
                complete = [page for _, page in pages]
                versions = await bound_pages.insert_complete_pages(self.connection, self.binding.tenant, complete)
                if unplaced := [page.write for page in complete if page.write.entry not in versions]:
                    versions |= await bound_pages.insert_pages(self.connection, unplaced)
        except REFUSALS:
            return
        agreed = [
            EntryRow(row.external_id, page.write.entry, versions[page.write.entry], row.digest, row.version)
            for row, page in pages
        ]
        await binding_rows.store_entries(self.connection, self.binding, agreed)
        await binding_rows.delete_problems_of(self.connection, self.binding, [page.write.entry for _, page in pages])
        for row, page in pages:
            version = versions[page.write.entry]
            self.state.bound[row.external_id] = BoundEntry(
                row.external_id, page.write.entry, version, row.digest, row.version
            )
            self.inserted.add(row.external_id)


def complete_page_of(write: PageWrite, name: str) -> CompletePage:
    """The page that *write* makes, with the views of its text."""
    values = text_values_of(PageText(write.text))
    frontmatter = orjson.dumps(values.frontmatter).decode() if values.frontmatter is not None else None
    views = (values.title or name, values.icon, values.position, frontmatter)
    return CompletePage(write, name_key(name), digest_of(write.text.encode()), *views)


def split_by_depth(rows: Sequence[AppRow]) -> list[list[AppRow]]:
    """*rows*, which come after their parents, by how many of them are above each."""
    levels: list[list[AppRow]] = []
    depths: dict[str | None, int] = {}
    for row in rows:
        depths[row.external_id] = depth = depths.get(row.parent, -1) + 1
        if depth == len(levels):
            levels.append([])
        levels[depth].append(row)
    return levels


def split_by_size(pages: Iterable[NewPage]) -> Iterator[list[NewPage]]:
    """*pages* in parts with MAX_CHARACTERS of text each, or one page."""
    part: list[NewPage] = []
    characters = 0
    for page in pages:
        characters += len(page[1].write.text)
        if part and characters > MAX_CHARACTERS:
            yield part
            part, characters = [], len(page[1].write.text)
        part.append(page)
    if part:
        yield part
