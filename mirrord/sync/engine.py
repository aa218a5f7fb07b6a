"""The engine of one mirror: observe, decide, guard and apply until both sides are equal, then wait."""

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

ACK = 0.2  # seconds without work before it is acknowledged
REST_SHARE, REST = 0.05, 5.0  # seconds between two rounds of deferrable work: minimum for each mirror, maximum
FEED = 0.1  # seconds after which changed rows are read although files go on changing
LOOK = 1.0  # seconds between checks of the root while nothing happens
LOOK_SHARE, LOOK_MOST = 0.02, 10.0  # seconds: minimum for each mirror of the daemon, maximum
RETRY = 0.5  # seconds after the root was out of reach, or the lease lost


class Engine:
    """Works on one mirror. It can find all of its state again by a scan."""

    def __init__(self, sides: Sides, *, adopting: bool, company: Company | None = None) -> None:
        """company: the mirrors of the same daemon; None if this is the only one."""
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
        self.scan_seconds = 0.0  # duration of the last scan
        self._scanning: Scanning | None = None
        self._progress = Stretch()
        self._is_notified = False
        self._notified_at = 0.0
        self._rescan = False
        self._recompare = False
        self._reread = False
        self._is_working = False
        self._acknowledged_at = 0.0

    @property
    def idle(self) -> bool:
        """Whether everything marked so far is done."""
        has_requests = self._is_notified or self._rescan or self._recompare or self._reread
        return not (self._is_working or has_requests or self.pending or self.handshake.owed)

    @property
    def written(self) -> asyncio.Event:
        """Set when rows changed and documents have to be derived."""
        return self.conclusion.written

    @property
    def pending(self) -> int:
        """The number of marks that are not done."""
        return len(self.queue) + len(self.intake) + len(self.brake.gathered.entries)

    @property
    def waits_since(self) -> float | None:
        """Monotonic time at which the oldest waiting change was noticed; None if none waits or the time is unknown."""
        notice_times = [self.queue.oldest, self._notified_at if self._is_notified else None] if self.pending else []
        return min((at for at in notice_times if at is not None), default=None)

    def long_work(self) -> list[Work]:
        """The long work in progress; call this every few seconds."""
        scan = self._scanning.look() if self._scanning else None
        return [work for work in (scan, self._progress.look(self.pending, self.intake.released)) if work is not None]

    @property
    def feed_seconds(self) -> float:
        """Seconds since the first notification that has not been followed yet."""
        return time.monotonic() - self._notified_at if self._is_notified else 0.0

    def ring(self) -> None:
        """Rows may have changed: read the feed as soon as possible."""
        if not self._is_notified:
            self._notified_at = time.monotonic()
        self._is_notified = True
        self.queue.wake()

    def look_everywhere(self) -> None:
        """Scan the whole tree as soon as possible."""
        self._rescan = True
        self.queue.wake()

    def read_everything(self) -> None:
        """Read every file and row again, even unchanged or stopped ones: stamps and versions can be forged."""
        self._reread = True
        self.queue.mark(self.sides.looker.index.paths(), self.passes.restraint.release(), forced=True)
        self.queue.wake()

    def acknowledge_soon(self) -> None:
        """Acknowledge finished work without delay, because a caller waits for it."""
        self._acknowledged_at = 0.0
        self.queue.wake()

    def compare_soon(self) -> None:
        """Compare all rows, bases and files as soon as possible, to find missed changes."""
        self._recompare = True
        self.queue.wake()

    async def start(self) -> None:
        """Compare everything and finish what a crash left, so that the queue is complete."""
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
        """Work until *stop*; work in progress is finished."""
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
                if isinstance(error, OSError):  # the disk or a limit of the kernel: what was interrupted is unknown
                    self.compare_soon()
                await pause(stop, backoff.pause())
                with suppress(Unavailable):
                    await self.sides.database.mend()

    def _seconds_to_wait(self) -> float:
        """Seconds to wait while nothing is marked."""
        look = min(LOOK_MOST, max(LOOK, LOOK_SHARE * self.company.mirrors))
        if not self.handshake.owed:
            return look
        return min(look, max(ACK, self._acknowledged_at + self.rest - time.monotonic()))

    @property
    def rest(self) -> float:
        """Minimum seconds between two rounds of deferrable work; it grows with the mirrors of the daemon."""
        return min(REST, REST_SHARE * self.company.mirrors)

    async def work(self, stop: asyncio.Event) -> None:
        """One round: process everything that is ready, then deletions that are due."""
        if self.sides.lease is None or not await self.root.is_sound():
            await pause(stop, RETRY)
            return
        self._is_working = True
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
            if self._is_notified:
                await self._read_feed()
            while self.intake.is_ready and not stop.is_set() and await self.root.is_sound():
                if seconds := self._seconds_until_next_pass():
                    await pause(stop, seconds)
                    break  # rows, deletions and decisions get their turn, too
                if self.feed_seconds > FEED:
                    await self._read_feed()
                await self._run_pass()
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
            await self.passes.finish()  # an error may have left a pass unfinished
            self.passes.read_just_now(None)
            self._is_working = False

    def _seconds_until_next_pass(self) -> float:
        """Seconds to pause in favour of other mirrors; a first import is not slowed down."""
        return 0.0 if self.adoption.active else self.share.rest(time.monotonic())

    async def _run_pass(self) -> None:
        began = time.monotonic()
        await self.passes.take_in_hand()
        now = time.monotonic()
        self.share.took(began, now)
        self.pulse.step()

    async def _acknowledge(self) -> None:
        """Acknowledge finished work in a quiet moment: it costs as much as an edit, and must not delay one."""
        now = time.monotonic()
        if now - self._acknowledged_at < self.rest:
            return
        if is_due(now, worked=self.conclusion.done_at, last=self._acknowledged_at, quiet=ACK):
            self._acknowledged_at = now
            await self.handshake.acknowledge()

    async def _shake_hands(self) -> None:
        """Check that database and tree are those of the last round; after a rewind, begin an adoption."""
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
        """End the adoption: all marked entries have been worked on."""
        await self.brake.halt_rewind(self.adoption.cause, self.adoption.settled)
        self.adoption.active = False
        self.handshake.owed = True

    async def _read_feed(self) -> None:
        self._is_notified = False
        notified_at = self._notified_at
        try:
            pages = await self.feed.read(self.problems.entries())
        except (Unavailable, Fenced):
            self._is_notified, self._notified_at = True, notified_at
            raise
        self.queue.mark(entries=[entry for page in pages for entry in page.entries], noticed=notified_at)
        if len(pages) == 1:
            self.passes.read_just_now(pages[0])

    async def compare_all(self) -> None:
        """Mark every entry whose base, file and row are not equal."""
        sides = self.sides
        scanned, index = await self._scan(), sides.looker.index
        differing_paths, absent_entries = set(index.paths()), list[EntryId]()
        async with sides.database.transaction(sides.tenant) as connection:
            async for bases in comparison.agreed(connection, sides.tenant, sides.mirror):
                differing_paths.difference_update(path for _, path, digest in bases if path and index.has(path, digest))
                absent_entries += [entry for entry, path, _ in bases if path is None or scanned.shows_absent(path)]
                differing_paths |= sides.looker.reclaim(scanned, (path for _, path, _ in bases if path is not None))
            entries = await comparison.differing(connection, sides.tenant, sides.mirror)
        self.queue.mark(differing_paths, [*entries, *absent_entries, *self.problems.entries()], forced=True)

    async def _scan(self) -> Scan:
        began = time.monotonic()
        self._rescan = False
        self._scanning = Scanning(len(self.sides.looker.index))
        try:
            scanned, differing, look = await asyncio.to_thread(self._scan_tree, self._scanning)
        finally:
            self._scanning = None
        self.scan_seconds = time.monotonic() - began
        self.pulse.scans.add(self.scan_seconds, time.monotonic())
        self.pulse.step()
        unconfirmed = self.doubts.looked_everywhere(began)
        self.queue.mark(differing | unconfirmed.paths, unconfirmed.entries | self.conclusion.take_barred(), forced=True)
        await self.problems.update(look)
        self.queue.mark(entries=[*await self.recovery.settle_leftovers(), *await self.recovery.sweep_trash()])
        return scanned

    def _scan_tree(self, scanning: Scanning) -> tuple[Scan, set[str], Look]:
        """Scan the whole tree without reading files: the scan, the paths that differ from the index, the problems."""
        looker, look = self.sides.looker, Look()
        with suppress(Busy, Refused):
            try:
                looker.ignore = ignore.Ignore.load(self.sides.tree)
            except Damaged as error:
                look.troubles.append((ignore.PATH, "damaged", str(error)))
        look.looked.add(ignore.PATH)
        scanned = scan(self.sides.tree, looker.ignore, seen=scanning.tell, known=looker.index.same)
        look.list_troubles(scanned)
        # an unreadable path is in no index: only the problem list shows that it is gone
        look.gone.update(path for path in self.problems.in_tree() if scanned.shows_absent(path))
        looker.index.prune()
        return scanned, looker.differing(scanned) | self.problems.passed(scanned), look

    async def _delete(self, entries: dict[EntryId, str | None], allowed: frozenset[EntryId] = frozenset()) -> bool:
        """
        Carry deletions over after a scan, which finds moved files. Returns False if it has to be tried again.

        allowed: only these entries, which a person decided about; others are still gathered.
        """
        try:
            await self._scan()
            while self.intake.is_ready:
                await self._run_pass()
            await self.passes.finish()
            entries |= self.brake.gathered.take(allowed)
            paths = frozenset(path for path in entries.values() if path is not None)
            dirty = Dirty(paths, frozenset(entries), paths)
            retry_seconds = await self.passes.delete(dirty, self._delete_lost(dirty, allowed))
        except (Unavailable, Fenced):
            self.brake.gathered.add(entries)
            raise
        if retry_seconds and allowed:  # the decided halt is tried again later
            self.brake.resting = time.monotonic() + retry_seconds
        elif retry_seconds:
            self.queue.mark(paths, entries, forced=True, delay=retry_seconds)
        return not retry_seconds

    async def _delete_lost(self, dirty: Dirty, allowed: frozenset[EntryId]) -> None:
        observation = await self.passes.observe(dirty)
        decisions = self.doubts.decide(observation, list(observation.states.values()))
        losses = [decision for decision in decisions if decision.step is Step.DELETE]
        self.conclusion.mark_others(decisions)
        applied = Applied()
        applied.add(await self.brake.carry_over(losses, allowed))
        await self.conclusion.conclude(observation, applied)

    async def _carry_out_decisions(self) -> None:
        for halt in await self.brake.take_decisions():
            if await self._carry_out(halt):  # otherwise the halt stays until it is possible
                await self.brake.close(halt)

    async def _carry_out(self, halt: Halt) -> bool:
        if halt.side is not None and halt.decision == "apply":
            return await self._delete(dict.fromkeys(halt.entries), frozenset(halt.entries))
        if halt.side is None:
            await self._resume_after_rewind(halt)
        else:
            await self._undo_deletions(halt.entries)
        return True

    async def _resume_after_rewind(self, halt: Halt) -> None:
        """Let deletions spread again after a rewind; if discarded, first compare everything by the same rules."""
        if halt.decision == "discard":
            self.adoption.begin(Rewind.UNKNOWN)
            self._recompare = True
            self.queue.wake()

    async def _undo_deletions(self, entries: Sequence[EntryId]) -> None:
        """Undo deletions that were a mistake."""
        observation = await self.passes.observe(Dirty(entries=frozenset(entries)))
        applied = Applied()
        decisions = self.doubts.decide(observation, list(observation.states.values()))
        self.conclusion.mark_others(decisions)
        await apply(self.sides, restored(decisions), observation.look.views, applied)
        await self.conclusion.conclude(observation, applied)
