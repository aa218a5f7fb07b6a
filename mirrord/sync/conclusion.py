"""What follows from a pass: what was done is remembered, what is left is marked, what needs a person is listed."""

import asyncio
import time
from collections.abc import Collection, Iterable, Sequence

from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.state import File, State
from mirrord.mirror.index import Index
from mirrord.mirror.layout import directory_of
from mirrord.sync.adoption import Adoption
from mirrord.sync.apply import Applied, path_of, where
from mirrord.sync.decision import Decision, Step
from mirrord.sync.doubts import FIRST_DELAY, Doubts
from mirrord.sync.handshake import Handshake
from mirrord.sync.listing import ProblemList
from mirrord.sync.observe import Observation
from mirrord.sync.pulse import Pulse
from mirrord.sync.queue import Queue
from mirrord.sync.recovery import Recovery
from mirrord.sync.sides import Sides


class Conclusion:
    """
    Concludes the passes of one engine, whose parts it is given.

    written: rings when something was done. done_at: when that was last, by the monotonic clock.
    """

    def __init__(
        self,
        sides: Sides,
        queue: Queue,
        doubts: Doubts,
        problems: ProblemList,
        recovery: Recovery,
        adoption: Adoption,
        handshake: Handshake,
        pulse: Pulse,
    ) -> None:
        self.written = asyncio.Event()
        self.done_at = 0.0
        self._sides = sides
        self._barred: set[EntryId] = set()
        self._queue = queue
        self._doubts = doubts
        self._problems = problems
        self._recovery = recovery
        self._adoption = adoption
        self._handshake = handshake
        self._pulse = pulse

    async def conclude(
        self, observation: Observation, applied: Applied, idle: Collection[EntryId] = frozenset()
    ) -> None:
        """
        Remember what was done, mark what is to be looked at again, list what needs a person.

        idle: entries for which there was nothing to do.
        """
        self._mark_again([one for one in applied.done if one.again], 0)
        for decision in applied.stale:
            self._mark_again([decision], self._doubts.delay(decision.state.entry, at_once=True))
        self._barred |= applied.barred
        for decision in applied.later:
            entry = decision.state.entry
            if entry not in applied.barred:
                self._mark_again([decision], self._doubts.delay(entry), applied.beside.get(entry, ()))
        self._queue.mark(observation.look.passing, forced=True, delay=FIRST_DELAY)
        self._queue.mark(applied.taken | applied.reformed, forced=True)
        self._queue.mark(beside_renamed(self._sides.looker.index, [one.state for one in applied.done]), forced=True)
        self._queue.mark(applied.unsure)
        self._queue.mark(observation.unowned, applied.entries, forced=True)
        self._queue.follow(dict(applied.renamed))
        for row, path, over, displaced in applied.displaced:
            self._recovery.add(row.entry, path, over, displaced)
        moved = [*map(where, applied.done), *applied.written]
        settled = {*idle, *(one.state.entry for one in applied.done)}
        await self._problems.update(observation.look, applied.troubles, moved, settled)
        await self._remember(applied)

    def take_barred(self) -> set[EntryId]:
        """Entries that had a mount in their way: it may be gone."""
        barred, self._barred = self._barred, set()
        return barred

    def mark_others(self, decisions: Iterable[Decision]) -> None:
        """After a look that was about deletions: a change is seen by one look only, so those of other sorts wait."""
        others = [one.state for one in decisions if one.step not in (Step.DELETE, Step.NOTHING)]
        self._queue.mark([one.file.path for one in others if one.file], [one.entry for one in others], forced=True)

    def _mark_again(self, decisions: Sequence[Decision], delay: float, beside: Iterable[EntryId] = ()) -> None:
        paths = [one.state.file.path for one in decisions if one.state.file is not None]
        self._queue.mark(paths, [*beside, *(one.state.entry for one in decisions)], forced=True, delay=delay)

    async def _remember(self, applied: Applied) -> None:
        if not applied.done:
            return
        index = self._sides.looker.index
        paths = {path: one.state.entry for one in applied.done if (path := path_of(one)) is not None} | applied.written
        seen = {path: found for path, entry in paths.items() if (found := index.own(path, entry)) is not None}
        left = {path for path in paths if path not in seen}
        for old, new in applied.renamed:
            here = {path: found for path in [new, *index.below(new)] if (found := index.get(path)) is not None}
            seen |= here
            left |= {old + path[len(new) :] for path in here}
        await asyncio.to_thread(self._sides.state.store, seen, left - seen.keys())
        for decision in applied.done:
            self._doubts.done(decision.state.entry)
        self._adoption.done(applied.done)
        self._handshake.owed = True
        self.done_at = time.monotonic()
        self._pulse.tick(self._sides.name, applied.done, self._queue)
        self.written.set()


def beside_renamed(index: Index, states: Iterable[State]) -> set[str]:
    """What lies in directories beside which another page's file is than was, though it is where it was."""
    found = set[str]()
    for state in states:
        file, base = state.file, state.base
        if not isinstance(file, File) or base is None or base.path is None or base.path == file.path:
            continue
        if file.kind is base.kind is Kind.FOLDER:  # what is in it came along
            continue
        for directory in (directory_of(base.path, base.kind), directory_of(file.path, file.kind)):
            found.update(index.inside(directory))
    return found
