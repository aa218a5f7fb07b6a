"""
Derives the document and the links of every page after its text is safe, never on the event loop.

Large and suspect texts are parsed in processes, so that a text's effect on a parser stays there.
"""

import asyncio
import logging
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar, TypeVarTuple

from mirrord.db.content import derived_rows, head_views
from mirrord.db.content import link_rows as links
from mirrord.db.content.derived_rows import UnderivedPage
from mirrord.db.content.entry_writes import PageValues
from mirrord.db.database import Connection, set_words_later
from mirrord.db.feed_cursors import FeedBatch, lock_next_batch
from mirrord.documents.parser_worker import prepare_worker, run_limited
from mirrord.domain.entry import EntryId
from mirrord.domain.long_work import split_into_batches
from mirrord.markdown.frontmatter.page_text import PageText, has_head_of_other_form
from mirrord.markdown.write.stored_form import (
    StoredValues,
    values_to_store,
    values_to_store_before_saves,
    values_to_store_of_pages,
    values_to_store_unparsed,
)
from mirrord.mirror.process_setup import TERMINAL_SIGNALS
from mirrord.sync.observation.mirror_handles import DAEMON_ACTOR, Sides
from mirrord.sync.writing.entry_bodies import text_of

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

WORK_SECONDS = 20.0  # seconds of processor time for one piece of work
MAX_WAIT_SECONDS = 300.0  # seconds for one piece of work, of a worker that hangs or waits for a processor
IDLE_SECONDS = 20.0  # seconds after which the workers end and give their memory back
WORKER_NICENESS = 10  # priority of the workers: people's edits go first


class Workers:
    """A pool of worker processes, started when there is work and ended when there is none."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._used_at = 0.0

    async def run(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """
        Run *work*, a function of the codec, in another process, and return its result.

        Raises TimeoutError after WORK_SECONDS of processor time or MAX_WAIT_SECONDS, and BrokenProcessPool when the
        worker died or was ended, perhaps because of another text. The next call has new workers.
        """
        self._used_at = time.monotonic()
        pool = self._pool = self._pool or _start_pool()
        with _block_interrupts():
            future = asyncio.get_running_loop().run_in_executor(pool, run_limited, WORK_SECONDS, work, *arguments)
        finished, _ = await asyncio.wait([future], timeout=MAX_WAIT_SECONDS)
        if not finished:
            future.add_done_callback(asyncio.Future.exception)  # its result is not awaited any more
            self._end_pool(pool)
            raise TimeoutError
        if future.cancelled():
            raise BrokenProcessPool("The workers were sent home.")
        try:
            return future.result()
        except BrokenProcessPool:
            self._end_pool(pool)
            raise

    def close_idle(self) -> None:
        """End the workers if there was no work for a while."""
        if self._pool is not None and time.monotonic() - self._used_at > IDLE_SECONDS:
            self.close()

    def close(self) -> None:
        """Let the workers end after their present work."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def terminate(self) -> None:
        """
        End the workers, hanging ones too, and return when they have ended.

        The pool has a thread of its own, which would still be at work when the process ends.
        """
        if self._pool is not None:
            self._end_pool(self._pool, wait=True)

    def _end_pool(self, pool: ProcessPoolExecutor, *, wait: bool = False) -> None:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=wait, cancel_futures=True)
        if self._pool is pool:  # else another call has started a new pool
            self._pool = None


def _start_pool() -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(
        max_workers=2, mp_context=context, initializer=prepare_worker, initargs=(os.getpid(), WORKER_NICENESS)
    )


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Block the signals of terminals while workers are started; they inherit that, so only the daemon handles them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, TERMINAL_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


log = logging.getLogger(__name__)

SMALL_PAGE_CHARACTERS = 16_384  # characters: below that, a thread is faster than another process
MAX_LONE_SECONDS = 1.0  # seconds for which a transaction stays open while a page is parsed; most take milliseconds
MAX_BATCH_PAGES = 120  # pages at once
MAX_BATCH_BYTES = 2_000_000  # bytes of text at once, if it is not one page
SHARE_CHARACTERS = 32_768  # characters that go to a worker at once, if it is not one page
# Characters a second that threads parse, as many as ten of the largest pages for them have; the rest go to processes,
# at a higher price. A page counts as MIN_PAGE_CHARACTERS at least.
THREAD_CHARACTERS_PER_SECOND, MIN_PAGE_CHARACTERS = 163_840, 1_024
MAX_ATTEMPTS = 2  # attempts: another tenant's page may have killed the worker


