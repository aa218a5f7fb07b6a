"""The document and the links of every page: derived from its text after the text is safe, never on the event loop."""

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import TypeAlias

from mirrord.codec.links import Link
from mirrord.codec.stored import Derived, Stored, linked, linked_again, stored, stored_together, stored_unread
from mirrord.db import links, views
from mirrord.db.views import Underived
from mirrord.domain.batches import batches
from mirrord.domain.entry import EntryId, TenantId
from mirrord.sync.sides import DAEMON_ACTOR, Sides
from mirrord.sync.workers import Workers

log = logging.getLogger(__name__)

_Linked: TypeAlias = tuple[Derived, Sequence[Link]]

SMALL = 16_384  # characters: below that a thread is quicker than another process
MEDIUM = 200_000  # characters: below that a thread is quick enough where only some blocks are parsed
KEPT = 800_000  # bytes of the documents whose blocks are remembered, each some 15 bytes: 12 MB of a daemon
BATCH = 120  # pages at once
TOGETHER = 2_000_000  # bytes of text at once, if it is not one page
SHARE = 32_768  # characters that go to a worker at once, if it is not one page
OFTEN = 10  # pages a second; more of them are made in processes, although that takes longer for each
TRIES = 2  # a worker may have died of another tenant's page


class Recent:
    """What was derived lately, of all tenants: pages that are being edited. The longest unused are forgotten."""

    def __init__(self, most: int = KEPT) -> None:
        """*most*: bytes of JSON of the documents kept."""
        self._most = most
        self._size = 0
        self._asked: deque[float] = deque(maxlen=OFTEN)
        self._kept: OrderedDict[tuple[TenantId, EntryId], Derived] = OrderedDict()

    def get(self, tenant: TenantId, entry: EntryId) -> Derived | None:
        """What was derived from the page last, if it is still known."""
        found = self._kept.get((tenant, entry))
        if found is not None:
            self._kept.move_to_end((tenant, entry))
        return found

    def is_seldom(self) -> bool:
        """Whether this was asked at most OFTEN times in the last second."""
        now = time.monotonic()
        before = self._asked[0] if len(self._asked) == OFTEN else -1.0
        self._asked.append(now)
        return now - before > 1.0

    def keep(self, tenant: TenantId, entry: EntryId, derived: Derived) -> None:
        """Remember what was derived from the page."""
        before = self._kept.pop((tenant, entry), None)
        self._kept[tenant, entry] = derived
        self._size += _size(derived) - (_size(before) if before else 0)
        while self._size > self._most:
            self._size -= _size(self._kept.popitem(last=False)[1])


class Deriver:
    """
    Fills `content` and `page_link` of one tenant's pages, the newest change first.

    has_more: there may be more than the last batch held. postponed: some were passed over the last time, because an app
    held their rows.
    """

    def __init__(self, sides: Sides, workers: Workers, recent: Recent) -> None:
        self._sides = sides
        self._workers = workers
        self._recent = recent
        self._storing: asyncio.Task[None] | None = None
        self._coming: list[EntryId] = []  # what is being stored
        self._held: set[EntryId] = set()  # what an app held when it was to be stored
        self.has_more = True
        self.postponed = False

    async def derive_some(self) -> int:
        """
        Derive one batch; how many pages it held. 0: all documents are there.

        Of a full batch the documents are still being stored: meanwhile the next may be derived.
        """
        self._workers.rest()
        try:
            batch = await self._load()
            found = await self._derived_of(batch)
        finally:
            await self.finish()
        if not batch:
            self.postponed = bool(self._held)
            self._held.clear()
        if found:
            self._coming = [page.entry for page in batch]
            self._storing = asyncio.create_task(self._store(list(zip(batch, found, strict=True))))
            if len(batch) < BATCH:
                await self.finish()
        self.has_more = _may_be_cut(batch) or bool(self._held)
        if batch and not self.has_more:
            self.postponed = False
        return len(batch)

    async def finish(self) -> None:
        """Return when all that was derived is stored. Raises what storing raised."""
        storing, self._storing, self._coming = self._storing, None, []
        if storing is not None:
            await storing

    async def left(self) -> int:
        """How many pages have no document yet, besides those that are being stored."""
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            return await views.count_underived(connection, self._sides.tenant, self._coming)

    async def _load(self) -> list[Underived]:
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            return await views.load_underived(
                connection, self._sides.tenant, BATCH, TOGETHER, [*self._coming, *self._held]
            )

    async def _store(self, derived: Sequence[tuple[Underived, Stored]]) -> None:
        sides = self._sides
        documents = [(page.entry, page.version, document) for page, (document, _) in derived]
        said = [(page.entry, page.version, found) for page, (_, found) in derived]
        async with sides.database.transaction(sides.tenant, sides.fence, DAEMON_ACTOR) as connection:
            held = await views.store_content(connection, sides.tenant, documents)
            await links.store_links(connection, sides.tenant, [one for one in said if one[0] not in held])
        self._held |= held

    async def _derived_of(self, batch: Sequence[Underived]) -> list[Stored]:
        if len(batch) == 1:
            return [await self._of_edited(batch[0])]
        shares = list(batches(batch, lambda page: len(page.markdown), size=SHARE))
        made = await asyncio.gather(*map(self._together, shares))
        found: list[Stored] = []
        for share, results in zip(shares, made, strict=True):
            found += results or [await self._alone(page) for page in share]
        return found

    async def _together(self, share: Sequence[Underived]) -> list[Stored]:
        """Nothing, if it took too long or the worker died: one of them is to blame."""
        try:
            return await self._workers.run(stored_together, [(page.markdown, page.prior) for page in share])
        except (TimeoutError, BrokenProcessPool):
            return []

    async def _alone(self, page: Underived) -> Stored:
        for _ in range(TRIES):
            with suppress(BrokenProcessPool):
                try:
                    return await self._workers.run(stored, page.markdown, page.prior)
                except TimeoutError:
                    break
        log.warning("document_given_up", extra={"page": str(page.entry), "characters": len(page.markdown)})
        return await asyncio.to_thread(stored_unread, page.markdown, page.prior)

    async def _of_edited(self, page: Underived) -> Stored:
        """Of a page that comes alone, and so is probably being edited: the next time it is quicker."""
        if len(page.markdown) > MEDIUM:
            return await self._alone(page)
        try:
            made = await self._again(page) or await self._anew(page)
        except (TimeoutError, BrokenProcessPool):
            made = None
        if made is None:
            return await self._alone(page)
        result, links = made
        self._recent.keep(self._sides.tenant, page.entry, result)
        return result.json, links

    async def _again(self, page: Underived) -> _Linked | None:
        before = self._recent.get(self._sides.tenant, page.entry)
        if before is None:
            return None
        return await asyncio.to_thread(linked_again, before, page.markdown, page.prior)

    async def _anew(self, page: Underived) -> _Linked | None:
        """None: there is so much to do that a thread would hold up whoever waits for an edit."""
        if len(page.markdown) >= SMALL:
            return await self._workers.run(linked, page.markdown, page.prior)
        return await asyncio.to_thread(linked, page.markdown, page.prior) if self._recent.is_seldom() else None


def _size(derived: Derived) -> int:
    return len(derived.json)  # short blocks weigh more than their characters


def _may_be_cut(batch: Sequence[Underived]) -> bool:
    """Whether there may be more where *batch* came from. A character has up to four bytes."""
    return len(batch) == BATCH or 4 * sum(len(page.markdown) for page in batch) > TOGETHER
