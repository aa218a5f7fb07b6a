"""The document and the links of every page: derived from its text after the text is safe, never on the event loop."""

import asyncio
import logging
import multiprocessing
import os
import signal
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from mirrord.codec.links import Link, links_of
from mirrord.codec.stored import Derived, derived, derived_again, stored
from mirrord.db import links, views
from mirrord.db.views import Underived
from mirrord.domain.entry import EntryId, TenantId
from mirrord.sync.sides import DAEMON_ACTOR, Sides
from mirrord.sync.worker import begin

log = logging.getLogger(__name__)

T = TypeVar("T")

SMALL = 16_384  # characters: below that a thread is quicker than another process
MEDIUM = 200_000  # characters: below that a thread is quick enough where only some blocks are parsed
KEPT = 1_000_000  # characters of pages whose blocks are remembered, each some 30 bytes
BATCH = 40  # pages at once
PATIENCE = 20.0  # seconds for one page; then it is left without a document
IDLE = 20.0  # seconds after which the workers go home and give their memory back
NICE = 10  # of the workers: people's edits go first


class Workers:
    """Processes that parse; started when there is something to do, sent home when there is not."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._used = 0.0

    async def run(self, work: Callable[[str, str | None], T], text: str, prior: str | None) -> T:
        """What *work*, a function of the codec, makes in another process. Raises TimeoutError after PATIENCE."""
        self._used = time.monotonic()
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(
                max_workers=2, mp_context=context, initializer=begin, initargs=(os.getpid(), NICE)
            )
        with _uninterrupted():
            future = asyncio.get_running_loop().run_in_executor(self._pool, work, text, prior)
        done, _ = await asyncio.wait([future], timeout=PATIENCE)
        if not done:
            future.add_done_callback(asyncio.Future.exception)  # nobody waits for it any more
            self.end()
            raise TimeoutError
        return future.result()

    def rest(self) -> None:
        """Send the workers home if nothing came for a while."""
        if self._pool is not None and time.monotonic() - self._used > IDLE:
            self.close()

    def close(self) -> None:
        """Let the workers go home after what they are doing."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def end(self) -> None:
        """End the workers, hanging ones too."""
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                process.terminate()
        self.close()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Workers started here inherit that SIGINT is blocked: Ctrl-C is the daemon's to handle."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Recent:
    """What was derived lately, of all tenants: pages that are being edited. The longest unused are forgotten."""

    def __init__(self, most: int = KEPT) -> None:
        """*most*: characters of the pages kept."""
        self._most = most
        self._kept: OrderedDict[tuple[TenantId, EntryId], Derived] = OrderedDict()

    def get(self, tenant: TenantId, entry: EntryId) -> Derived | None:
        """What was derived from the page last, if it is still known."""
        found = self._kept.get((tenant, entry))
        if found is not None:
            self._kept.move_to_end((tenant, entry))
        return found

    def keep(self, tenant: TenantId, entry: EntryId, derived: Derived) -> None:
        """Remember what was derived from the page."""
        self._kept[tenant, entry] = derived
        self._kept.move_to_end((tenant, entry))
        while sum(len(one.reading.body) for one in self._kept.values()) > self._most:
            self._kept.popitem(last=False)


class Deriver:
    """Fills `content` and `page_link` of one tenant's pages, the newest change first."""

    def __init__(self, sides: Sides, workers: Workers, recent: Recent) -> None:
        self._sides = sides
        self._workers = workers
        self._recent = recent
        self._given_up: set[EntryId] = set()

    async def derive_some(self) -> int:
        """Derive one batch; how many pages it held. 0: all documents are there."""
        sides = self._sides
        async with sides.database.transaction(sides.tenant) as connection:
            batch = await views.load_underived(connection, sides.tenant, BATCH, list(self._given_up))
        self._workers.rest()
        if not batch:
            return 0
        found = await asyncio.gather(*(self._derived(page, alone=len(batch) == 1) for page in batch))
        pages = [one for one in found if one is not None]
        async with sides.database.transaction(sides.tenant, sides.lease, DAEMON_ACTOR) as connection:
            documents = [(page, version, document) for page, version, document, _ in pages]
            await views.store_content(connection, sides.tenant, documents)
            await links.store_links(
                connection, sides.tenant, [(page, version, said) for page, version, _, said in pages]
            )
        return len(batch)

    async def _derived(self, page: Underived, *, alone: bool) -> tuple[EntryId, int, bytes, Sequence[Link]] | None:
        try:
            if alone and len(page.markdown) <= MEDIUM:
                return page.entry, page.version, *await self._of_edited(page)
            return page.entry, page.version, *await self._workers.run(stored, page.markdown, page.prior)
        except CancelledError:  # the daemon stops
            return None
        except (TimeoutError, BrokenProcessPool):
            log.warning("document_given_up", extra={"page": str(page.entry), "characters": len(page.markdown)})
            self._given_up.add(page.entry)
            return None

    async def _of_edited(self, page: Underived) -> tuple[bytes, Sequence[Link]]:
        """Of a page that comes alone, and so is probably being edited: the next time it is quicker."""
        result = await self._again(page) or await self._anew(page)
        self._recent.keep(self._sides.tenant, page.entry, result)
        return result.json, await asyncio.to_thread(links_of, page.markdown)

    async def _again(self, page: Underived) -> Derived | None:
        before = self._recent.get(self._sides.tenant, page.entry)
        if before is None:
            return None
        return await asyncio.to_thread(derived_again, before, page.markdown, page.prior)

    async def _anew(self, page: Underived) -> Derived:
        if len(page.markdown) < SMALL:
            return await asyncio.to_thread(derived, page.markdown, page.prior)
        return await self._workers.run(derived, page.markdown, page.prior)
