"""The engine of one mirror: observe, plan, guard, apply, until both sides are equal; then wait."""

import asyncio
import logging
import math
import time
from contextlib import suppress
from functools import partial

from mirrord.db.database import Connection
from mirrord.db.open_issues import Halt
from mirrord.domain.entry import EntryId
from mirrord.domain.measures import Work
from mirrord.errors import Fenced, Unavailable
from mirrord.mirror.tree.tree_scan import Scan
from mirrord.sync.change_sources import Feed, add_missing_versions, find_differing, scan_tree
from mirrord.sync.decisions.entry_decision import Step
from mirrord.sync.decisions.pacing import FairShare, FairShares, is_deferred_work_due, seconds_between_looks
from mirrord.sync.decisions.tree_history import Rewind
from mirrord.sync.engine_parts import ImportProgress, ScanProgress, make_parts
from mirrord.sync.handshake import Root
from mirrord.sync.held_contents import carry_out_content_halt, halt_held_contents
from mirrord.sync.lone_edits import read_feed
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.observe import Dirty
from mirrord.sync.observation.unrecorded_bases import store_unrecorded_bases
from mirrord.sync.pass_results import conclude, mark_other_changes, take_barred
from mirrord.sync.passes import finish_writing, observe_sides, run_deletion, start_pass, undo_deletions
from mirrord.sync.stops import CONTENT_SIDE
from mirrord.sync.timing import Backoff, measure_work, pause
from mirrord.sync.writing.apply import PassOutcome

log = logging.getLogger(__name__)

ACK_QUIET_SECONDS = 0.2  # seconds without work before it is acknowledged
ROUND_SECONDS_PER_MIRROR = 0.05  # seconds at least between two rounds of deferrable work, for each mirror
MAX_ROUND_SECONDS = 5.0  # seconds between them at most
MAX_FEED_DELAY_SECONDS = 0.1  # seconds after which changed rows are read although files go on changing
MIN_LOOK_SECONDS = 0.05  # seconds at least until the next look while deletions are due that cannot be carried over
DISCARD_RETRY_SECONDS = 2.0  # seconds until entries of a discarded halt that could not come back are tried again
RETRY_SECONDS = 0.5  # seconds after the root was out of reach, or the lease lost


