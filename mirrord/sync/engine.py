"""The engine of one mirror: observe, plan, guard, apply, until both sides are equal; then wait."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from mirrord.db import states
from mirrord.db.attention import Problem
from mirrord.domain.entry import EntryId
from mirrord.domain.state import State
from mirrord.errors import Busy, Damaged, Fenced, Locked, Refused, Unavailable
from mirrord.mirror.ignore import PATH as IGNORE_PATH
from mirrord.mirror.ignore import Ignore
from mirrord.mirror.layout import printable
from mirrord.mirror.scan import Scan, scan
from mirrord.sync.apply import Applied, apply, passes, path_of, prepare, where
from mirrord.sync.backoff import Backoff
from mirrord.sync.brake import Brake, restored
from mirrord.sync.decision import Decision, Step
from mirrord.sync.doubts import FIRST_DELAY, Doubts
from mirrord.sync.feed import Feed
from mirrord.sync.intake import CHUNK, Intake
from mirrord.sync.listing import ProblemList
from mirrord.sync.look import Look
from mirrord.sync.observe import Dirty, Observation, observe
from mirrord.sync.plan import Move
from mirrord.sync.queue import Queue
from mirrord.sync.recovery import Recovery
from mirrord.sync.root import Root
from mirrord.sync.sides import Sides
from mirrord.sync.unversioned import give_versions

log = logging.getLogger(__name__)

RETRY = 0.5  # seconds after the root was out of reach, or the lease lost
FAILED = 60.0  # seconds until an item on which mirrord itself failed is tried again


@dataclass(slots=True)
class Pulse:
    """What `status` tells of an engine. Times are Unix seconds, None: not since the start; sentences: None is good."""

    last_file_to_row: float | None = None
    last_row_to_file: float | None = None
    outage: str | None = None
    moves: int = 0


class Engine:
    """Works on one mirror. Everything it knows can be found again by looking."""

    def __init__(self, sides: Sides, *, adopting: bool) -> None:
        self.sides = sides
        self.adopting = adopting
        self.queue = Queue()
        self.intake = Intake(self.queue, sides.looker)
        self.pulse = Pulse()
        self.brake = Brake(sides)
        self.problems = ProblemList(sides)
        self.root = Root(sides, self.problems)
        self.feed = Feed(sides)
        self.recovery = Recovery(sides)
        self.doubts = Doubts()
        self.written = asyncio.Event()  # rings when rows changed: documents are to be derived
        self.started = False
        self.scan_seconds = 0.0  # what the last look everywhere took
        self._rung = False
        self._rescan = False
        self._recompare = False
        self._reread = False
        self._working = False

    @property
    def idle(self) -> bool:
        """Whether everything marked so far is done."""
        return not (self._working or self._rung or self._rescan or self._recompare or self._reread or self.pending)

    @property
    def pending(self) -> int:
        """How much is marked and not done."""
        return len(self.queue) + len(self.intake) + len(self.brake.gathered.entries)

    def ring(self) -> None:
        """Rows may have changed: read the feed as soon as possible."""
        self._rung = True
        self.queue.wake()

    def look_everywhere(self) -> None:
        """Scan the whole tree as soon as possible."""
        self._rescan = True
        self.queue.wake()

    def read_everything(self) -> None:
        """Read every file and row again, also those that look unchanged: sizes, time stamps, versions can be forged."""
        self._reread = True
        self.queue.mark(self.sides.looker.index.paths(), forced=True)
        self.queue.wake()

    def compare_soon(self) -> None:
        """Compare all rows, bases and files as soon as possible: whatever was missed is found."""
        self._recompare = True
        self.queue.wake()

    async def start(self) -> None:
        """Compare everything and settle what a crash left: the queue knows then what is to be done."""
        await self.feed.begin()
        await self.problems.load()
        await self.brake.load()
        await self.compare_all()
        self.started = True

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop*; what is being done then is finished."""
        backoff = Backoff()
        while not stop.is_set():
            await self.queue.wait(1.0)
            try:
                await self.work(stop)
                self.pulse.outage = None
                backoff.succeeded()
            except (Unavailable, Fenced) as error:
                if self.pulse.outage != str(error):
                    log.warning("engine_waits", extra={"tenant": self.sides.name, "error": str(error)})
                self.pulse.outage = str(error)
                await _pause(stop, backoff.pause())
                with suppress(Unavailable):
                    await self.sides.database.mend()

    async def work(self, stop: asyncio.Event) -> None:
        """One round: everything that is ready, then deletions that are due."""
        if self.sides.lease is None or not await self.root.is_sound():
            await _pause(stop, RETRY)
            return
        self._working = True
        try:
            if self._reread:
                await give_versions(self.sides)
                self._reread = False
            if self._recompare:
                self._recompare = False
                await self.compare_all()
            if self._rescan:
                await self._scan()
            if self._rung:
                await self._read_feed()
            while self.intake.is_ready and not stop.is_set():
                await self._take_in_hand()
            if not self.intake.is_ready:
                self.adopting = False
            if self.brake.gathered.due:
                await self._delete(self.brake.gathered.take())
            if self.brake.halted:
                await self._carry_out_decisions()
            self.queue.mark(entries=await self.recovery.absorb_pending())
        finally:
            self._working = False

    async def _read_feed(self) -> None:
        self._rung = False
        try:
            self.queue.mark(entries=await self.feed.read())
        except (Unavailable, Fenced):
            self._rung = True
            raise

    async def compare_all(self) -> None:
        """Mark whatever is not equal on the two sides and in the base."""
        sides = self.sides
        found = await self._scan()
        async with sides.database.transaction(sides.tenant) as connection:
            agreed = await states.load_agreed(connection, sides.tenant, sides.mirror)
            entries = await states.differing(connection, sides.tenant, sides.mirror)
        digests = {path: digest for _, path, digest in agreed}
        odd = [path for path, digest in sides.looker.index.digests() if digests.get(path) != digest]
        absent = [entry for entry, path, _ in agreed if path is None or found.shows_absent(path)]
        self.queue.mark(odd, [*entries, *absent], forced=True)

    async def _scan(self) -> Scan:
        self._rescan = False
        began = time.monotonic()
        found, differing, look = await asyncio.to_thread(self._look_around)
        self.scan_seconds = time.monotonic() - began
        await self.problems.update(look, (), ())
        self.queue.mark(differing, forced=True)
        self.queue.mark(entries=await self.recovery.settle_leftovers())
        self.queue.mark(entries=await self.recovery.sweep_trash())
        return found

    def _look_around(self) -> tuple[Scan, set[str], Look]:
        """The whole tree without reading a file: what is there, what is not as last seen, what is wrong."""
        looker, look = self.sides.looker, Look()
        with suppress(Busy, Refused):
            try:
                looker.ignore = Ignore.load(self.sides.tree)
            except Damaged as error:
                look.troubles.append((IGNORE_PATH, "damaged", str(error)))
        look.looked.add(IGNORE_PATH)
        found = scan(self.sides.tree, looker.ignore)
        look.list_troubles(found)
        # what could not be read is in no index: that it went is told by the list only
        look.gone.update(path for path in self.problems.in_tree() if found.shows_absent(path))
        looker.index.prune()
        return found, looker.differing(found), look

    async def _take_in_hand(self) -> None:
        dirty, look = await self.intake.take()
        try:
            await self._work_on(dirty, look)
        finally:
            self.intake.release()

    async def _work_on(self, dirty: Dirty, look: Look | None = None) -> None:
        if IGNORE_PATH in dirty.paths:
            self.look_everywhere()
        try:
            dirty = await self._expanded(dirty)
            await self._pass(dirty, look)
        except Locked:
            self.queue.mark(dirty.paths, dirty.entries, forced=True, delay=FIRST_DELAY)
        except (Unavailable, Fenced):
            self.queue.put_back(dirty)
            raise
        except Exception:  # one item must not stop the others
            log.exception("pass_failed", extra={"tenant": self.sides.name})
            await self._work_on_each(dirty)

    async def _expanded(self, dirty: Dirty) -> Dirty:
        """With everything below directories that differs; what is too much for one pass waits for the next."""
        looker, fresh = self.sides.looker, dirty.paths - dirty.forced
        if not fresh:
            return dirty
        found = await asyncio.to_thread(lambda: set().union(*map(looker.expand, fresh)))
        if len(found) > CHUNK:
            self.queue.mark(found - dirty.paths)
            return dirty
        return Dirty(dirty.paths | found, dirty.entries, dirty.forced)

    async def _work_on_each(self, dirty: Dirty) -> None:
        """A pass failed as nobody foresaw: find the one item that does it, and list that as a problem."""
        items = [Dirty(paths=frozenset({path}), forced=frozenset({path})) for path in dirty.paths]
        items += [Dirty(entries=frozenset({entry})) for entry in dirty.entries]
        if len(items) > 1:
            for item in items:
                await self._work_on(item)
            return
        where = printable(next(iter(dirty.paths), "")) or str(next(iter(dirty.entries)))
        sentence = f"mirrord failed on {where!r} and left it as it is; its log says how. It tries again every minute."
        await self.problems.change([Problem(where, "internal", sentence)], [])
        self.queue.mark(dirty.paths, dirty.entries, forced=True, delay=FAILED)

    async def _pass(self, dirty: Dirty, look: Look | None) -> None:
        observation, applied = await observe(self.sides, dirty, look), Applied()
        decisions = self._decide(observation, list(observation.states.values()))
        unready = [one for one in decisions if one.step is Step.PREPARE]
        if unready:
            ready = await prepare(self.sides, unready, self.doubts, applied)
            decisions = [one for one in decisions if one.step is not Step.PREPARE] + self._decide(observation, ready)
        if any(one.step is Step.FILE for one in decisions):
            await self.intake.look_again()
        await apply(self.sides, decisions, observation.look.views, applied)
        self.brake.gathered.add(one.state.entry for one in decisions if one.step is Step.DELETE)
        applied.later += [one for one in decisions if one.step is Step.LATER and passes(one)]
        await self._conclude(observation, applied)

    def _decide(self, observation: Observation, known: list[State]) -> list[Decision]:
        return self.doubts.decide(observation, known, adopting=self.adopting)

    async def _conclude(self, observation: Observation, applied: Applied) -> None:
        """Remember what was done, mark what is to be looked at again, list what needs a person."""
        self._mark_again([one for one in applied.done if one.again], 0)
        for decision in applied.stale:
            self._mark_again([decision], self.doubts.delay(decision.state.entry, at_once=True))
        for decision in applied.later:
            self._mark_again([decision], self.doubts.delay(decision.state.entry))
        self.queue.mark(observation.look.passing, forced=True, delay=FIRST_DELAY)
        self.queue.mark(observation.unowned, applied.entries, forced=True)
        for row, path, over, displaced in applied.displaced:
            self.recovery.add(row.entry, path, over, displaced)
        moved = [*map(where, applied.done), *applied.written]
        await self.problems.update(observation.look, applied.troubles, moved)
        await self._remember(applied)

    def _mark_again(self, decisions: Sequence[Decision], delay: float) -> None:
        paths = [one.state.file.path for one in decisions if one.state.file is not None]
        self.queue.mark(paths, [one.state.entry for one in decisions], forced=True, delay=delay)

    async def _remember(self, applied: Applied) -> None:
        if not applied.done:
            return
        index = self.sides.looker.index
        paths = {path: one.state.entry for one in applied.done if (path := path_of(one)) is not None} | applied.written
        seen = {path: found for path, entry in paths.items() if (found := index.own(path, entry)) is not None}
        await asyncio.to_thread(self.sides.state.store, seen, [path for path in paths if path not in seen])
        for decision in applied.done:
            self.doubts.done(decision.state.entry)
        self._tick(applied.done)
        self.written.set()

    def _tick(self, done: Sequence[Decision]) -> None:
        self.pulse.moves += len(done)
        for decision in done:
            if decision.step is Step.ROW or decision.move is Move.ENTOMB:
                self.pulse.last_file_to_row = time.time()
            elif decision.step is Step.FILE or decision.move is Move.TRASH:
                self.pulse.last_row_to_file = time.time()
        for (move, place), count in Counter((one.move.name, one.place.name) for one in done).items():
            facts = {"tenant": self.sides.name, "move": move, "place": place, "entries": count}
            log.info("moved", extra=facts | ({"entry": str(done[0].state.entry)} if len(done) == 1 else {}))

    async def _delete(self, entries: set[EntryId], allowed: Sequence[EntryId] = ()) -> None:
        """Carry deletions over, after a look everywhere: what moved is found by then."""
        try:
            await self._scan()
            while self.intake.is_ready:
                await self._take_in_hand()
            entries |= self.brake.gathered.take()
            await self._delete_what_is_gone(entries, allowed)
        except (Unavailable, Fenced):
            self.brake.gathered.add(entries)
            raise

    async def _delete_what_is_gone(self, entries: set[EntryId], allowed: Sequence[EntryId]) -> None:
        observation = await observe(self.sides, Dirty(entries=frozenset(entries)))
        decisions = self._decide(observation, list(observation.states.values()))
        gone = [one for one in decisions if one.step is Step.DELETE]
        self.queue.mark(entries=[one.state.entry for one in decisions if one.step not in (Step.DELETE, Step.NOTHING)])
        applied = Applied()
        applied.add(await self.brake.carry_over(gone, allowed))
        await self._conclude(observation, applied)

    async def _carry_out_decisions(self) -> None:
        decided = await self.brake.take_decisions()
        for halt in decided:
            if halt.decision == "apply":
                await self._delete(set(halt.entries), halt.entries)
            else:
                await self._discard(halt.entries)
        if decided:
            await self.brake.close(decided)

    async def _discard(self, entries: Sequence[EntryId]) -> None:
        """The deletions were a mistake."""
        observation = await observe(self.sides, Dirty(entries=frozenset(entries)))
        applied = Applied()
        back = restored(self._decide(observation, list(observation.states.values())))
        await apply(self.sides, back, observation.look.views, applied)
        await self._conclude(observation, applied)


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
