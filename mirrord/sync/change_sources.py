"""Where changes are known from: the feed of rows, texts written behind the triggers, scans, and the full comparison."""

import asyncio
import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

from mirrord.db.content import derived_rows, entry_comparison, entry_states
from mirrord.db.content.entry_states import LoadedEntries
from mirrord.db.content.entry_writes import run_statements
from mirrord.db.database import Connection
from mirrord.db.transactions import TransactionChanges
from mirrord.domain.entry import EntryId, Kind, digest_of
from mirrord.errors import Busy, Damaged, Refused
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.mirror.tree import ignore_rules
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_scan import Scan, scan
from mirrord.mirror.write import applied_plans
from mirrord.mirror.write.applied_plans import AppliedPlan
from mirrord.sync.engine_parts import ScanProgress
from mirrord.sync.observation.look_result import LookResult
from mirrord.sync.observation.mirror_handles import DAEMON_ACTOR, Sides
from mirrord.sync.problem_list import ProblemList
from mirrord.sync.writing.entry_bodies import text_of
from mirrord.sync.writing.row_rendering import render_loaded

PAGE_ENTRIES = 1000  # entries read at once


class Feed:
    """
    A cursor in the change feed. It starts before the full comparison, so no change is missed between the two.

    newest: number of the last known change. advanced: set when the cursor may have passed changes.
    """

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self.cursor = 0
        self.newest = 0
        self.advanced = asyncio.Event()

    @property
    def unread_changes(self) -> int:
        """The number of known changes that are not read yet."""
        return max(0, self.newest - self.cursor)

    def begin(self, seq: int) -> None:
        """Start with the next change after *seq*, the number of the last one before everything is compared."""
        self._sides.own_changes.forget()
        self.cursor = seq
        self.advanced.set()

    async def pass_over_own(self) -> None:
        """Move the cursor over changes that the daemon made itself, if no others are before them."""
        await self._sides.own_changes.settle()
        self.cursor = self._sides.own_changes.pass_over(self.cursor)
        self.advanced.set()

    async def read(self, watched: Collection[EntryId] = (), *, renders: bool = False) -> list[LoadedEntries]:
        """
        Read the entries that changed since the last call and whose rows differ from their bases, in pages.

        watched: entries that are in the result on any change, even if their rows equal their bases. renders: a lone
        page that an app wrote, and that nothing hinders, is rendered in the same transaction.
        """
        sides, pages, has_more = self._sides, list[LoadedEntries](), True
        while has_more:
            async with (
                sides.own_changes.committing() as changes,
                sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR, changes) as connection,
            ):
                page, cursor, has_more = await entry_states.load_changed_entries(
                    connection, sides.tenant, sides.mirror, self.cursor, PAGE_ENTRIES, watched
                )
                changes.expected_entries = 0
                if renders and not (pages or has_more):
                    page = await _complete_lone_page(connection, sides, page, watched, changes)
            self.cursor = cursor
            self.advanced.set()
            pages.append(page)
        return pages


async def _complete_lone_page(
    connection: Connection,
    sides: Sides,
    page: LoadedEntries,
    watched: Collection[EntryId],
    changes: TransactionChanges,
) -> LoadedEntries:
    """Render a lone page that an app wrote; load the text of one that is rendered, as by a binding."""
    if is_lone_write(page, watched):
        rendered = await render_loaded(connection, sides, page.rows)
        changes.expected_entries = len(rendered.rows)  # the next pass goes on with them
        return replace(page, rows={**page.rows, **rendered.rows}, texts=rendered.texts)
    if is_lone_text(page, watched):
        texts = await derived_rows.load_texts(connection, sides.tenant, list(page.rows))
        return replace(
            page,
            texts={
                entry: text.encode()
                for entry, (version, text) in texts.items()
                if text is not None and version == page.rows[entry].version
            },
        )
    return page


def is_lone_text(page: LoadedEntries, hindered: Collection[EntryId]) -> bool:
    """Whether one known page that stayed in its place has another text, which is all that its file needs."""
    if not _is_lone_page(page, hindered):
        return False
    (base,), (row,) = page.bases, page.rows.values()
    return not row.ahead and row.digest not in (None, base.digest)


def _is_lone_page(page: LoadedEntries, hindered: Collection[EntryId]) -> bool:
    if len(page.rows) != 1 or len(page.bases) != 1:
        return False
    (base,), (row,) = page.bases, page.rows.values()
    is_known_page = base.kind is row.kind is Kind.PAGE and base.place == row.place and base.path is not None
    return is_known_page and row.placed and not row.deleted and row.entry not in hindered


