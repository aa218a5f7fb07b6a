"""The document and the links of every page: derived from its text after the text is safe, never on the event loop."""

import asyncio
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from mirrord.codec.derived import derived
from mirrord.codec.links import Link
from mirrord.db import links, views
from mirrord.domain.entry import EntryId
from mirrord.sync.sides import DAEMON_ACTOR, Sides
from mirrord.sync.worker import begin

log = logging.getLogger(__name__)

SMALL = 16_384  # characters: below that a thread is quicker than another process
BATCH = 40  # pages at once
PATIENCE = 20.0  # seconds for one page; then it is left without a document
IDLE = 20.0  # seconds after which the workers go home and give their memory back
NICE = 10  # of the workers: people's edits go first


class Workers:
    """Processes that parse; started when there is something to do, sent home when there is not."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._used = 0.0

    async def derived(self, text: str) -> tuple[bytes, list[Link]]:
        """Parse *text* in another process: its document and its links. Raises TimeoutError when that takes too long."""
        self._used = time.monotonic()
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(
                max_workers=2, mp_context=context, initializer=begin, initargs=(os.getpid(), NICE)
            )
        with _uninterrupted():
            future = asyncio.get_running_loop().run_in_executor(self._pool, derived, text)
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


class Deriver:
    """Fills `content` and `page_link` of one tenant's pages, the newest change first."""

    def __init__(self, sides: Sides, workers: Workers) -> None:
        self._sides = sides
        self._workers = workers
        self._given_up: set[EntryId] = set()

    async def derive_some(self) -> int:
        """Derive one batch; how many pages it held. 0: all documents are there."""
        sides = self._sides
        async with sides.database.transaction(sides.tenant) as connection:
            batch = await views.load_underived(connection, sides.tenant, BATCH, list(self._given_up))
        self._workers.rest()
        if not batch:
            return 0
        found = await asyncio.gather(*(self._derived(*page, alone=len(batch) == 1) for page in batch))
        pages = [one for one in found if one is not None]
        async with sides.database.transaction(sides.tenant, sides.lease, DAEMON_ACTOR) as connection:
            documents = [(page, version, document) for page, version, document, _ in pages]
            await views.store_content(connection, sides.tenant, documents)
            await links.store_links(
                connection, sides.tenant, [(page, version, said) for page, version, _, said in pages]
            )
        return len(batch)

    async def _derived(
        self, entry: EntryId, version: int, text: str, *, alone: bool
    ) -> tuple[EntryId, int, bytes, list[Link]] | None:
        try:
            if alone and len(text) < SMALL:
                return entry, version, *await asyncio.to_thread(derived, text)
            return entry, version, *await self._workers.derived(text)
        except CancelledError:  # the daemon stops
            return None
        except (TimeoutError, BrokenProcessPool):
            log.warning("document_given_up", extra={"page": str(entry), "characters": len(text)})
            self._given_up.add(entry)
            return None