class Engine:
    """Works on one mirror. It can find all of its state again by a scan."""

    def __init__(self, sides: Sides, *, is_adopting: bool, fair_shares: FairShares | None = None) -> None:
        """fair_shares: the mirrors of the same daemon; None if this is the only one."""
        self.sides = sides
        self.fair_shares = fair_shares or FairShares()
        self.fair_shares.join()
        self.fair_share = FairShare(self.fair_shares, sides.tenant)
        self.parts = parts = make_parts(sides, self.request_scan, is_adopting=is_adopting)
        self.adoption = parts.adoption
        self.handshake = parts.handshake
        self.queue = parts.queue
        self.intake = parts.intake
        self.pulse = parts.pulse
        self.halts = parts.halts
        self.problems = parts.problems
        self.recovery = parts.recovery
        self.retries = parts.retries
        self.root = Root(sides, self.problems, self.handshake)
        self.feed = Feed(sides)
        self.is_started = False
        self.scan_seconds = 0.0  # processor time of the last scan
        self._scanning: ScanProgress | None = None
        self._progress = ImportProgress()
        self._is_notified = False
        self._notified_at = 0.0
        self._notified_seq = 0.0  # the newest number of a change that is known; infinite: an unknown one
        self._rescan = False
        self._recompare = False
        self._reread = False
        self._is_working = False
        self._acknowledged_at = time.monotonic()  # or when it began; 0: a caller waits for an acknowledgement

    @property
    def is_idle(self) -> bool:
        """Whether everything marked so far is done."""
        has_requests = self._is_notified or self._rescan or self._recompare or self._reread
        return not (self._is_working or has_requests or self.pending_count or self.handshake.is_owed)

    @property
    def rows_changed(self) -> asyncio.Event:
        """Set when rows changed and documents have to be derived."""
        return self.parts.rows_changed

    @property
    def pending_count(self) -> int:
        """The number of marks that are not done."""
        return len(self.queue) + len(self.intake) + len(self.halts.gathered_deletions.entries)

    @property
    def waiting_since(self) -> float | None:
        """Monotonic time at which the oldest waiting change was noticed; None if none waits or the time is unknown."""
        notice_times = (
            [self.queue.oldest_notice_time, self._notified_at if self._is_notified else None]
            if self.pending_count
            else []
        )
        return min((at for at in notice_times if at is not None), default=None)

    def list_long_work(self) -> list[Work]:
        """The long work in progress; call this every few seconds."""
        scan = self._scanning.progress() if self._scanning else None
        return [
            work
            for work in (scan, self._progress.progress(self.pending_count, self.intake.released_count))
            if work is not None
        ]

    @property
    def feed_delay_seconds(self) -> float:
        """Seconds since the first notification that has not been followed yet."""
        return time.monotonic() - self._notified_at if self._is_notified else 0.0

    def notify(self, seq: float = math.inf) -> None:
        """Rows may have changed: read the feed as soon as possible. seq: the number of the newest change, if known."""
        if seq <= self.feed.cursor:
            return
        self._notified_seq = max(self._notified_seq, seq)
        if not self._is_notified:
            self._notified_at = time.monotonic()
        self._is_notified = True
        self.queue.wake()

    def request_scan(self) -> None:
        """Scan the whole tree as soon as possible."""
        self._rescan = True
        self.queue.wake()

    def request_reread(self) -> None:
        """Read every file and row again, even unchanged or stopped ones: stamps and versions can be forged."""
        self._reread = True
        self.queue.mark(self.sides.looker.index.paths(), self.parts.restraint.release(), forced=True)
        self.queue.wake()

    def request_acknowledgement(self) -> None:
        """Acknowledge finished work without delay, because a caller waits for it."""
        self._acknowledged_at = 0.0
        self.queue.wake()

    def request_comparison(self) -> None:
        """Compare all rows, bases and files as soon as possible, to find missed changes."""
        self._recompare = True
        self.queue.wake()

    async def start(self) -> None:
        """Compare everything and finish what a crash left, so that the queue is complete."""
        self.pulse.step()
        async with self.sides.database.transaction(self.sides.tenant) as connection:
            seq = await self._shake_hands(connection)
            if has_past := not (self.sides.is_first and seq == 0):
                await self.problems.load(connection)
                await self.halts.load(connection)
        self.feed.begin(seq)
        if await self.root.is_sound():
            await self.compare_all(has_rows=has_past)
        else:
            self._recompare = True
        self.is_started = True

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop*; work in progress is finished."""
        backoff = Backoff()
        while not stop.is_set():
            await self.queue.wait(self._seconds_to_wait())
            self.pulse.step()
            try:
                await self.work_once(stop)
                self.pulse.outage = None
                backoff.reset()
            except (Unavailable, Fenced, OSError) as error:
                if self.pulse.outage != str(error):
                    log.warning("engine_waits", extra={"tenant": self.sides.name, "error": str(error)})
                self.pulse.outage = str(error)
                if isinstance(error, OSError):  # the disk or a limit of the kernel: what was interrupted is unknown
                    self.request_comparison()
                await pause(stop, backoff.next_pause_seconds())
                with suppress(Unavailable):
                    await self.sides.database.replace_broken()

    def _seconds_to_wait(self) -> float:
        """Seconds to wait while nothing is marked."""
        look = seconds_between_looks(self.fair_shares.mirrors, is_halted=self.halts.is_halted)
        if (seconds := self.halts.gathered_deletions.seconds_until_due) is not None:
            look = min(look, max(MIN_LOOK_SECONDS, seconds))
        if not self.handshake.is_owed:
            return look
        return min(look, max(ACK_QUIET_SECONDS, self._acknowledged_at + self.min_round_seconds - time.monotonic()))

    @property
    def min_round_seconds(self) -> float:
        """Minimum seconds between two rounds of deferrable work; it grows with the mirrors of the daemon."""
        return min(MAX_ROUND_SECONDS, ROUND_SECONDS_PER_MIRROR * self.fair_shares.mirrors)

    async def work_once(self, stop: asyncio.Event) -> None:
        """One round: process everything that is ready, then deletions that are due."""
        if self.sides.lease is None or not await self.root.is_sound():
            await pause(stop, RETRY_SECONDS)
            return
        self._is_working = True
        try:
            if self.handshake.is_due:
                async with self.sides.database.transaction(self.sides.tenant) as connection:
                    await self._shake_hands(connection)
            if self._reread:
                await add_missing_versions(self.sides)
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
                now = time.monotonic()
                if now < self.fair_share.paused_until and (seconds := self._seconds_until_next_pass(now)):
                    await pause(stop, seconds)
                    break  # rows, deletions and decisions get their turn, too
                if self._is_notified and self.feed_delay_seconds > MAX_FEED_DELAY_SECONDS:
                    await self._read_feed()
                await self._run_pass()
            await finish_writing(self.parts)
            if self.root.suspended is not None:
                return
            if self.adoption.active and not (self.intake.is_ready or self._rescan):  # a scan shows what was renamed
                await self._end_adoption()
            await halt_held_contents(self.parts)
            if self.halts.is_halted and time.monotonic() >= self.halts.retry_at:
                await self._carry_out_decisions()
            if self.halts.gathered_deletions.is_due:
                await self._delete(self.halts.gathered_deletions.take_entries())
            self.queue.mark(entries=await self.recovery.absorb_pending())
            if self.handshake.is_owed and not (self.adoption.active or self.intake.is_ready):
                await self._acknowledge()
        finally:
            await finish_writing(self.parts)  # an error may have left a pass unfinished
            self.parts.known_entries = None
            self._is_working = False

    def _seconds_until_next_pass(self, now: float) -> float:
        """Seconds to pause in favour of other mirrors; a first import is not slowed down."""
        return 0.0 if self.adoption.active else self.fair_share.seconds_until_pass(now)

    async def _run_pass(self) -> None:
        began = time.monotonic()
        await start_pass(self.parts)
        now = time.monotonic()
        self.fair_share.note_pass(began, now)
        self.pulse.step()

    async def _acknowledge(self) -> None:
        """Acknowledge finished work in a quiet moment: it costs as much as an edit, and must not delay one."""
        now = time.monotonic()
        if now - self._acknowledged_at < self.min_round_seconds:
            return
        is_requested = self._acknowledged_at == 0.0
        if is_requested or is_deferred_work_due(
            now,
            worked_at=self.parts.last_done_at,
            waiting_since=self.handshake.owed_at,
            quiet_seconds=ACK_QUIET_SECONDS,
        ):
            self._acknowledged_at = now
            await self.handshake.acknowledge()

    async def _shake_hands(self, connection: Connection) -> int:
        """
        Check that database and tree are those of the last round; after a rewind, begin an adoption.

        Returns the number of the tenant's last change.
        """
        rewind, seq = await self.handshake.compare_sides(connection)
        if rewind is not Rewind.NONE:
            log.info("sides_compared_anew", extra={"tenant": self.sides.name, "cause": rewind.value})
            self.adoption.begin(rewind)
            if self.is_started:
                await self.halts.load(connection)
                self.feed.begin(seq)
                self._recompare = True
        return seq

    async def _end_adoption(self) -> None:
        """End the adoption: all marked entries have been worked on."""
        await self.halts.halt_rewind(self.adoption.cause, self.adoption.changed_entries)
        self.adoption.active = False
        self.handshake.owe()

    async def _read_feed(self) -> None:
        hindered_entries = self.problems.hindered_entries()  # any change may end what hinders them
        if not hindered_entries:
            await self.feed.pass_over_own()
        self._is_notified, notified_at = False, self._notified_at
        notified_seq, self._notified_seq = self._notified_seq, 0.0
        if notified_seq <= self.feed.cursor:
            return
        try:
            pages = await read_feed(self.parts, self.feed, hindered_entries)
        except (Unavailable, Fenced):
            self._is_notified, self._notified_at, self._notified_seq = True, notified_at, math.inf
            raise
        self.queue.mark(entries=[entry for page in pages for entry in page.entries], noticed=notified_at)
        if len(pages) == 1:
            self.parts.known_entries = pages[0]

    async def compare_all(self, *, has_rows: bool = True) -> None:
        """Mark every entry whose base, file and row are not equal. has_rows: whether there may be bases or rows."""
        paths, entries = await find_differing(self.sides, await self._scan(), has_rows=has_rows)
        self.queue.mark(paths, [*entries, *self.problems.hindered_entries()], forced=True)

    async def _scan(self) -> Scan:
        began = time.monotonic()
        self._rescan = False
        self._scanning = ScanProgress(len(self.sides.looker.index))
        try:
            scan = partial(scan_tree, self.sides, self.problems, self._scanning)
            (scanned, differing, look), self.scan_seconds = await asyncio.to_thread(measure_work, scan)
        finally:
            self._scanning = None
        self.pulse.scans.add(time.monotonic() - began, time.monotonic())
        self.pulse.step()
        await store_unrecorded_bases(self.sides, scanned)
        unconfirmed = self.retries.note_scan(began)
        self.sides.occupied_paths.note_scan(began)
        differing.update(unconfirmed.paths)  # no copy: there may be a million
        self.queue.mark(differing, unconfirmed.entries | take_barred(self.parts), forced=True)
        await self.problems.update(look)
        self.queue.mark(entries=[*await self.recovery.clean_up_leftovers(), *await self.recovery.sweep_trash()])
        return scanned

    async def _delete(self, entries: dict[EntryId, str | None], allowed: frozenset[EntryId] = frozenset()) -> bool:
        """
        Carry deletions over after a scan, which finds moved files. Returns False if it has to be tried again.

        allowed: only these entries, which a person decided about; others are still gathered.
        """
        try:
            await self._scan()
            while self.intake.is_ready:
                await self._run_pass()
            await finish_writing(self.parts)
            entries |= self.halts.gathered_deletions.take_entries(allowed)
            paths = frozenset(path for path in entries.values() if path is not None)
            dirty = Dirty(paths, frozenset(entries), paths)
            retry_seconds = await run_deletion(self.parts, dirty, self._delete_lost(dirty, allowed))
        except (Unavailable, Fenced):
            self.halts.gathered_deletions.add(entries)
            raise
        if retry_seconds and allowed:  # the decided halt is tried again later
            self.halts.retry_at = time.monotonic() + retry_seconds
        elif retry_seconds:
            self.queue.mark(paths, entries, forced=True, delay=retry_seconds)
        return not retry_seconds

    async def _delete_lost(self, dirty: Dirty, allowed: frozenset[EntryId]) -> None:
        observation = await observe_sides(self.parts, dirty)
        decisions = self.retries.decide(observation, list(observation.states.values()))
        losses = [decision for decision in decisions if decision.step is Step.DELETE]
        mark_other_changes(self.parts, decisions)
        applied = PassOutcome()
        applied.add(await self.halts.carry_over(losses, allowed))
        await conclude(self.parts, observation, applied)

    async def _carry_out_decisions(self) -> None:
        await self.halts.close_past()
        for halt in await self.halts.load_decided_halts():
            if await self._carry_out(halt):  # otherwise the halt stays until it is possible
                await self.halts.close(halt)

    async def _carry_out(self, halt: Halt) -> bool:
        if halt.side == CONTENT_SIDE:
            return await carry_out_content_halt(self.parts, halt)
        if halt.side is not None and halt.decision == "apply":
            return await self._delete(dict.fromkeys(halt.entries), frozenset(halt.entries))
        if halt.side is None:
            await self._resume_after_rewind(halt)
        elif not await undo_deletions(self.parts, halt.entries):
            self.halts.retry_at = time.monotonic() + DISCARD_RETRY_SECONDS
            return False
        return True

    async def _resume_after_rewind(self, halt: Halt) -> None:
        """Let deletions spread again after a rewind; if discarded, first compare everything by the same rules."""
        if halt.decision == "discard":
            self.adoption.begin(Rewind.UNKNOWN)
            self._recompare = True
            self.queue.wake()