def is_lone_write(page: LoadedEntries, hindered: Collection[EntryId]) -> bool:
    """Whether an app wrote one known page that stayed in its place, so that nothing comes before its rendering."""
    if not _is_lone_page(page, hindered):
        return False
    (row,) = page.rows.values()
    return bool(row.ahead) or row.digest is None


log = logging.getLogger(__name__)


async def add_missing_versions(sides: Sides) -> int:
    """
    Make every such text a version, after the one it replaced; returns their number. Then the feed reports them.

    Reads all texts of the tenant, in Postgres.
    """
    async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
        pages = await entry_comparison.load_unversioned(connection, sides.tenant)
        for page in pages:
            version = page.version
            for text in (page.version_text, page.row_text):  # the first gives the row the text of its version back
                values = text_of(PageText(text))
                statement = sides.writer.rewrite(page.entry, version, digest_of(text.encode()), values)
                await run_statements(connection, [statement])
                rows = await entry_states.load_rows(connection, sides.tenant, [page.entry])
                version = rows[page.entry].version  # triggers of apps may answer with updates of their own
    if pages:
        log.warning("unversioned_texts", extra={"tenant": sides.name, "entries": len(pages)})
    return len(pages)


def scan_tree(sides: Sides, problems: ProblemList, scanning: ScanProgress) -> tuple[Scan, set[str], LookResult]:
    """Scan the whole tree without reading files: the scan, the paths that differ from the index, the problems."""
    looker, look = sides.looker, LookResult()
    with suppress(Busy, Refused):
        try:
            looker.ignore = ignore_rules.Ignore.load(sides.tree)
        except Damaged as error:
            look.troubles.append((ignore_rules.IGNORE_PATH, "damaged", str(error)))
    look.looked_paths.add(ignore_rules.IGNORE_PATH)
    scanned = scan(sides.tree, looker.ignore, report_count=scanning.set_count, stored_path=looker.index.unchanged_path)
    look.add_scan_troubles(scanned)
    # an unreadable path is in no index: only the problem list shows that it is gone
    look.gone_paths.update(path for path in problems.paths_seen_in_tree() if scanned.proves_absent(path))
    looker.index.forget_lost_inodes()
    differing_paths = looker.find_differing(scanned)
    differing_paths |= problems.find_readable_again(scanned)
    return scanned, differing_paths, look


async def find_differing(sides: Sides, scanned: Scan, *, has_rows: bool = True) -> tuple[set[str], list[EntryId]]:
    """
    The paths and the entries whose base, file and row are not equal. Only paths that *scanned* shows are compared.

    The paths of applied change sets that wait for rows are among them. has_rows: whether there may be bases or rows.
    """
    differing_paths, differing_entries = set(sides.looker.index.paths()), list[EntryId]()
    if has_rows:
        differing_paths, differing_entries = await _compare_rows(sides, scanned)
    for plan in await asyncio.to_thread(_load_waiting_plans, sides.tree):
        differing_paths |= plan.paths
    return differing_paths, differing_entries


def _load_waiting_plans(tree: Tree) -> list[AppliedPlan]:
    return applied_plans.load_plans(tree, applied_plans.list_notes(tree))


async def _compare_rows(sides: Sides, scanned: Scan) -> tuple[set[str], list[EntryId]]:
    """The bases are read in transactions of their own: only this engine writes them, and it compares them just now."""
    index, after = sides.looker.index, entry_comparison.FIRST
    differing_paths, absent_entries = set(index.paths()), list[EntryId]()
    entries: list[EntryId] | None = None
    while entries is None:
        async with sides.database.transaction(sides.tenant) as connection:
            batch = await entry_comparison.load_base_batch(connection, sides.tenant, sides.mirror, after)
            if batch.is_last:
                entries = await entry_comparison.load_differing(connection, sides.tenant, sides.mirror)
        differing_paths.difference_update(
            path for _, path, digest in batch.bases if path and index.has_digest(path, digest)
        )
        absent_entries += [entry for entry, path, _ in batch.bases if path is None or scanned.proves_absent(path)]
        paths = (path for _, path, _ in batch.bases if path is not None)
        differing_paths |= sides.looker.reclaim_forgotten(scanned, paths)
        after = after if batch.is_last else batch.end
    return differing_paths, [*entries, *absent_entries]
