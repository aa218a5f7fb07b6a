"""The engine of one mirror: observe, plan, guard, apply, until both sides are equal; then wait."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mirrord.db import states
from mirrord.db.attention import Problem
from mirrord.domain.entry import EMPTY, EntryId
from mirrord.domain.state import NO_TEXT, Base, File, State, Unknown
from mirrord.errors import Busy, Damaged, Fenced, MirrordError, Refused, Stale, Unavailable
from mirrord.mirror import marker
from mirrord.mirror.ignore import PATH as IGNORE_PATH
from mirrord.mirror.ignore import Ignore
from mirrord.mirror.layout import printable
from mirrord.mirror.scan import scan
from mirrord.mirror.state import Seen
from mirrord.sync import merging
from mirrord.sync.bodies import data_of
from mirrord.sync.brake import Brake, restored
from mirrord.sync.decision import Decision, Step, decide
from mirrord.sync.files import FileOutcome, to_files
from mirrord.sync.guard import QUIET, check_root
from mirrord.sync.listing import ProblemList
from mirrord.sync.look import Look
from mirrord.sync.observe import Dirty, Observation, observe
from mirrord.sync.place import PlaceMove
from mirrord.sync.plan import Move
from mirrord.sync.prepare import place_row, render_rows
from mirrord.sync.queue import Queue
from mirrord.sync.recovery import Recovery
from mirrord.sync.rows import Outcome, to_rows
from mirrord.sync.sides import Sides

log = logging.getLogger(__name__)

CHUNK = 400  # paths or entries a pass
LATER = 0.5  # seconds until something that cannot be judged or done now is tried again
FAILED = 60.0  # seconds until an item on which mirrord itself failed is tried again
EVERYTHING = 1 << 30


@dataclass(slots=True)
class Pulse:
    """What `status` tells of an engine. Times are Unix seconds, None: not since the start; sentences: None is good."""

    last_file_to_row: float | None = None
    last_row_to_file: float | None = None
    outage: str | None = None
    suspended: str | None = None
    moves: int = 0


class Engine:
    """Works on one mirror. Everything it knows can be found again by looking."""

    def __init__(self, sides: Sides, *, adopting: bool) -> None:
        self.sides = sides
        self.adopting = adopting
        self.queue = Queue()
        self.pulse = Pulse()
        self.brake = Brake(sides)
        self.problems = ProblemList(sides)
        self.recovery = Recovery(sides)
        self.written = asyncio.Event()  # rings when rows changed: documents are to be derived
        self._refused: dict[EntryId, int] = {}  # version of a row whose views have no faithful text
        self._emptied: dict[str, float] = {}  # when a file was first seen empty that should not be
        self.started = False
        self.scan_seconds = 0.0  # what the last look everywhere took
        self._rescan = False
        self._recompare = False
        self._working = False

    @property
    def idle(self) -> bool:
        """Whether everything marked so far is done."""
        return not (self._working or self._rescan or self.pending)

    @property
    def pending(self) -> int:
        """How much is marked and not done."""
        return len(self.queue) + len(self.brake.gathered.entries)

    def look_everywhere(self) -> None:
        """Scan the whole tree as soon as possible."""
        self._rescan = True
        self.queue.mark()

    def compare_soon(self) -> None:
        """Compare all rows, bases and files as soon as possible: whatever was missed is found."""
        self._recompare = True
        self.queue.mark()

    async def start(self) -> None:
        """Settle what a crash left and compare everything: the queue knows then what is to be done."""
        await self.problems.load()
        await self.brake.load()
        self.queue.mark(entries=await self.recovery.settle_leftovers())
        await self.compare_all()
        self.started = True

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop*; what is being done then is finished."""
        while not stop.is_set():
            await self.queue.wait(1.0)
            try:
                await self.work(stop)
                self.pulse.outage = None
            except (Unavailable, Fenced) as error:
                self.pulse.outage = str(error)
                log.warning("engine_waits", extra={"tenant": self.sides.name, "error": str(error)})
                await _pause(stop)

    async def work(self, stop: asyncio.Event) -> None:
        """One round: everything that is ready, then deletions that are due."""
        if self.sides.lease is None or not await self._root_is_sound():
            await _pause(stop)
            return
        self._working = True
        try:
            if self._recompare:
                self._recompare = False
                await self.compare_all()
            if self._rescan:
                await self._scan()
            while self.queue.is_ready and not stop.is_set():
                await self._work_on(self.queue.take(CHUNK))
            if not self.queue.is_ready:
                self.adopting = False
            if self.brake.gathered.due:
                await self._delete(self.brake.gathered.take())
            if self.brake.halted:
                await self._carry_out_decisions()
            self.queue.mark(entries=await self.recovery.absorb_pending())
        finally:
            self._working = False

    async def compare_all(self) -> None:
        """Mark whatever is not equal on the two sides and in the base."""
        sides = self.sides
        await self._scan()
        async with sides.database.transaction(sides.tenant) as connection:
            bases = await states.load_all_bases(connection, sides.tenant, sides.mirror)
            entries = await states.differing(connection, sides.tenant, sides.mirror)
        agreed = {base.path: base for base in bases}
        index = sides.looker.index
        odd = [path for path in index.paths() if _differs(index.get(path), agreed.get(path))]
        absent = [base.entry for base in bases if base.path is None or base.path not in index]
        self.queue.mark(odd, [*entries, *absent], forced=True)

    async def _scan(self) -> None:
        self._rescan = False
        began = time.monotonic()
        look = await asyncio.to_thread(self._look_around)
        self.scan_seconds = time.monotonic() - began
        await self.problems.update(look, (), ())
        self.queue.mark({*look.found, *look.gone, *look.unknown}, forced=True)

    def _look_around(self) -> Look:
        looker, look = self.sides.looker, Look()
        with suppress(Busy, Refused):
            try:
                looker.ignore = Ignore.load(self.sides.tree)
            except Damaged as error:
                look.troubles.append((IGNORE_PATH, "damaged", str(error)))
        look.looked.add(IGNORE_PATH)
        looker.compare(scan(self.sides.tree, looker.ignore), "", look)
        looker.index.prune()
        return look

    async def _work_on(self, dirty: Dirty) -> None:
        if IGNORE_PATH in dirty.paths:
            self.look_everywhere()
        try:
            await self._pass(dirty)
        except (Unavailable, Fenced):
            self.queue.put_back(dirty)
            raise
        except Exception:  # one item must not stop the others
            log.exception("pass_failed", extra={"tenant": self.sides.name})
            await self._work_on_each(dirty)

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

    async def _pass(self, dirty: Dirty) -> None:
        observation = await observe(self.sides, dirty)
        decisions = self._decide(observation)
        by_step = {step: [one for one in decisions if one.step is step] for step in Step}
        outcome = FileOutcome()
        await self._prepare(by_step[Step.PREPARE], outcome)
        await self._write_rows(by_step[Step.ROW], outcome)
        await self._write_files(by_step[Step.FILE], outcome)
        self.brake.gathered.add(one.state.entry for one in by_step[Step.DELETE])
        outcome.later += [one for one in by_step[Step.LATER] if _passes(one.state.file)]
        await self._conclude(observation, outcome)

    def _decide(self, observation: Observation) -> list[Decision]:
        decisions = []
        for state in observation.states.values():
            seen = observation.seen.get(state.entry)
            decision = decide(self._doubting_empty(state), seen=seen, adopting=self.adopting)
            row = state.row
            if decision.move is Move.RENDER and row is not None and self._refused.get(state.entry) == row.version:
                decision = replace(decision, step=Step.NOTHING, again=False)
            decisions.append(decision)
        return decisions

    def _doubting_empty(self, state: State) -> State:
        """An editor empties a file before it writes it: an emptied file is believed when it stays so (row 19)."""
        file, base = state.file, state.base
        if not isinstance(file, File) or file.digest != EMPTY or base is None or base.digest in (EMPTY, NO_TEXT):
            if isinstance(file, File):
                self._emptied.pop(file.path, None)
            return state
        first = self._emptied.setdefault(file.path, time.monotonic())
        if time.monotonic() - first >= QUIET:
            return state
        return replace(state, file=Unknown(file.path, f"{file.path!r} is empty just now."))

    async def _prepare(self, decisions: Sequence[Decision], outcome: Outcome) -> None:
        for decision in decisions:
            if decision.place is PlaceMove.NAME and decision.state.row is not None:
                try:
                    await place_row(self.sides, decision.state.row)
                except Stale:
                    outcome.stale.append(decision)
        renders = {one.state.entry: one for one in decisions if one.place is not PlaceMove.NAME}
        for refusal in await render_rows(self.sides, renders) if renders else []:
            self._refused[refusal.entry] = refusal.version
            outcome.troubles.append((_where(renders[refusal.entry]), "render", refusal.sentence))
        outcome.done += decisions

    async def _write_rows(self, decisions: Sequence[Decision], outcome: Outcome) -> None:
        clashes = [one for one in decisions if one.move in (Move.MERGE, Move.SIBLING) and not _moves(one)]
        plain = [one for one in decisions if one not in clashes]
        if plain:
            outcome.add(await to_rows(self.sides, plain))
        for decision in clashes:
            await self._settle(decision, outcome)

    async def _settle(self, decision: Decision, outcome: Outcome) -> None:
        file = decision.state.file
        assert isinstance(file, File)
        try:
            data = await asyncio.to_thread(data_of, self.sides.tree, file)
            self.queue.mark(entries=await merging.settle(self.sides, merging.clash_of(decision.state, data)))
        except (Stale, FileNotFoundError):
            outcome.stale.append(decision)
        except Busy:
            outcome.later.append(decision)
        except (Damaged, Refused) as error:
            outcome.troubles.append((file.path, "damaged", str(error)))
        else:
            outcome.done.append(decision)

    async def _write_files(self, decisions: Sequence[Decision], outcome: FileOutcome) -> None:
        if not decisions:
            return
        written = await to_files(self.sides, decisions)
        outcome.add(written)
        for row, path, over, displaced in written.displaced:
            self.recovery.add(row.entry, path, over, displaced)

    async def _conclude(self, observation: Observation, outcome: Outcome) -> None:
        """Remember what was done, mark what is to be looked at again, list what needs a person."""
        self._mark_again([*outcome.stale, *(one for one in outcome.done if one.again)], 0)
        self._mark_again(outcome.later, LATER)
        passing = [path for path, unknown in observation.look.unknown.items() if unknown.passing]
        self.queue.mark(passing, forced=True, delay=LATER)
        moved = [_where(one) for one in outcome.done if one.step is not Step.PREPARE or one.state.row is None]
        await self.problems.update(observation.look, outcome.troubles, moved)
        self._remember(outcome.done)

    def _mark_again(self, decisions: Sequence[Decision], delay: float) -> None:
        paths = [one.state.file.path for one in decisions if one.state.file is not None]
        self.queue.mark(paths, [one.state.entry for one in decisions], forced=True, delay=delay)

    def _remember(self, done: Sequence[Decision]) -> None:
        if not done:
            return
        index = self.sides.looker.index
        paths = {path: one.state.entry for one in done if (path := _path(one)) is not None}
        seen = {path: found for path, entry in paths.items() if (found := index.own(path, entry)) is not None}
        self.sides.state.store(seen, [path for path in paths if path not in seen])
        for decision in done:
            self._tick(decision)
        self.written.set()

    def _tick(self, decision: Decision) -> None:
        self.pulse.moves += 1
        if decision.step is Step.ROW or decision.move is Move.ENTOMB:
            self.pulse.last_file_to_row = time.time()
        elif decision.step is Step.FILE or decision.move is Move.TRASH:
            self.pulse.last_row_to_file = time.time()
        facts = {"tenant": self.sides.name, "entry": str(decision.state.entry)}
        log.info("moved", extra={**facts, "move": decision.move.name, "place": decision.place.name})

    async def _delete(self, entries: set[EntryId], allowed: Sequence[EntryId] = ()) -> None:
        """Look again at everything that seems gone, after a look everywhere: what moved is found by then."""
        await self._scan()
        while self.queue.is_ready:
            await self._work_on(self.queue.take(CHUNK))
        entries |= self.brake.gathered.take()
        observation = await observe(self.sides, Dirty(entries=frozenset(entries)))
        decisions = self._decide(observation)
        gone = [one for one in decisions if one.step is Step.DELETE]
        self.queue.mark(entries=[one.state.entry for one in decisions if one.step not in (Step.DELETE, Step.NOTHING)])
        outcome = await self.brake.carry_over(gone, allowed)
        await self._conclude(observation, outcome)

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
        back = restored(self._decide(observation))
        outcome = FileOutcome()
        await self._write_rows([one for one in back if one.step is Step.ROW], outcome)
        await self._write_files([one for one in back if one.step is Step.FILE], outcome)
        await self._conclude(observation, outcome)

    async def _root_is_sound(self) -> bool:
        sides = self.sides
        identity = await asyncio.to_thread(sides.tree.identity)
        alarm = check_root(exists=identity is not None, same=identity == sides.tree.opened_as)
        if alarm is None:
            await asyncio.to_thread(self._keep_marker)
            if self.pulse.suspended is not None:
                self.pulse.suspended = None
                await self.problems.change([], [("", "root")])
                self.look_everywhere()
        elif self.pulse.suspended != alarm.sentence:
            self.pulse.suspended = alarm.sentence
            await self.problems.change([Problem("", "root", alarm.sentence)], [])
            log.error("suspended", extra={"tenant": sides.name, "reason": alarm.reason})
        return alarm is None

    def _keep_marker(self) -> None:
        """Somebody deleted `.mirrord` under us: it is still our tree, the very directory we hold the lock of."""
        sides = self.sides
        found = None
        with suppress(MirrordError):
            found = marker.read(sides.tree)
        if found is None or found.mirror != sides.mirror:
            marker.write(sides.tree, marker.Marker(sides.name, sides.tenant, sides.mirror))
            log.warning("marker_rewritten", extra={"tenant": sides.name})


def _differs(seen: Seen | None, base: Base | None) -> bool:
    return base is None or seen is None or seen.digest != base.digest


def _moves(decision: Decision) -> bool:
    return decision.place in (PlaceMove.TO_ROW, PlaceMove.TO_FILE)


def _passes(file: File | Unknown | None) -> bool:
    return isinstance(file, Unknown) and file.passing


def _path(decision: Decision) -> str | None:
    file, base = decision.state.file, decision.state.base
    return file.path if file is not None else base.path if base is not None else None


def _where(decision: Decision) -> str:
    """How a problem names the entry: by its path, else by its id."""
    return _path(decision) or str(decision.state.entry)


async def _pause(stop: asyncio.Event) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), LATER)
