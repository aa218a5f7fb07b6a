"""Writes the targets that links are to get into the texts of their pages, over the versions that were read."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psycopg

from mirrord.db.content import dialect_rows, entry_edits, pending_links
from mirrord.db.content.altered_rows import check_omitted, refusal_of
from mirrord.db.content.entry_edits import CurrentEntry
from mirrord.db.content.pending_links import PendingLink
from mirrord.db.database import Connection, set_actor
from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import EntryId
from mirrord.domain.link_rule import Mover
from mirrord.errors import Refused, UserError
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.link_updates import retarget_links
from mirrord.markdown.page_links import links_of
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.sync.observation.mirror_handles import DAEMON_ACTOR, Sides
from mirrord.sync.writing.entry_bodies import text_of

MAX_PAGES = 100  # rewritten in one transaction

log = logging.getLogger(__name__)

Links = Mapping[EntryId, Sequence[PendingLink]]


@dataclass(frozen=True, slots=True)
class _NewText:
    """The new text of a page, and the targets of its noted links in it, by their numbers."""

    page: PageText
    targets: Mapping[int, str]


async def rewrite_pages(sides: Sides) -> None:
    """
    Write noted targets into the texts of all pages that can get them now, MAX_PAGES in a transaction.

    A page that the trigger of an app refuses keeps its text. Raises Unavailable, Fenced.
    """
    async with sides.database.transaction(sides.tenant) as connection:
        waiting = await pending_links.load_rewritable(connection, sides.tenant, sides.mirror)
    pages = await asyncio.to_thread(_with_files, sides.tree, waiting)
    for start in range(0, len(pages), MAX_PAGES):
        await _rewrite_batch(sides, pages[start : start + MAX_PAGES])


async def _rewrite_batch(sides: Sides, pages: Sequence[EntryId]) -> None:
    try:
        await _rewrite_together(sides, pages)
    except (psycopg.Error, UserError) as error:
        if refusal_of(error) is None:
            raise
        await _rewrite_each(sides, pages)


def _with_files(tree: Tree, pages: Sequence[tuple[EntryId, str | None]]) -> list[EntryId]:
    """The pages that have their file, or never had one here: an edit would bring back one that was just deleted."""
    return [entry for entry, path in pages if path is None or _has_file(tree, path)]


def _has_file(tree: Tree, path: str) -> bool:
    try:
        stat = tree.stat(path)
    except (Refused, OSError):
        return False
    return stat is not None and stat.is_file


async def _rewrite_each(sides: Sides, pages: Sequence[EntryId]) -> None:
    """As _rewrite_together(), after a trigger refused one of *pages*: it must not hinder the others."""
    for page in pages:
        try:
            await _rewrite_together(sides, [page])
        except (psycopg.Error, UserError) as error:
            if (refusal := refusal_of(error)) is None:
                raise
            log.warning("links_not_rewritten", extra={"page": str(page), "reason": refusal})
            await _forget_notes(sides, page)


async def _forget_notes(sides: Sides, page: EntryId) -> None:
    async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
        links = await pending_links.lock_pending(connection, sides.tenant, [page])
        targets = {(page, link.number): link.target for link in links.get(page, ())}
        await pending_links.settle_links(connection, sides.tenant, targets)


async def _rewrite_together(sides: Sides, pages: Sequence[EntryId]) -> None:
    async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
        links = await pending_links.lock_pending(connection, sides.tenant, pages)
        rows = await entry_edits.load_entries(connection, sides.tenant, links)
        dialect = await dialect_rows.load_dialect(connection, sides.tenant)
        texts = await asyncio.to_thread(_rewrite_texts, rows, links, dialect)
        for entry, text in texts.items():
            await _write_page(connection, sides, rows[entry], text.page, links[entry][0].mover)
        targets = {(entry, number): target for entry, text in texts.items() for number, target in text.targets.items()}
        await pending_links.settle_links(connection, sides.tenant, targets)


def _rewrite_texts(rows: Mapping[EntryId, CurrentEntry], links: Links, dialect: Dialect) -> dict[EntryId, _NewText]:
    return {
        entry: _rewrite_text(PageText(row.text, dialect), links[entry])
        for entry, row in rows.items()
        if links[entry] and row.text is not None
    }


def _rewrite_text(old: PageText, pending: Sequence[PendingLink]) -> _NewText:
    """*old* with the targets of *pending*; a link whose new spelling would break the page keeps its own."""
    page = retarget_links(old, {(link.kind, link.target): link.new_target for link in pending}).page
    written = dict(enumerate(link.target for link in links_of(page)))
    return _NewText(page, {link.number: written.get(link.number, link.target) for link in pending})


async def _write_page(connection: Connection, sides: Sides, row: CurrentEntry, page: PageText, mover: Mover) -> None:
    """Raises OmittedByTrigger, or what a trigger of an app raised."""
    if page.text == row.text:
        return
    await set_actor(connection, author_for(mover))
    if await entry_edits.write_text(connection, sides.tenant, row, text_of(page)) is None:
        await check_omitted(connection, "page", sides.tenant, row.entry, row.version)


def author_for(mover: Mover) -> dict[str, str]:
    """The author of a version that follows a move of *mover*."""
    name = f"{mover.get('kind', '')} {mover.get('name', '')}".strip()
    facts = {"kind": DAEMON_ACTOR.kind, "name": DAEMON_ACTOR.name}
    return {**facts, "for": name} if name else facts
