"""
When documents, links and segments of one tenant are derived; during an import all texts come first.

Links and segments follow the feed, which names the changed entries, in batches. A result for a segment is written into
the record's row like any other change, over the version it was made from, so files and other mirrors follow. The result
is deterministic: two daemons never differ.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import psycopg

from mirrord.db import feed_cursors
from mirrord.db.connection_places import deferrable_transactions
from mirrord.db.content import record_rows
from mirrord.db.content.record_rows import RecordText, UnanchoredPage
from mirrord.db.database import Connection
from mirrord.db.feed_cursors import FEED_BATCH_ENTRIES, FeedBatch
from mirrord.documents.document_derivation import MAX_BATCH_PAGES, Deriver
from mirrord.documents.link_following import FollowedLinks, follow_links
from mirrord.documents.link_rewriting import rewrite_pages
from mirrord.domain.entry import EntryId, TenantId
from mirrord.domain.link_rule import LinkRule
from mirrord.domain.measures import Work
from mirrord.domain.place import RecordFormat
from mirrord.errors import Fenced, Locked, Unavailable
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.frontmatter.record_text import MAX_JSON_CHARACTERS, canonical_json, read_record
from mirrord.research.segments.segment import decode_segments, encode_segments
from mirrord.research.segments.segment_anchoring import anchor_segments
from mirrord.sync.decisions.pacing import MAX_DELAY_SECONDS, is_deferred_work_due
from mirrord.sync.engine import Engine
from mirrord.sync.engine_parts import IMPORT_ENTRIES
from mirrord.sync.handshake import Handshake
from mirrord.sync.observation.mirror_handles import DAEMON_ACTOR, Sides
from mirrord.sync.timing import Backoff, pause

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5  # seconds after Postgres was out of reach
LINK_QUIET_SECONDS = 0.1  # seconds without work before links are resolved
MAX_LINK_DELAY_SECONDS = 30.0  # seconds that links wait for documents, at most
LONE_MARKS = 4  # marks that may wait beside a lone edit: the news of what mirrord itself wrote
LONE_SECONDS = 0.5  # seconds since links were last resolved after which a change is a lone one
UNCHANGED_SECONDS = 5.0  # seconds between checks for changed rows that no engine had to carry over


class DerivationLoop:
    """
    Keeps the derived data of one tenant up to date.

    is_up_to_date: every document exists, every link is resolved, every segment is in its place.
    long_work: progress of the documents of many pages; None if there are few. unpublished: set when there are changes
    to publish as events.
    """

    def __init__(self, engine: Engine, deriver: Deriver, unpublished: asyncio.Event) -> None:
        self.is_up_to_date = False
        self.long_work: Work | None = None
        self._engine = engine
        self._deriver = deriver
        self._unpublished = unpublished
        # monotonic times: when all documents were last complete, when links were last resolved
        self._derived_at = self._linked_at = -UNCHANGED_SECONDS
        self._waiting_since: float | None = None  # monotonic time of the first change that links have not followed
        self._followed_seq = 0  # the number of the last change that links have followed
        self._has_pending_links = False  # whether pages that cannot be written yet are to get targets of links
        self._unindexed_pages = 0  # pages that were left to be indexed after the last batch
        self._is_indexing = False  # whether the last batch indexed some pages and left others
        self._has_locked_words = False  # whether pages could not be indexed, because apps have locked their rows

    async def run(self, stop: asyncio.Event) -> None:
        """Update the derived data whenever rows changed, until *stop*; edits go first."""
        with deferrable_transactions():
            await self._run(stop)

    async def _run(self, stop: asyncio.Event) -> None:
        backoff = Backoff()
        if self._engine.sides.is_first:
            self.is_up_to_date = True
            await self._wait_for_changes(stop)
        while not stop.is_set():
            if self._engine.rows_changed.is_set():
                self._engine.rows_changed.clear()
                self._derived_at = -UNCHANGED_SECONDS
            self._waiting_since = self._waiting_since or time.monotonic()
            linked = False
            try:
                linked = await self._update_derived(stop)
                await self._rewrite_pages()
            except (Unavailable, Fenced, psycopg.errors.ForeignKeyViolation):  # an app deletes the page of a link
                await pause(stop, RETRY_SECONDS)
            except psycopg.Error:  # of a statement: files and rows go on without what is derived
                log.exception("derivation_failed", extra={"tenant": self._engine.sides.name})
                self.is_up_to_date, self._derived_at = False, -UNCHANGED_SECONDS
                await pause(stop, backoff.next_pause_seconds())
            else:
                backoff.reset()
            await pause(
                stop,
                UNCHANGED_SECONDS if linked else max(LINK_QUIET_SECONDS, self._seconds_until_link),
                self._engine.rows_changed,
            )
            if linked:
                await self._wait_for_changes(stop)
        with suppress(Unavailable, Fenced):
            await self._deriver.finish()

    async def _wait_for_changes(self, stop: asyncio.Event) -> None:
        while not stop.is_set() and self._is_quiet:
            self._engine.feed.advanced.clear()
            await pause(stop, None, self._engine.rows_changed, self._engine.feed.advanced)

    async def _update_derived(self, stop: asyncio.Event) -> bool:
        """Update once; return whether everything is up to date."""
        if time.monotonic() - self._derived_at >= UNCHANGED_SECONDS:
            if self._is_lone_edit and await self._update_at_once():
                return True
            if await self._derive_documents(stop):
                return self.is_up_to_date
        return self.is_up_to_date and await self._update_links(stop)

    @property
    def _is_lone_edit(self) -> bool:
        """Whether a change comes alone, so that documents and links need not wait for others."""
        resting_seconds = time.monotonic() - self._linked_at
        is_first = resting_seconds > max(LONE_SECONDS, self._engine.min_round_seconds)
        is_single = self._engine.parts.last_done_count <= 1 and self._engine.pending_count <= LONE_MARKS
        return is_first and is_single and self._engine.sides.lease is not None

    async def _update_at_once(self) -> bool:
        """Derive one page, and let links and segments follow, in one transaction; False: there is more to do."""
        try:
            followed_seq = await self._deriver.derive_alone(self._follow)
        except Locked:  # perhaps a record that segments are to be written into: documents need not wait for it
            return False
        if followed_seq is None:
            return False
        self._followed_seq, self._waiting_since = followed_seq, None
        self._derived_at = self._linked_at = time.monotonic()
        self.long_work, self.is_up_to_date = None, True
        return True

    async def _follow(self, connection: Connection, batch: FeedBatch, moves_cursors: bool) -> bool:
        """Let links and segments follow *batch* in the open transaction; returns whether nothing is left."""
        sides = self._engine.sides
        followed = await follow_changes(connection, sides.tenant, batch, sides.links, moves_cursors=moves_cursors)
        await self._engine.handshake.prepare(connection)
        self._note_batch(batch, followed)
        return followed.count < FEED_BATCH_ENTRIES

    def _note_batch(self, batch: FeedBatch, followed: FollowedLinks) -> None:
        if batch.has_notes:
            self._unpublished.set()
        self._followed_seq, self._has_pending_links = batch.clock, followed.has_pending
        self._unindexed_pages = followed.unindexed_pages
        self._is_indexing = 0 < followed.unindexed_pages < batch.unindexed_pages
        self._has_locked_words &= batch.unindexed_pages > 0

    async def _derive_documents(self, stop: asyncio.Event) -> bool:
        """Derive what there is; return whether links have followed all of it already."""
        has_followed = False
        while not stop.is_set() and self._engine.pending_count < IMPORT_ENTRIES:
            began = time.monotonic()
            batch_pages = await self._derive_some(stop)
            if not batch_pages:
                break
            self.is_up_to_date = False
            await self._note_progress(batch_pages)
            is_full = batch_pages == MAX_BATCH_PAGES  # then its documents are still being stored
            has_followed = await self._update_links(stop, many=is_full) and not is_full
            if batch_pages > 1:
                await self._pause_for_others(stop, began)
            if not self._deriver.has_more:
                break
        self.long_work = None
        self.is_up_to_date = self._engine.pending_count < IMPORT_ENTRIES and not self._deriver.postponed
        if self.is_up_to_date:
            self._derived_at = time.monotonic()
        return has_followed

    async def _derive_some(self, stop: asyncio.Event) -> int:
        """Derive one batch; 0 at *stop*, too: a batch takes long on a busy machine, and can be derived later."""
        deriving, stopping = asyncio.create_task(self._deriver.derive_some()), asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((deriving, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:  # both end with this loop, also when it is cancelled itself
            stopping.cancel()
            deriving.cancel()
        with suppress(asyncio.CancelledError):
            return await deriving
        return 0

    async def _pause_for_others(self, stop: asyncio.Event, began: float) -> None:
        """Delay the documents of a large change a little, so that edits of other tenants do not wait."""
        now = time.monotonic()
        if seconds := self._engine.fair_shares.pause_seconds(self._engine.sides.tenant, now - began, now):
            await pause(stop, seconds)

    async def _note_progress(self, pages: int) -> None:
        """Add *pages* to the progress of long work, if there is any."""
        if self.long_work is not None:
            done, total = self.long_work.done + pages, self.long_work.total or 0
            self.long_work = Work("derive", done, max(done, total))
        elif pages == MAX_BATCH_PAGES:
            self.long_work = Work("derive", pages, pages + await self._deriver.count_missing())

    async def _update_links(self, stop: asyncio.Event, *, many: bool = False) -> bool:
        """
        Resolve links, place segments and index words if it is time; return whether nothing of it is left.

        many: many documents are being derived, and each would make its page due once more.
        """
        now = time.monotonic()
        if self._seconds_until_link > 0:
            return False
        worked, longest = (
            (now, MAX_LINK_DELAY_SECONDS) if many else (self._engine.parts.last_done_at, MAX_DELAY_SECONDS)
        )
        if not is_deferred_work_due(
            now,
            worked_at=worked,
            waiting_since=self._waiting_since or now,
            quiet_seconds=LINK_QUIET_SECONDS,
            max_delay_seconds=longest,
        ):
            return False
        self._linked_at, self._waiting_since = now, None
        engine = self._engine
        while not stop.is_set():
            count = await follow_batch(engine.sides, engine.handshake, self._note_batch)
            if count >= FEED_BATCH_ENTRIES:
                continue
            if not self._is_indexing:
                self._has_locked_words = self._unindexed_pages > 0
                break
            if self._has_edits_since(now):
                return False
        return True

    def _has_edits_since(self, since: float) -> bool:
        """Whether edits wait or came after the monotonic time *since*; words of many pages let them go first."""
        parts = self._engine.parts
        return parts.last_done_at > since or parts.queue.is_ready or len(parts.intake) > 0

    async def _rewrite_pages(self) -> None:
        """Write targets of links into the pages that can get them now; their news come back through the feed."""
        if self._has_pending_links and self._engine.sides.lease is not None:
            await rewrite_pages(self._engine.sides)

    @property
    def _seconds_until_link(self) -> float:
        """Seconds that links and segments wait in favour of other mirrors."""
        return self._linked_at + self._engine.min_round_seconds - time.monotonic()

    @property
    def _is_quiet(self) -> bool:
        """Whether no row changed that links have not followed, and none waits; of many tenants most are idle."""
        if self._has_pending_links or self._has_locked_words or self._engine.rows_changed.is_set():
            return False
        return self._engine.feed.cursor <= self._followed_seq


_AnchoredTexts = list[tuple[UnanchoredPage, RecordText | None]]


async def _anchor_segments(connection: Connection, tenant: TenantId, entries: Sequence[EntryId]) -> None:
    unanchored = await record_rows.load_unanchored(connection, tenant, entries)
    if unanchored:
        await record_rows.store_anchored(connection, tenant, await asyncio.to_thread(_anchor_texts, unanchored))


def _anchor_texts(unanchored: Sequence[UnanchoredPage]) -> _AnchoredTexts:
    return [(segment, _new_text_of(segment)) for segment in unanchored]


def _new_text_of(segment: UnanchoredPage) -> RecordText | None:
    """The record's new text; None if it does not change."""
    data = read_record(RecordFormat.JSON, segment.text)
    old_body = PageText(segment.old).body if segment.old is not None else None
    new_data = encode_segments(data, anchor_segments(decode_segments(data), old_body, PageText(segment.markdown).body))
    if new_data == data:
        return None
    text = canonical_json(new_data)
    return RecordText(text, read_record(RecordFormat.JSON, text)) if len(text) <= MAX_JSON_CHARACTERS else None