class PageRate:
    """How many characters of single pages threads were given lately, of all tenants: a thread delays edits."""

    def __init__(self) -> None:
        self._given = deque[tuple[float, int]]()
        self._characters = 0

    def is_low(self, characters: int) -> bool:
        """Whether a thread may parse so many more, within THREAD_CHARACTERS_PER_SECOND; then they count as given."""
        now, characters = time.monotonic(), max(characters, MIN_PAGE_CHARACTERS)
        while self._given and now - self._given[0][0] > 1.0:
            self._characters -= self._given.popleft()[1]
        if self._characters + characters > THREAD_CHARACTERS_PER_SECOND:
            return False
        self._given.append((now, characters))
        self._characters += characters
        return True


@dataclass(frozen=True, slots=True)
class _Stored:
    """What became of documents. held_ids: pages that apps have locked. has_new_links: whether any links changed."""

    held_ids: set[EntryId] = field(default_factory=set)
    has_new_links: bool = False


class Deriver:
    """
    Fills `content` and `page_link` of one tenant's pages, the newest change first.

    has_more: there may be more pages than in the last batch. postponed: some pages were skipped last time because an
    app had locked their rows.
    """

    def __init__(self, sides: Sides, workers: Workers, page_rate: PageRate) -> None:
        self._sides = sides
        self._workers = workers
        self._page_rate = page_rate
        self._storing: asyncio.Task[None] | None = None
        self._storing_ids: list[EntryId] = []  # pages whose documents are being stored
        self._held_ids: set[EntryId] = set()  # pages whose rows an app had locked
        self.has_more = True
        self.postponed = False

    async def derive_some(self) -> int:
        """
        Derive one batch; return its number of pages, 0 if all documents exist.

        The documents of a full batch are stored in the background while the next batch is derived.
        """
        self._workers.close_idle()
        try:
            batch, is_stored = await self._load_batch()
            documents = await self._derive_batch(batch) if not is_stored else []
        finally:
            await self.finish()
        if not batch:
            self.postponed = bool(self._held_ids)
            self._held_ids.clear()
        if documents:
            self._storing_ids = [page.entry for page in batch]
            self._storing = asyncio.create_task(self._store_documents(list(zip(batch, documents, strict=True))))
            if len(batch) < MAX_BATCH_PAGES:
                await self.finish()
        self.has_more = _may_be_cut(batch) or bool(self._held_ids)
        if batch and not self.has_more:
            self.postponed = False
        return len(batch)

    async def derive_alone(self, follow: Callable[[Connection, FeedBatch, bool], Awaitable[bool]]) -> int | None:
        """
        Derive the page that was edited alone, if there is one, and follow the feed, in one transaction.

        follow: is given whether the transaction ends by moving the cursors, as it does after a change of its own;
        returns whether nothing is left to follow. Returns the number of the change up to which that is so. None: there
        is more to do, because there are several pages, a large one, one that takes long or is locked, pages come often,
        several are to be indexed, or others changed something meanwhile. Both cursors are locked first, as by those
        who only follow.
        """
        await self.finish()
        sides = self._sides
        async with (
            sides.own_changes.committing() as changes,
            sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR, changes) as connection,
        ):
            batch = await lock_next_batch(connection, sides.tenant)
            if batch.unindexed_pages > 1:
                return None
            pages = await derived_rows.load_underived(connection, sides.tenant, 2, SMALL_PAGE_CHARACTERS, [])
            stored = await self._derive_at_once(connection, pages)
            if stored is None:
                return None
            batch = replace(batch, has_due_links=batch.has_due_links or stored.has_new_links)
            moves_at_end = bool(pages) and batch.is_whole and not batch.unindexed_pages  # nothing is indexed that late
            is_complete = await follow(connection, batch, moves_at_end)
            changes.expected_entries, changes.followed_seq = len(pages), batch.clock if batch.is_whole else None
        self.has_more = self.postponed = False
        is_own = changes.seq == batch.clock + 1 and changes.entries == len(pages)
        is_followed = batch.is_whole and is_complete and (is_own or not pages)
        return (batch.clock + is_own) if is_followed else None

    async def _derive_at_once(self, connection: Connection, pages: Sequence[UnderivedPage]) -> _Stored | None:
        """Derive at most one page in the open transaction; None: it cannot be done at once."""
        if not pages:
            return _Stored()
        page = pages[0]
        if len(pages) > 1 or not self._may_use_thread(page):
            return None
        try:
            values = await asyncio.wait_for(_derive_in_thread(page), MAX_LONE_SECONDS)
        except TimeoutError:
            return None
        stored = await self._store_values(connection, [(page, values)])
        return None if stored.held_ids else stored

    async def finish(self) -> None:
        """Wait until all derived documents are stored. Raises the error of storing them."""
        storing, self._storing, self._storing_ids = self._storing, None, []
        if storing is not None:
            await storing

    async def count_missing(self) -> int:
        """The number of pages without a document, without those being stored."""
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            return await derived_rows.count_underived(connection, self._sides.tenant, self._storing_ids)

    async def _load_batch(self) -> tuple[list[UnderivedPage], bool]:
        """The pages of one batch; a single small page is derived and stored at once, which the second value says."""
        sides, skipped_ids = self._sides, [*self._storing_ids, *self._held_ids]
        async with (
            sides.own_changes.committing() as changes,
            sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR, changes) as connection,
        ):
            batch = await derived_rows.load_underived(
                connection, sides.tenant, MAX_BATCH_PAGES, MAX_BATCH_BYTES, skipped_ids
            )
            is_stored = len(batch) == 1 and await self._derive_at_once(connection, batch) is not None
            changes.expected_entries = int(is_stored)
        return batch, is_stored

    async def _store_documents(self, derived: Sequence[tuple[UnderivedPage, StoredValues]]) -> None:
        sides = self._sides
        async with (
            sides.own_changes.committing() as changes,
            sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR, changes) as connection,
        ):
            if len(derived) > 1:
                await set_words_later(connection)
            stored = await self._store_values(connection, derived)
            changes.expected_entries = len(derived)
        self._held_ids |= stored.held_ids

    async def _store_values(
        self, connection: Connection, derived: Sequence[tuple[UnderivedPage, StoredValues]]
    ) -> _Stored:
        """Store documents and links; pages that apps have locked are left as they are."""
        tenant = self._sides.tenant
        documents = [(page.entry, page.version, document) for page, (document, _) in derived]
        stored = await derived_rows.store_content(connection, tenant, documents)
        current_pages = [page for page, _ in derived if page.entry in stored.current_ids]
        if pages := [page for page in current_pages if has_head_of_other_form(page.markdown)]:
            views = await asyncio.to_thread(_views_of, pages)
            await head_views.store_views(connection, tenant, views)
        link_rows = [
            (page.entry, page.version, page_links)
            for page, (_, page_links) in derived
            if page.entry in stored.current_ids
        ]
        has_new_links = await links.store_links(
            connection, tenant, link_rows, are_current=True, stored_links=stored.links
        )
        return _Stored(stored.held_ids, has_new_links)

    async def _derive_batch(self, batch: Sequence[UnderivedPage]) -> list[StoredValues]:
        if len(batch) == 1:
            return [await self._derive_alone(batch[0])]
        shares = list(split_into_batches(batch, lambda page: len(page.markdown), size=SHARE_CHARACTERS))
        share_results = await asyncio.gather(*map(self._derive_share, shares))
        documents: list[StoredValues] = []
        for share, results in zip(shares, share_results, strict=True):
            documents += results or [await self._derive_separately(page) for page in share]
        return documents

    async def _derive_share(self, share: Sequence[UnderivedPage]) -> list[StoredValues]:
        """Derive a share in one worker; empty if a page took too long or killed the worker."""
        try:
            return await self._workers.run(
                values_to_store_of_pages, [(page.markdown, page.prior_content, page.dialect) for page in share]
            )
        except (TimeoutError, BrokenProcessPool):
            return []

    async def _derive_separately(self, page: UnderivedPage) -> StoredValues:
        for _ in range(MAX_ATTEMPTS):
            with suppress(BrokenProcessPool):
                try:
                    return await self._workers.run(values_to_store, page.markdown, page.prior_content, page.dialect)
                except TimeoutError:
                    break
        log.warning("document_given_up", extra={"page": str(page.entry), "characters": len(page.markdown)})
        return await asyncio.to_thread(values_to_store_unparsed, page.markdown, page.prior_content)

    def _may_use_thread(self, page: UnderivedPage) -> bool:
        return len(page.markdown) < SMALL_PAGE_CHARACTERS and self._page_rate.is_low(len(page.markdown))

    async def _derive_alone(self, page: UnderivedPage) -> StoredValues:
        """Derive a page that came alone, probably because it is edited; under high load a thread would delay edits."""
        if self._may_use_thread(page):
            return await _derive_in_thread(page)
        return await self._derive_separately(page)


async def _derive_in_thread(page: UnderivedPage) -> StoredValues:
    return await asyncio.to_thread(values_to_store_before_saves, page.markdown, page.prior_content, page.dialect)


def _views_of(pages: Sequence[UnderivedPage]) -> list[tuple[EntryId, int, PageValues]]:
    return [(page.entry, page.version, text_of(PageText(page.markdown, page.dialect))) for page in pages]


def _may_be_cut(batch: Sequence[UnderivedPage]) -> bool:
    """Whether a limit may have cut *batch*. A character has up to four bytes."""
    return len(batch) == MAX_BATCH_PAGES or 4 * sum(len(page.markdown) for page in batch) > MAX_BATCH_BYTES
