"""Rows written by apps, made ready for files: a free name, and the text their views give."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import psycopg
from psycopg.errors import UniqueViolation

from mirrord.db.content import derived_rows, link_rows, record_rows
from mirrord.db.content.altered_rows import refusal_of
from mirrord.db.content.derived_rows import PageRow
from mirrord.db.content.entry_tables import load_locked_rows
from mirrord.db.content.entry_writes import PageValues
from mirrord.db.content.record_rows import render_record
from mirrord.db.database import Connection
from mirrord.domain.entry import Digest, EntryId, Kind, Row, digest_of
from mirrord.domain.place import BESIDE_PREFIX, record_path
from mirrord.errors import Damaged, Locked, Stale, UserError
from mirrord.markdown.content_loss import ContentLoss
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import Link, links_of
from mirrord.markdown.parser.foreign_syntax import CONSTRUCTS
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Document
from mirrord.markdown.schema.normal_form import normalize
from mirrord.markdown.write.content_losses import HALTED_LIMITS, USUAL_LIMITS, LossLimits
from mirrord.markdown.write.render import NewViews, render
from mirrord.markdown.write.stored_form import complete_ids, keep_nodes_and_ids
from mirrord.sync.observation.mirror_handles import DAEMON_ACTOR, Sides
from mirrord.sync.observation.row_names import add_titles, find_free_names, is_nameless, names_for
from mirrord.sync.writing.entry_bodies import MAX_LOOP_BYTES, text_of
from mirrord.sync.writing.write_outcomes import Refusal, refusal_of_page
from mirrord.sync.writing.written_views import (
    NO_DOCUMENTS,
    WrittenDocuments,
    read_content,
    read_documents,
    read_frontmatter,
)


@dataclass(slots=True)
class RenderedRows:
    """
    The result for rows that apps wrote; rows that changed meanwhile, or that an app holds, are left out.

    rows: after rendering. texts: bytes for the files. refusals: of views without a faithful text. trigger_refusals:
    what triggers of apps said that refused rows.
    """

    rows: dict[EntryId, Row] = field(default_factory=dict)
    texts: dict[EntryId, bytes] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    trigger_refusals: dict[EntryId, str] = field(default_factory=dict)

    def add(self, other: "RenderedRows") -> None:
        """Add the result for further rows."""
        self.rows |= other.rows
        self.texts |= other.texts
        self.refusals += other.refusals
        self.trigger_refusals |= other.trigger_refusals


@dataclass(frozen=True, slots=True)
class _Derived:
    """Everything derived from an app's write. links: None if it wrote the text: they come with its document."""

    data: bytes
    digest: Digest
    text: PageValues
    content: Document | None
    links: Sequence[Link] | None


async def name_row(sides: Sides, row: Row) -> Row:
    """
    Give the row a clean name; of equal names the later gets a number. Returns the row with it.

    Raises Stale if the row changed meanwhile.
    """
    titled = row
    if is_nameless(row):
        async with sides.database.transaction(sides.tenant) as connection:
            titled = (await add_titles(connection, sides.tenant, [row])).get(row.entry, row)
    names = names_for(titled)
    if row.kind is Kind.ATTACHMENT and (row.place.name or "").startswith(BESIDE_PREFIX):
        names = iter(await find_free_names(sides, row.entry, row.kind, row.place, list(names)))
    while (name := next(names, None)) is not None:
        if await _store_name(sides, row, name):
            return replace(row, place=replace(row.place, name=name), placed=True)
        names = iter(await find_free_names(sides, row.entry, row.kind, row.place, list(names)))
    raise Stale(f"No free name is left for {row.place.name or row.title!r}.")


async def _store_name(sides: Sides, row: Row, name: str) -> bool:
    try:
        async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
            stored = await derived_rows.store_name(
                connection,
                sides.tenant,
                row.entry,
                row.version,
                name,
                attachment=row.kind is Kind.ATTACHMENT,
            )
    except UniqueViolation:
        return False
    if not stored:
        raise Stale(f"The row of {name!r} changed meanwhile.")
    return True


async def render_rows(sides: Sides, rows: Mapping[EntryId, Row]) -> RenderedRows:
    """Derive text and views of rows that apps wrote, and store them."""
    try:
        return await _render_together(sides, rows)
    except Locked:
        locked = await load_locked_rows(sides.database, sides.tenant, list(rows))
        free = {entry: row for entry, row in rows.items() if entry not in locked}
        return await _render_together(sides, free) if locked and free else RenderedRows()
    except (psycopg.Error, UserError) as error:
        if refusal_of(error) is None:
            raise
        return await _render_each(sides, rows)