async def follow_batch(
    sides: Sides,
    handshake: Handshake | None = None,
    note: Callable[[FeedBatch, FollowedLinks], None] = lambda _, __: None,
) -> int:
    """
    Let links and segments follow one batch, in a transaction that checks the lease.

    Returns the number of entries and links: below FEED_BATCH_ENTRIES nothing is left. 0 without the lease.
    handshake: reads what its next acknowledgement needs. note: called with the batch and its result after the commit.
    """
    tenant = sides.tenant
    if sides.lease is None:
        return 0
    async with sides.database.transaction(tenant, sides.fence, DAEMON_ACTOR) as connection:
        batch = await feed_cursors.lock_next_batch(connection, tenant)
        followed = await follow_changes(connection, tenant, batch, sides.links)
        if batch.unindexed_pages:
            followed = replace(followed, unindexed_pages=await feed_cursors.count_unindexed(connection, tenant))
        if handshake is not None:
            await handshake.prepare(connection)
    note(batch, followed)
    return followed.count


async def follow_changes(
    connection: Connection, tenant: TenantId, batch: FeedBatch, rule: LinkRule, *, moves_cursors: bool = False
) -> FollowedLinks:
    """
    Let links and segments follow *batch* in the open transaction; returns the number of entries and links.

    rule: which moves links follow. moves_cursors: the transaction moves both cursors at its end.
    """
    followed = await follow_links(connection, tenant, batch, rule)
    if entries := batch.entries_for_segments:
        await _anchor_segments(connection, tenant, entries)
    if (batch.changes or batch.unindexed_pages) and not moves_cursors:
        await feed_cursors.move_cursors(connection, tenant, [batch.link_cursor, *batch.changes][-1])
    return replace(followed, count=len(batch.changes) + followed.count)
