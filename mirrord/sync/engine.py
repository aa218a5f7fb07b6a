"""The engine of one mirror: observe, plan, guard, apply, until both sides are equal; then wait."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress

from mirrord.db import comparison
from mirrord.db.attention import Halt
from mirrord.domain.entry import EntryId
from mirrord.domain.measures import Work
from mirrord.errors import Busy, Damaged, Fenced, Refused, Unavailable
from mirrord.mirror import ignore
from mirrord.mirror.scan import Scan, scan
from mirrord.sync.adoption import Adoption
from mirrord.sync.apply import Applied, apply
from mirrord.sync.backoff import Backoff
from mirrord.sync.brake import Brake, restored
from mirrord.sync.company import Company, Share
from mirrord.sync.conclusion import Conclusion
from mirrord.sync.decision import Step
from mirrord.sync.doubts import Doubts
from mirrord.sync.feed import Feed
from mirrord.sync.handshake import Handshake
from mirrord.sync.intake import Intake
from mirrord.sync.listing import ProblemList
from mirrord.sync.look import Look
from mirrord.sync.lulls import is_due
from mirrord.sync.observe import Dirty
from mirrord.sync.passes import Passes
from mirrord.sync.pausing import pause
from mirrord.sync.pulse import Pulse
from mirrord.sync.queue import Queue
from mirrord.sync.recovery import Recovery
from mirrord.sync.rewind import Rewind
from mirrord.sync.root import Root
from mirrord.sync.sides import Sides
from mirrord.sync.stretches import Scanning, Stretch
from mirrord.sync.unversioned import give_versions

log = logging.getLogger(__name__)

ACK = 0.2  # seconds without work after which it is acknowledged
REST_SHARE, REST = 0.05, 5.0  # seconds between two rounds of what can wait: at least, for each mirror; at most
FEED = 0.1  # seconds after which rows that changed are asked for, although files go on changing
LOOK = 1.0  # seconds between looks at whether the root is still there, where nothing happens
LOOK_SHARE, LOOK_MOST = 0.02, 10.0  # at least, for each mirror of the daemon; at most
RETRY = 0.5  # seconds after the root was out of reach, or the lease lost


class Engine:
    """Works on one mirror. Everything it knows can be found again by looking."""

    def __init__(self, sides: Sides, *, adopting: bool, company: Company | None = None) -> None:
        """company: the mirrors of its daemon; None: it is the only one."""
        self.sides = sides
        self.company = company or Company()
        self.company.join()
        self.share = Share(self.company, sides.tenant)
        self.adoption = Adoption(adopting)
        self.handshake = Handshake(sides)
        self.queue = Queue()
        self.intake = Intake(self.queue, sides.looker)
        self.pulse = Pulse()
        self.brake = Brake(sides)
        self.problems = ProblemList(sides)
        self.root = Root(sides, self.problems, self.handshake)
        self.feed = Feed(sides)
        self.recovery = Recovery(sides)
        self.doubts = Doubts(self.adoption, self.look_everywhere)
        self.conclusion = Conclusion(
            sides, self.queue, self.doubts, self.problems, self.recovery, self.adoption, self.handshake, self.pulse
        )
        self.passes = Passes(
            *(sides, self.queue, self.intake, self.doubts, self.adoption),
            *(self.recovery, self.problems, self.brake, self.conclusion, self.look_everywhere),
        )
        self.started = False
        self.scan_seconds = 0.0  # what the last look everywhere took
        self._scanning: Scanning | None = None
        self._stretch = Stretch()
        self._rung = False
        self._rung_at = 0.0
        self._rescan = False
        self._recompare = False
        self._reread = False
        self._working = False
        self._acknowledged_at = 0.0

    @property
    def idle(self) -> bool:
        """Whether everything marked so far is done."""
        asked = self._rung or self._rescan or self._recompare or self._reread
        return not (self._working or asked or self.pending or self.handshake.owed)

    @property
    def written(self) -> asyncio.Event:
        """Rings when rows changed: documents are to be derived."""
        return self.conclusion.written

    @property
    def pending(self) -> int:
        """How much is marked and not done."""
        return len(self.queue) + len(self.intake) + len(self.brake.gathered.entries)

    @property
    def waits_since(self) -> float | None:
        """When the oldest change was noticed that waits, by the monotonic clock; None: nothing, or unknown."""
        noticed = [self.queue.oldest, self._rung_at if self._rung else None] if self.pending else []
        return min((at for at in noticed if at is not None), default=None)

    def long_work(self) -> list[Work]:
        """What takes long now; to be asked every few seconds."""
        scan = self._scanning.look() if self._scanning else None
        return [one for one in (scan, self._stretch.look(self.pending, self.intake.released)) if one is not None]

    @property
    def feed_seconds(self) -> float:
        """How long the bell's first ring is ago that was not followed yet."""
        return time.monotonic() - self._rung_at if self._rung else 0.0

    def ring(self) -> None:
        """Rows may have changed: read the feed as soon as possible."""
        if not self._rung:
            self._rung_at = time.monotonic()
        self._rung = True
        self.queue.wake()

    def look_everywhere(self) -> None:
        """Scan the whole tree as soon as possible."""
        self._rescan = True
        self.queue.wake()

    def read_everything(self) -> None:
        """Read every file and row again, even what looks unchanged or is stopped: stamps and versions can be forged."""
        self._reread = True
        self.queue.mark(self.sides.looker.index.paths(), self.passes.restraint.release(), forced=True)
        self.queue.wake()

    def acknowledge_soon(self) -> None:
        """Somebody waits for what is done to be acknowledged."""
        self._acknowledged_at = 0.0
        self.queue.wake()

    def compare_soon(self) -> None:
        """Compare all rows, bases and files as soon as possible: whatever was missed is found."""
        self._recompare = True
        self.queue.wake()

    async def start(self) -> None:
        """Compare everything and settle what a crash left: the queue knows then what is to be done."""
        self.pulse.step()
        await self._shake_hands()
        await self.feed.begin()
        await self.problems.load()
        await self.brake.load()
        if await self.root.is_sound():
            await self.compare_all()
        else:
            self._recompare = True
        self.started = True

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop*; what is being done then is finished."""
        backoff = Backoff()
        while not stop.is_set():
            await self.queue.wait(self._seconds_to_wait())
            self.pulse.step()
            try:
                await self.work(stop)
                self.pulse.outage = None
                backoff.succeeded()
            except (Unavailable, Fenced, OSError) as error:
                if self.pulse.outage != str(error):
                    log.warning("engine_waits", extra={"tenant": self.sides.name, "error": str(error)})
                self.pulse.outage = str(error)
                if isinstance(error, OSError):  # the disk or the kernel's limits: what it cut short is not known
                    self.compare_soon()
                await pause(stop, backoff.pause())
                with suppress(Unavailable):
                    await self.sides.database.mend()

    def _seconds_to_wait(self) -> float:
        """While nothing is marked."""
        look = min(LOOK_MOST, max(LOOK, LOOK_SHARE * self.company.mirrors))
        if not self.handshake.owed:
            return look
        return min(look, max(ACK, self._acknowledged_at + self.rest - time.monotonic()))

    @property
    def rest(self) -> float:
        """Seconds at least between two rounds of what can wait: the more mirrors share the daemon, the seldomer."""
        return min(REST, REST_SHARE * self.company.mirrors)

    async def work(self, stop: asyncio.Event) -> None:
        """One round: everything that is ready, then deletions that are due."""
        if self.sides.lease is None or not await self.root.is_sound():
            await pause(stop, RETRY)
            return
        self._working = True
        try:
            if self.handshake.is_due:
                await self._shake_hands()
            if self._reread:
                await give_versions(self.sides)
                self._reread = False
            if self._recompare:
                self._recompare = False
                try:
                    await self.compare_all()
                except (Unavailable, Fenced):
                    self._recompare = True  # still owed
                    raise
            if self._rescan:
                await self._scan()
            if self._rung:
                await self._read_feed()
            while self.intake.is_ready and not stop.is_set() and await self.root.is_sound():
                if rest := self._until_next_pass():
                    await pause(stop, rest)
                    break  # rows, deletions and decisions have their turn, too
                if self.feed_seconds > FEED:
                    await self._read_feed()
                await self._take_in_hand()
            await self.passes.finish()
            if self.root.suspended is not None:
                return
            if not self.intake.is_ready and self.adoption.active:
                await self._end_adoption()
            if self.brake.halted and time.monotonic() >= self.brake.resting:
                await self._carry_out_decisions()
            if self.brake.gathered.due:
                await self._delete(self.brake.gathered.take())
            self.queue.mark(entries=await self.recovery.absorb_pending())
            if self.handshake.owed and not (self.adoption.active or self.intake.is_ready):
                await self._acknowledge()
        finally:
            await self.passes.finish()  # an error may have left something on its way
            self.passes.read_just_now(None)
            self._working = False

    def _until_next_pass(self) -> float:
        """Seconds that it rests for the other mirrors' sake; a first import is waited for, and not held up."""
        return 0.0 if self.adoption.active else self.share.rest(time.monotonic())

    async def _take_in_hand(self) -> None:
        began = time.monotonic()
        await self.passes.take_in_hand()
        now = time.monotonic()
        self.share.took(began, now)
        self.pulse.step()

    async def _acknowledge(self) -> None:
        """Costs as much as an edit, and must not delay one."""
        now = time.monotonic()
        if now - self._acknowledged_at < self.rest:
            return
        if is_due(now, worked=self.conclusion.done_at, last=self._acknowledged_at, quiet=ACK):
            self._acknowledged_at = now
            await self.handshake.acknowledge()

    async def _shake_hands(self) -> None:
        """Is this the database, and the tree, that we worked with? If not, compare everything by the rules for that."""
        rewind = await self.handshake.look()
        if rewind is Rewind.NONE:
            return
        log.info("sides_compared_anew", extra={"tenant": self.sides.name, "cause": rewind.value})
        self.adoption.begin(rewind)
        if self.started:
            await self.feed.begin()
            await self.brake.load()
            self._recompare = True

    async def _end_adoption(self) -> None:
        """All that was marked has been worked on."""
        await self.brake.halt_rewind(self.adoption.cause, self.adoption.settled)
        self.adoption.active = False
        self.handshake.owed = True

    async def _read_feed(self) -> None:
        self._rung = False
        rung_at = self._rung_at
        try:
            pages = await self.feed.read(self.problems.entries())
        except (Unavailable, Fenced):
            self._rung, self._rung_at = True, rung_at
            raise
        self.queue.mark(entries=[entry for page in pages for entry in page.entries], noticed=rung_at)
        if len(pages) == 1:
            self.passes.read_just_now(pages[0])

    async def compare_all(self) -> None:
        """Mark whatever is not equal on the two sides and in the base."""
        sides = self.sides
        found, index = await self._scan(), sides.looker.index
        odd, absent = set(index.paths()), list[EntryId]()
        async with sides.database.transaction(sides.tenant) as connection:
            async for bases in comparison.agreed(connection, sides.tenant, sides.mirror):
                odd.difference_update(path for _, path, digest in bases if path and index.has(path, digest))
                absent += [entry for entry, path, _ in bases if path is None or found.shows_absent(path)]
                odd |= sides.looker.reclaim(found, (path for _, path, _ in bases if path is not None))
            entries = await comparison.differing(connection, sides.tenant, sides.mirror)
        self.queue.mark(odd, [*entries, *absent, *self.problems.entries()], forced=True)

    async def _scan(self) -> Scan:
        began = time.monotonic()
        self._rescan = False
        self._scanning = Scanning(len(self.sides.looker.index))
        try:
            found, differing, look = await asyncio.to_thread(self._look_around, self._scanning)
        finally:
            self._scanning = None
        self.scan_seconds = time.monotonic() - began
        self.pulse.scans.add(self.scan_seconds, time.monotonic())
        self.pulse.step()
        waited = self.doubts.looked_everywhere(began)
        self.queue.mark(differing | waited.paths, waited.entries | self.conclusion.take_barred(), forced=True)
        await self.problems.update(look)
        self.queue.mark(entries=[*await self.recovery.settle_leftovers(), *await self.recovery.sweep_trash()])
        return found

    def _look_around(self, scanning: Scanning) -> tuple[Scan, set[str], Look]:
        """The whole tree without reading a file: what is there, what is not as last seen, what is wrong."""
        looker, look = self.sides.looker, Look()
        with suppress(Busy, Refused):
            try:
                looker.ignore = ignore.Ignore.load(self.sides.tree)
            except Damaged as error:
                look.troubles.append((ignore.PATH, "damaged", str(error)))
        look.looked.add(ignore.PATH)
        found = scan(self.sides.tree, looker.ignore, seen=scanning.tell, known=looker.index.same)
        look.list_troubles(found)
        # what could not be read is in no index: that it went is told by the list only
        look.gone.update(path for path in self.problems.in_tree() if found.shows_absent(path))
        looker.index.prune()
        return found, looker.differing(found) | self.problems.passed(found), look

    async def _delete(self, entries: dict[EntryId, str | None], allowed: frozenset[EntryId] = frozenset()) -> bool:
        """
        Carry deletions over, after a look everywhere: what moved is found by then. False: to be tried again.

        allowed: what a person decided about, alone; others go on being gathered meanwhile.
        """
        try:
            await self._scan()
            while self.intake.is_ready:
                await self._take_in_hand()
            await self.passes.finish()
            entries |= self.brake.gathered.take(allowed)
            paths = frozenset(path for path in entries.values() if path is not None)
            dirty = Dirty(paths, frozenset(entries), paths)
            rest = await self.passes.delete(dirty, self._delete_what_is_gone(dirty, allowed))
        except (Unavailable, Fenced):
            self.brake.gathered.add(entries)
            raise
        if rest and allowed:  # it waits with its halt
            self.brake.resting = time.monotonic() + rest
        elif rest:
            self.queue.mark(paths, entries, forced=True, delay=rest)
        return not rest

    async def _delete_what_is_gone(self, dirty: Dirty, allowed: frozenset[EntryId]) -> None:
        observation = await self.passes.observe(dirty)
        decisions = self.doubts.decide(observation, list(observation.states.values()))
        gone = [one for one in decisions if one.step is Step.DELETE]
        self.conclusion.mark_others(decisions)
        applied = Applied()
        applied.add(await self.brake.carry_over(gone, allowed))
        await self.conclusion.conclude(observation, applied)

    async def _carry_out_decisions(self) -> None:
        for halt in await self.brake.take_decisions():
            if await self._carry_out(halt):  # else it stands until that is possible
                await self.brake.close(halt)

    async def _carry_out(self, halt: Halt) -> bool:
        if halt.side is not None and halt.decision == "apply":
            return await self._delete(dict.fromkeys(halt.entries), frozenset(halt.entries))
        if halt.side is None:
            await self._go_on(halt)
        else:
            await self._discard(halt.entries)
        return True

    async def _go_on(self, halt: Halt) -> None:
        """After a rewind: deletions spread again, or first everything is compared once more by the same rules."""
        if halt.decision == "discard":
            self.adoption.begin(Rewind.UNKNOWN)
            self._recompare = True
            self.queue.wake()

    async def _discard(self, entries: Sequence[EntryId]) -> None:
        """The deletions were a mistake."""
        observation = await self.passes.observe(Dirty(entries=frozenset(entries)))
        applied = Applied()
        decisions = self.doubts.decide(observation, list(observation.states.values()))
        self.conclusion.mark_others(decisions)
        await apply(self.sides, restored(decisions), observation.look.views, applied)
        await self.conclusion.conclude(observation, applied)
