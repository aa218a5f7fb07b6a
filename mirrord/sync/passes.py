"""Passes: look, decide, act, conclude; while one chunk of new entries is written, the next is looked at."""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace

from mirrord.db.content.entry_states import LoadedEntries
from mirrord.db.problem_rows import Problem
from mirrord.domain.entry import Kind
from mirrord.domain.sync_state import Base, File, State
from mirrord.errors import Busy, Fenced, Locked, Stale, Unavailable
from mirrord.mirror.tree.ignore_rules import PATTERN_FILES
from mirrord.mirror.tree.tree_layout import directory_of, page_path, printable
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step
from mirrord.sync.decisions.rewind import is_stale
from mirrord.sync.deletions import trash_files
from mirrord.sync.engine_parts import EngineParts
from mirrord.sync.livelock_stops import Restraint
from mirrord.sync.observation.file_look import LookResult
from mirrord.sync.observation.file_owners import FileOwners
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.observe import Dirty, Observation, ReadAhead, TreeView, look_at_tree, observe
from mirrord.sync.observation.retries import FIRST_DELAY_SECONDS
from mirrord.sync.pass_results import Conclusion, find_neighbours_of_renamed
from mirrord.sync.work_queue import CHUNK_MARKS
from mirrord.sync.writing.apply import PassOutcome, apply_decisions, is_temporarily_blocked, prepare_rows
from mirrord.sync.writing.leftover_saves import LATE_SAVE_REASON, RECOPIED_REASON
from mirrord.sync.writing.row_writes import new_base

log = logging.getLogger(__name__)

MAX_NEIGHBOUR_FILES = 2_000  # files that are read because a neighbour was renamed
FAILED_RETRY_SECONDS = 60.0  # seconds until an item on which mirrord itself failed is tried again


@dataclass(frozen=True, slots=True)
class _Writing:
    """New entries that are being written into rows, and their future bases."""

    dirty: Dirty
    bases: list[Base]
    task: asyncio.Task[None]