async def _render_each(sides: Sides, rows: Mapping[EntryId, Row]) -> RenderedRows:
    """Like render_rows(), after the trigger of an app refused some of *rows*: it must not hinder the others."""
    result = RenderedRows()
    for entry, row in rows.items():
        try:
            result.add(await _render_together(sides, {entry: row}))
        except Locked:
            continue
        except (psycopg.Error, UserError) as error:
            if (refusal := refusal_of(error)) is None:
                raise
            result.trigger_refusals[entry] = refusal
    return result


async def _render_together(sides: Sides, rows: Mapping[EntryId, Row]) -> RenderedRows:
    async with (
        sides.own_changes.committing() as changes,
        sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR, changes) as connection,
    ):
        result = await render_loaded(connection, sides, rows)
        changes.expected_entries = len(result.rows)  # this pass goes on with them
    return result


async def render_loaded(connection: Connection, sides: Sides, rows: Mapping[EntryId, Row]) -> RenderedRows:
    """Like render_rows(), in the open transaction."""
    result = RenderedRows()
    for page in await derived_rows.load_page_rows(connection, sides.tenant, rows):
        row = rows[page.entry]
        if page.version != row.version:
            continue
        try:
            derived = await _derive_loaded(connection, sides, replace(page, is_halted=sides.is_content_halted))
            is_stored = await _store_derived(connection, sides, page, derived)
        except Damaged as error:
            result.refusals.append(refusal_of_page(page.entry, error))
            continue
        if is_stored:
            place = replace(row.place, index=row.place.index or page.kind is Kind.FOLDER)
            fresh = replace(row, kind=Kind.PAGE, place=place, digest=derived.digest, ahead=frozenset())
            result.rows[page.entry], result.texts[page.entry] = fresh, derived.data
    await _render_records(connection, sides, rows, result)
    return result


async def _derive_loaded(connection: Connection, sides: Sides, page: PageRow) -> _Derived:
    """Derive text and document of *page*; in one turn of a thread, unless earlier texts have to be loaded first."""
    if is_derived_on_loop(page):
        return _derive(page, NO_DOCUMENTS, (), sides.content_loss)
    derived = await asyncio.to_thread(_derive_at_once, page, sides.content_loss)
    if derived is None:
        former = await derived_rows.load_former_texts(connection, sides.tenant, page)
        derived = await asyncio.to_thread(_derive_with_former, page, former, sides.content_loss)
    return derived


def is_derived_on_loop(page: PageRow) -> bool:
    """Whether so little is to be done for *page* that a thread's turn takes longer; all tenants wait for the loop."""
    texts = (page.markdown, page.frontmatter, page.title, page.icon, page.position)
    return page.content is None and sum(len((text or "").encode()) for text in texts) <= MAX_LOOP_BYTES


async def _load_former(connection: Connection, sides: Sides, page: PageRow) -> list[str]:
    """The earlier texts of *page*, if what an app wrote may have been in them."""
    with suppress(Damaged):
        if await asyncio.to_thread(_may_return, page):
            return await derived_rows.load_former_texts(connection, sides.tenant, page)
    return []


def _may_return(page: PageRow) -> bool:
    return page.markdown is not None and read_documents(page).has_new_blocks


async def load_digests(sides: Sides, rows: Sequence[Row]) -> dict[EntryId, Digest]:
    """The digests that the texts of *rows* have or will have; writes nothing. Rows without a text are left out."""
    entries, names = [row.entry for row in rows], {row.entry: row.place.name for row in rows}
    async with sides.database.transaction(sides.tenant) as connection:
        pages = await derived_rows.load_page_rows(connection, sides.tenant, entries)
        former = {page.entry: await _load_former(connection, sides, page) for page in pages}
        others = await record_rows.load_records(connection, sides.tenant, entries)
    texts = {page.entry: partial(render_page, page, former[page.entry], sides.content_loss) for page in pages}
    texts |= {record.entry: partial(_record_text, names[record.entry], record) for record in others}
    digests = dict[EntryId, Digest]()
    for entry, text in texts.items():
        with suppress(Damaged):
            digests[entry] = digest_of(text().encode())
    return digests


