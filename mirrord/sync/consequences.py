"""What follows from the texts of one tenant: documents, links, segments. During an import all texts come first."""

import asyncio
import time
from contextlib import suppress

from mirrord.db.cursors import FEED
from mirrord.domain.measures import Work
from mirrord.errors import Fenced, Unavailable
from mirrord.sync.derive import BATCH, Deriver
from mirrord.sync.engine import Engine
from mirrord.sync.following import follow_some
from mirrord.sync.lulls import LONGEST, is_due
from mirrord.sync.pausing import pause
from mirrord.sync.stretches import MANY

RETRY = 0.5  # seconds after Postgres was out of reach
LINK = 0.1  # seconds without work after which links are looked at
LINK_MANY = 30.0  # seconds that links wait for documents at most
UNCHANGED = 5.0  # seconds between looks at whether rows changed that no engine had to carry over


class Consequences:
    """
    drawn: every document is there, every link resolved, every segment in its place.

    long_work: how far the documents of many pages are; None: there are not so many. untold: what it sets where changes
    are to become events.
    """

    def __init__(self, engine: Engine, deriver: Deriver, untold: asyncio.Event) -> None:
        self.drawn = False
        self.long_work: Work | None = None
        self._engine = engine
        self._deriver = deriver
        self._untold = untold
        # by the monotonic clock: when all documents were last found to be there, when links were last looked at
        self._derived_at = self._linked_at = -UNCHANGED

    async def run(self, stop: asyncio.Event) -> None:
        """Draw them whenever rows changed, until *stop*."""
        while not stop.is_set():
            if self._engine.written.is_set():
                self._engine.written.clear()
                self._derived_at = -UNCHANGED
            seq, linked = self._engine.feed.cursor, False
            try:
                linked = await self._draw(stop)
            except (Unavailable, Fenced):
                await pause(stop, RETRY)
            await pause(stop, UNCHANGED if linked else max(LINK, self._resting), self._engine.written)
            while linked and not stop.is_set() and self._is_quiet(seq):
                await pause(stop, UNCHANGED, self._engine.written)
        with suppress(Unavailable, Fenced):
            await self._deriver.finish()

    async def _draw(self, stop: asyncio.Event) -> bool:
        """Whether all of them are drawn."""
        if time.monotonic() - self._derived_at >= UNCHANGED:
            await self._derive(stop)
        return self.drawn and await self._link(stop)

    async def _derive(self, stop: asyncio.Event) -> None:
        while not stop.is_set() and self._engine.pending < MANY:
            began = time.monotonic()
            held = await self._deriver.derive_some()
            if not held:
                break
            self.drawn = False
            await self._count(held)
            await self._link(stop, many=held == BATCH)
            if held > 1:
                await self._leave_some_time(stop, began)
            if not self._deriver.has_more:
                break
        self.long_work = None
        self.drawn = self._engine.pending < MANY and not self._deriver.postponed
        if self.drawn:
            self._derived_at = time.monotonic()

    async def _leave_some_time(self, stop: asyncio.Event, began: float) -> None:
        """Whoever edits many pages at once waits a little for their documents, so that others' edits need not."""
        now = time.monotonic()
        if rest := self._engine.company.rest(self._engine.sides.tenant, now - began, now):
            await pause(stop, rest)

    async def _count(self, held: int) -> None:
        """Note that documents of so many pages are made, if that is a part of long work."""
        if self.long_work is not None:
            done, total = self.long_work.done + held, self.long_work.total or 0
            self.long_work = Work("derive", done, max(done, total))
        elif held == BATCH:
            self.long_work = Work("derive", held, held + await self._deriver.left())

    async def _link(self, stop: asyncio.Event, *, many: bool = False) -> bool:
        """
        Say what links mean, and where segments are, if it is time for that; whether it was.

        many: documents come in masses, and each would have its page looked at once more.
        """
        now = time.monotonic()
        if self._resting > 0:
            return False
        worked, longest = (now, LINK_MANY) if many else (self._engine.conclusion.done_at, LONGEST)
        if not is_due(now, worked=worked, last=self._linked_at, quiet=LINK, longest=longest):
            return False
        self._linked_at = now
        while not stop.is_set() and await follow_some(self._engine.sides, self._untold) >= FEED:
            pass
        return True

    @property
    def _resting(self) -> float:
        """Seconds that links and segments wait for the other mirrors' sake."""
        return self._linked_at + self._engine.rest - time.monotonic()

    def _is_quiet(self, seq: int) -> bool:
        """Whether no row changed since the feed was at *seq*: of many tenants most are asleep."""
        return not self._engine.written.is_set() and self._engine.feed.cursor == seq