class Passes:
    """
    The passes of one engine, made from its parts.

    restraint: the entries that are stopped.
    """

    def __init__(self, parts: EngineParts, conclusion: Conclusion) -> None:
        self._parts = parts
        self._sides = parts.sides
        self._conclusion = conclusion
        self.restraint = Restraint(parts.sides)
        self._writing: _Writing | None = None
        self._known_entries: LoadedEntries | None = None

    def keep_known(self, entries: LoadedEntries | None) -> None:
        """Keep what was just read for the feed's entries, so that the next look does not ask again. None: drop it."""
        self._known_entries = entries

    async def start_next(self) -> None:
        """Work on the next chunk; its writes may go on after the return, see `finish`."""
        dirty, look = await self._parts.intake.take_chunk()
        try:
            await self._work_on(dirty, look)
        finally:
            if self._writing is None or self._writing.dirty is not dirty:
                self._parts.intake.release(dirty)

    async def finish_writing(self) -> None:
        """Wait until all work taken in hand is written."""
        writing, self._writing = self._writing, None
        if writing is not None:
            self._known_entries = None
            try:
                await self._run_guarded(writing.dirty, writing.task)
            finally:
                self._parts.intake.release(writing.dirty)

    async def observe(self, dirty: Dirty, look: LookResult | None = None, view: TreeView | None = None) -> Observation:
        """Observe both sides and the base where *dirty* says. view: the look at the tree made for this."""
        coming = self._writing.bases if self._writing else ()
        known_entries, self._known_entries = self._known_entries, None
        if known_entries is not None and not dirty.entries <= known_entries.entries:
            known_entries = None
        is_adopting, is_rewinding = self._parts.adoption.is_in_force, self._parts.adoption.is_rewinding
        return await observe(
            self._sides,
            dirty,
            ReadAhead(look, view, known_entries),
            coming,
            adopting=is_adopting,
            rewound=is_rewinding,
        )

    async def _observe_apart(self, dirty: Dirty, look: LookResult | None, view: TreeView | None) -> Observation:
        """Observe; if entries that are being written are concerned, again after they are written."""
        if self._writing is None or look is None:
            return await self.observe(dirty, look, view)
        observation = await self.observe(dirty, replace(look, found_files=dict(look.found_files)))
        if observation.states.keys().isdisjoint(base.entry for base in self._writing.bases):
            return observation
        await self.finish_writing()
        return await self.observe(dirty, look)

    async def _work_on(self, dirty: Dirty, look: LookResult | None = None) -> None:
        if not PATTERN_FILES.isdisjoint(dirty.paths):
            self._parts.request_scan()
        await self._run_guarded(dirty, self._pass_expanded(dirty, look))

    async def delete(self, dirty: Dirty, work: Awaitable[None]) -> float:
        """Do *work*, which carries deletions of *dirty* over; returns seconds until the next try, 0: it is done."""
        try:
            if await self._is_done(work):
                return 0.0
        except Locked:
            return FIRST_DELAY_SECONDS
        except (Unavailable, Fenced):
            self._parts.request_scan()  # for moves that were not recorded
            raise
        await self._report_failure(dirty)
        return FAILED_RETRY_SECONDS

    async def _run_guarded(self, dirty: Dirty, work: Awaitable[None]) -> None:
        """Do *work*, the whole work for *dirty*; what fails is marked again."""
        try:
            if not await self._is_done(work):
                await self._work_on_each(dirty)
        except Locked:
            self._parts.queue.mark(dirty.paths, dirty.entries, forced=True, delay=FIRST_DELAY_SECONDS)
        except (Unavailable, Fenced):
            self._parts.queue.put_back(dirty)
            self._parts.request_scan()  # for writes that were not recorded
            raise

    async def _is_done(self, work: Awaitable[None]) -> bool:
        """Await *work*; False: it failed unexpectedly."""
        try:
            await work
        except (Unavailable, Fenced):
            raise
        except Exception:  # one item must not stop the others
            log.exception("pass_failed", extra={"tenant": self._sides.name})
            return False
        return True

    async def _work_on_each(self, dirty: Dirty) -> None:
        """After an unexpected failure: find the one item that causes it, and list that as a problem."""
        items = [Dirty(paths=frozenset({path}), forced=frozenset({path})) for path in dirty.paths]
        items += [Dirty(entries=frozenset({entry})) for entry in dirty.entries]
        if len(items) > 1:
            for item in items:
                await self._work_on(item)
            return
        await self._report_failure(dirty)
        self._parts.queue.mark(dirty.paths, dirty.entries, forced=True, delay=FAILED_RETRY_SECONDS)

    async def _report_failure(self, dirty: Dirty) -> None:
        entry = min(dirty.entries, default=None)
        where = printable(min(dirty.paths, default="")) or str(entry)
        sentence = f"mirrord failed on {where!r} and left it as it is; its log says how. It tries again every minute."
        await self._parts.problems.change([Problem(where, "internal", sentence, entry)], [])

    async def _pass_expanded(self, dirty: Dirty, look: LookResult | None) -> None:
        if look is None:  # it may be about entries that are being written
            await self.finish_writing()
        if not dirty.paths - dirty.forced:
            await self._make_pass(dirty, look)
            return
        changed, view = await asyncio.to_thread(_look_below, self._sides, dirty)
        if len(changed) > CHUNK_MARKS:  # too much for one pass: it waits for the next
            self._parts.queue.mark(changed - dirty.paths)
            changed = frozenset()
        expanded = Dirty(dirty.paths | changed, dirty.entries, dirty.forced)
        await self._run_guarded(expanded, self._make_pass(expanded, look, view))

    async def _make_pass(self, dirty: Dirty, look: LookResult | None, view: TreeView | None = None) -> None:
        """Make one pass. look: files that were read ahead. view: the look at the tree made for this pass."""
        observation, applied = await self._observe_apart(dirty, look, view), PassOutcome()
        if neighbours := self._unseen_neighbours(observation):
            await self.finish_writing()
            paths = dirty.paths | neighbours | observation.look.found_files.keys()
            dirty = Dirty(paths, dirty.entries, paths)
            observation, look = await self.observe(dirty), None
        if observation.owners.late_saves or observation.owners.recopied_files:
            await self._absorb_late(observation.owners)
        decisions = self._parts.retries.decide(observation, list(observation.states.values()))
        await self.finish_writing()
        if look is not None and (bases := _only_new(decisions)):
            task = asyncio.create_task(self._carry_out(observation, decisions, applied))
            self._writing = _Writing(dirty, bases, task)
            return
        decisions = await self.restraint.restrain(decisions, applied.troubles)
        unready = [decision for decision in decisions if decision.step is Step.PREPARE]
        if unready:
            ready = await prepare_rows(self._sides, unready, self._parts.retries, applied)
            decisions = [decision for decision in decisions if decision.step is not Step.PREPARE]
            ready_now = self._parts.retries.decide(observation, ready)
            decisions += await self.restraint.restrain(ready_now, applied.troubles)
        await self._carry_out(observation, decisions, applied)

    def _unseen_neighbours(self, observation: Observation) -> frozenset[str]:
        """
        Files in directories that other pages own now, which were not looked at.

        They move together with those pages: else a page could get below itself, or want a name that is not free.
        """
        files = [(state, state.file) for state in observation.states.values() if isinstance(state.file, File)]
        owning_states = [state for state, file in files if file.is_contested or file.succeeds]
        neighbours = (
            find_neighbours_of_renamed(self._sides.looker.index, owning_states) - observation.look.found_files.keys()
        )
        return frozenset(neighbours) if len(neighbours) <= MAX_NEIGHBOUR_FILES else frozenset()

    async def _carry_out(self, observation: Observation, decisions: Sequence[Decision], applied: PassOutcome) -> None:
        if any(decision.step is Step.FILE for decision in decisions):
            await self._parts.intake.discard_read_ahead()
        await apply_decisions(self._sides, decisions, observation.look.views, applied)
        deletions = [decision for decision in decisions if decision.step is Step.DELETE]
        if stale := [decision for decision in deletions if is_stale(decision)]:
            applied.add(await trash_files(self._sides, stale))
        states = [decision.state for decision in deletions if not is_stale(decision)]
        self._parts.halts.gathered_deletions.add(
            {state.entry: state.file.path if state.file else None for state in states}
        )
        applied.later += [
            decision for decision in decisions if decision.step is Step.LATER and is_temporarily_blocked(decision)
        ]
        unchanged = [decision for decision in decisions if decision.step is Step.NOTHING]
        idle = {decision.state.entry for decision in unchanged if decision.move is Move.NOTHING}
        await self._conclusion.conclude(observation, applied, idle)

    async def _absorb_late(self, owners: FileOwners) -> None:
        late_saves = [(path, page, LATE_SAVE_REASON) for path, page in owners.late_saves.items()]
        recopied = [(path, page, RECOPIED_REASON) for path, page in owners.recopied_files.items()]
        for path, page, reason in (*late_saves, *recopied):
            try:
                entries = await self._parts.recovery.absorb_late(path, page, reason)
            except (Busy, Stale, FileNotFoundError):
                self._parts.queue.mark([path], forced=True, delay=FIRST_DELAY_SECONDS)
            else:
                index_path = page_path("", directory_of(path, Kind.PAGE), index=True)
                self._parts.queue.mark([index_path], entries, forced=True)


def _look_below(sides: Sides, dirty: Dirty) -> tuple[frozenset[str], TreeView | None]:
    """
    The paths that differ in changed directories, and a look at them; None if entries or too many paths count as well.

    Blocking; one turn of a thread for both, because each turn delays an edit.
    """
    changed = frozenset[str]().union(*map(sides.looker.expand_path, dirty.paths - dirty.forced))
    if dirty.entries or len(changed) > CHUNK_MARKS:
        return changed, None
    return changed, look_at_tree(sides, Dirty(dirty.paths | changed, forced=dirty.forced))


def _only_new(decisions: Sequence[Decision]) -> list[Base]:
    """The future bases, if every decision inserts a row for a new entry; else []."""
    fresh = [decision.state for decision in decisions if _is_new(decision)]
    return [_new_base_of(state) for state in fresh] if len(fresh) == len(decisions) else []


def _is_new(decision: Decision) -> bool:
    state = decision.state
    is_insert = decision.step is Step.ROW and decision.move is Move.INSERT and decision.place is PlaceMove.NOTHING
    return is_insert and isinstance(state.file, File) and not state.file.is_contested


def _new_base_of(state: State) -> Base:
    assert isinstance(state.file, File)
    return new_base(state, state.file)