def _record_text(name: str, record: record_rows.RecordRow) -> str:
    return render_record(name, record).text


def _derive_at_once(page: PageRow, loss: ContentLoss) -> _Derived | None:
    """Like _derive(), without earlier texts; None: *page* has blocks that may have been in them."""
    documents = read_documents(page)
    if page.markdown is not None and documents.has_new_blocks:
        return None
    return _derive(page, documents, (), loss)


def _derive_with_former(page: PageRow, former: Sequence[str], loss: ContentLoss) -> _Derived:
    return _derive(page, read_documents(page), former, loss)


def _derive(page: PageRow, documents: WrittenDocuments, former: Sequence[str], loss: ContentLoss) -> _Derived:
    """
    Derive text and document of *page*. documents: in its row. former: earlier texts.

    Raises Damaged if writing it would lose something.
    """
    content = read_content(page, documents, loss)
    rendered = _render_views(page, content, former, is_checked=documents.stays_checked)
    data = rendered.text.encode()
    page_links = links_of(rendered) if page.ahead_columns else None
    document = complete_ids(content, documents.before) if content else None
    if document is not None and CONSTRUCTS[page.dialect]:
        document = _document_as_read(document, rendered)
    return _Derived(data, digest_of(data), text_of(rendered), document, page_links)


async def _store_derived(connection: Connection, sides: Sides, page: PageRow, derived: _Derived) -> bool:
    """Store *derived*; returns whether the row was still the one that it was derived from."""
    text = derived_rows.DerivedText(derived.text, derived.digest, derived.content)
    if not await derived_rows.store_text(connection, sides.tenant, page, text):
        return False
    if derived.links is not None:
        page_links = [(page.entry, page.version, derived.links)]
        await link_rows.store_links(connection, sides.tenant, page_links, are_current=derived.content is not None)
    return True


async def _render_records(
    connection: Connection, sides: Sides, rows: Mapping[EntryId, Row], result: RenderedRows
) -> None:
    """Render the records among *rows*; results are added to *result*."""
    record_ids = [entry for entry, row in rows.items() if row.kind is Kind.RECORD]
    for record in await record_rows.load_records(connection, sides.tenant, record_ids) if record_ids else []:
        row = rows[record.entry]
        if record.version != row.version:
            continue
        try:
            body = await asyncio.to_thread(render_record, row.place.name, record)
            data = body.text.encode()
            digest = digest_of(data)
            is_stored = await record_rows.store_text(connection, sides.tenant, record, digest, body)
        except Damaged as error:
            sentence = f"What an app wrote cannot be written into {record_path(row.place.name)!r}: {error}."
            result.refusals.append(Refusal(record.entry, "render", sentence))
            continue
        if is_stored:
            result.rows[record.entry] = replace(row, digest=digest, ahead=frozenset())
            result.texts[record.entry] = data


def _document_as_read(document: Document, rendered: PageText) -> Document:
    """*document*; where a person typed syntax of another program, that of the text: raw, with all ids."""
    reading = read_document(rendered.text, rendered.dialect)
    return document if normalize(reading) == normalize(document) else keep_nodes_and_ids(reading, document)


def render_page(page: PageRow, former: Sequence[str] = (), loss: ContentLoss = ContentLoss.DEGRADE) -> str:
    """The Markdown of *page*, with *former* texts. Raises Damaged if writing it would lose something."""
    documents = read_documents(page)
    return _render_views(page, read_content(page, documents, loss), former, is_checked=documents.stays_checked).text


def _render_views(page: PageRow, content: Document | None, former: Sequence[str], *, is_checked: bool) -> PageText:
    """The text of *page*. content: the document that an app wrote. is_checked: see NewViews."""
    if not page.ahead_columns and page.markdown is not None:
        return PageText(page.markdown, page.dialect)
    fields = NewViews(
        id=str(page.entry),
        title=page.title,
        icon=page.icon,
        position=page.position,
        frontmatter=read_frontmatter(page),
        content=content,
        is_checked=is_checked,
    )
    text, stem = PageText(page.markdown or "", page.dialect), page.name or ""
    return render(text, page.ahead_columns, fields, stem, former, limits=_limits_of(page))


def _limits_of(page: PageRow) -> LossLimits | None:
    """What an app may remove from *page*; None: anything, because it was confirmed."""
    if page.is_confirmed:
        return None
    return HALTED_LIMITS if page.is_halted else USUAL_LIMITS
