"""Passes: look, decide, act, conclude; while one chunk of new entries is written, the next is looked at."""

import asyncio
import logging
from collections.abc import Awaitable, Collection, Sequence
from dataclasses import replace

from mirrord.db.content.altered_rows import refusal_of
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import Base, EntryId, File, State
from mirrord.errors import Fenced, Locked, Unavailable
from mirrord.mirror.tree.ignore_rules import PATTERN_FILES
from mirrord.mirror.tree.tree_layout import printable
from mirrord.sync.absorption import absorb_strange_files
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step
from mirrord.sync.decisions.tree_history import is_stale
from mirrord.sync.deletions import trash_files
from mirrord.sync.engine_parts import EngineParts, Writing, failure_of
from mirrord.sync.joint_passes import carry_over_plans, mark_later
from mirrord.sync.lone_edits import carry_over_save, find_lone_page, look_at_known_page
from mirrord.sync.observation.look_result import LookResult
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.observe import Dirty, Observation, ReadAhead, TreeView, look_at_tree, observe
from mirrord.sync.observation.retries import FIRST_DELAY_SECONDS
from mirrord.sync.observation.waiting_plans import NO_PLANS, MetPlans
from mirrord.sync.pass_results import conclude, find_neighbours_of_renamed, mark_other_changes
from mirrord.sync.stops import reverse_losses
from mirrord.sync.work_queue import CHUNK_MARKS
from mirrord.sync.writing.apply import PassOutcome, apply_decisions, is_temporarily_blocked, prepare_rows
from mirrord.sync.writing.row_statements import new_base
from mirrord.sync.writing.write_outcomes import refusal_sentence

log = logging.getLogger(__name__)

MAX_NEIGHBOUR_FILES = 2_000  # files that are read because a neighbour was renamed
FAILED_RETRY_SECONDS = 60.0  # seconds until an item on which mirrord itself failed is tried again


async def start_pass(parts: EngineParts) -> None:
    """Work on the next chunk; its writes may go on after the return, see `finish_writing`."""
    dirty, look = await parts.intake.take_chunk()
    try:
        await _run_guarded(parts, dirty, _pass_expanded(parts, dirty, look))
    finally:
        if parts.writing is None or parts.writing.dirty is not dirty:
            parts.intake.release(dirty)


async def finish_writing(parts: EngineParts) -> None:
    """Wait until all work taken in hand is written."""
    writing, parts.writing = parts.writing, None
    if writing is not None:
        parts.known_entries = None
        try:
            await _run_guarded(parts, writing.dirty, writing.task)
        finally:
            parts.intake.release(writing.dirty)


async def observe_sides(
    parts: EngineParts, dirty: Dirty, look: LookResult | None = None, view: TreeView | None = None
) -> Observation:
    """Observe both sides and the base where *dirty* says. view: the look at the tree made for this."""
    known_entries, parts.known_entries = parts.known_entries, None
    if known_entries is not None and not dirty.entries <= known_entries.entries:
        known_entries = None
    return await observe(parts.sides, dirty, ReadAhead(look, view, known_entries), parts.terms)


async def _observe_beside(parts: EngineParts, writing: Writing, dirty: Dirty, look: LookResult) -> Observation:
    """Observe; if entries that are being written are concerned, again after they are written."""
    observation = await observe_sides(parts, dirty, replace(look, found_files=dict(look.found_files)))
    if observation.states.keys().isdisjoint(base.entry for base in writing.bases):
        return observation
    await finish_writing(parts)
    return await observe_sides(parts, dirty, look)


async def run_deletion(parts: EngineParts, dirty: Dirty, work: Awaitable[None]) -> float:
    """Do *work*, which carries deletions of *dirty* over; returns seconds until the next try, 0: it is done."""
    try:
        if (failure := await failure_of(parts, work)) is None:
            return 0.0
    except Locked:
        return FIRST_DELAY_SECONDS
    except (Unavailable, Fenced):
        parts.request_scan()  # for moves that were not recorded
        raise
    await _report_failure(parts, dirty, failure)
    return FAILED_RETRY_SECONDS


async def undo_deletions(parts: EngineParts, entries: Collection[EntryId]) -> bool:
    """Undo deletions that were a mistake. False: some cannot be undone yet, as on a full disk."""
    observation = await observe_sides(parts, Dirty(entries=frozenset(entries)))
    applied = PassOutcome()
    decisions = parts.retries.decide(observation, list(observation.states.values()))
    mark_other_changes(parts, decisions)
    reversals = reverse_losses(decisions)
    await apply_decisions(parts.sides, reversals, observation.look.views, applied)
    await conclude(parts, observation, applied)
    return {each.state.entry for each in reversals} <= {each.state.entry for each in applied.carried_out}


async def _run_guarded(parts: EngineParts, dirty: Dirty, work: Awaitable[None]) -> None:
    """Do *work*, the whole work for *dirty*; what fails is marked again."""
    try:
        if (failure := await failure_of(parts, work)) is not None:
            await _work_on_each(parts, dirty, failure)
    except Locked:
        parts.queue.mark(dirty.paths, dirty.entries, forced=True, delay=FIRST_DELAY_SECONDS)
    except (Unavailable, Fenced):
        parts.queue.put_back(dirty)
        parts.request_scan()  # for writes that were not recorded
        raise


async def _work_on_each(parts: EngineParts, dirty: Dirty, failure: Exception) -> None:
    """After an unexpected failure: find the one item that causes it, and list that as a problem."""
    items = [Dirty(paths=frozenset({path}), forced=frozenset({path})) for path in dirty.paths]
    items += [Dirty(entries=frozenset({entry})) for entry in dirty.entries]
    if len(items) > 1:
        for item in items:
            await _run_guarded(parts, item, _pass_expanded(parts, item, None))
        return
    await _report_failure(parts, dirty, failure)
    parts.queue.mark(dirty.paths, dirty.entries, forced=True, delay=FAILED_RETRY_SECONDS)


async def _report_failure(parts: EngineParts, dirty: Dirty, failure: Exception) -> None:
    entry = min(dirty.entries, default=None)
    where = printable(min(dirty.paths, default="")) or str(entry)
    if (refusal := refusal_of(failure)) is not None:
        problem = Problem(where, "trigger", refusal_sentence(where, refusal), entry)
    else:
        sentence = f"mirrord failed on {where!r} and left it as it is; its log says how. It tries again every minute."
        problem = Problem(where, "internal", sentence, entry)
    await parts.problems.change([problem], [])


async def _pass_expanded(parts: EngineParts, dirty: Dirty, look: LookResult | None) -> None:
    if not PATTERN_FILES.isdisjoint(dirty.paths):
        parts.request_scan()
    if look is None:  # it may be about entries that are being written
        await finish_writing(parts)
    if not dirty.paths - dirty.forced:
        await _make_pass(parts, dirty, look)
        return
    path = find_lone_page(parts, dirty) if look is None else None
    known_page = await look_at_known_page(parts.sides, path) if path is not None else None
    if known_page is not None and known_page.page is None:
        await _make_pass(parts, dirty, None, known_page.view)
        return
    if known_page is not None and await carry_over_save(parts, known_page):
        return
    changed, view = await asyncio.to_thread(_look_below, parts.sides, dirty)
    if len(changed) > CHUNK_MARKS:  # too much for one pass: it waits for the next
        parts.queue.mark(changed - dirty.paths)
        changed = frozenset()
    expanded = Dirty(dirty.paths | changed, dirty.entries, dirty.forced)
    await _run_guarded(parts, expanded, _make_pass(parts, expanded, look, view))


async def _make_pass(
    parts: EngineParts,
    dirty: Dirty,
    look: LookResult | None,
    view: TreeView | None = None,
    plans: MetPlans = NO_PLANS,
) -> None:
    """
    Make one pass. look: files that were read ahead. view: the look at the tree made for this pass.

    plans: the change sets that the pass is about, with all their places.
    """
    applied = PassOutcome(texts=dict(parts.known_entries.texts) if parts.known_entries else {})
    if parts.writing is None or look is None:
        observation = await observe_sides(parts, dirty, look, view)
    else:
        observation = await _observe_beside(parts, parts.writing, dirty, look)
    if neighbours := _unseen_neighbours(parts, observation):
        await finish_writing(parts)
        paths = dirty.paths | neighbours | observation.look.found_files.keys()
        dirty = Dirty(paths, dirty.entries, paths)
        observation, look = await observe_sides(parts, dirty), None
    if observation.notes:
        met = await _find_met(parts, dirty, observation, plans)
        if not met.names <= plans.names or met.is_under_way:
            await _work_on_plans(parts, dirty, observation, met)
            return
    if (owners := observation.owners).stray_saves or owners.copied_directories.twins:
        await absorb_strange_files(parts, owners)
    decisions = parts.retries.decide(observation, list(observation.states.values()))
    await finish_writing(parts)
    if look is not None and (bases := _only_new(decisions)):
        task = asyncio.create_task(_carry_out(parts, observation, decisions, applied))
        parts.writing = Writing(dirty, bases, task)
        return
    if plans.plans:
        lone_decisions = await carry_over_plans(parts, plans, observation, decisions, applied)
        if lone_decisions is None:
            mark_later(parts, dirty, observation, plans)
            return
        decisions = lone_decisions
    else:
        decisions = await parts.restraint.restrain(decisions, applied.troubles)
    unready = [decision for decision in decisions if decision.step is Step.PREPARE]
    if unready:
        decisions = [decision for decision in decisions if decision.step is not Step.PREPARE]
        decisions += await _prepare(parts, observation, unready, applied)
    await _carry_out(parts, observation, decisions, applied)
    if plans.plans:
        await asyncio.to_thread(parts.waiting_plans.forget, plans.plans)


async def _prepare(
    parts: EngineParts, observation: Observation, unready: Sequence[Decision], applied: PassOutcome
) -> list[Decision]:
    """Name and render rows; the decisions that follow from it."""
    ready = await prepare_rows(parts.sides, unready, parts.retries, applied)
    return await parts.restraint.restrain(parts.retries.decide(observation, ready), applied.troubles)


async def _find_met(parts: EngineParts, dirty: Dirty, observation: Observation, pass_plans: MetPlans) -> MetPlans:
    """The change sets that an observation met, those of its pass last."""
    look = observation.look
    paths = dirty.paths.union(look.found_files, look.gone_paths, look.unknown_files)
    entries = dirty.entries | observation.states.keys()
    return await asyncio.to_thread(parts.waiting_plans.find_met, observation.notes, paths, entries, pass_plans)


async def _work_on_plans(parts: EngineParts, dirty: Dirty, observation: Observation, met: MetPlans) -> None:
    """Take change sets that a pass met as a whole, and look at everything else that it met once more."""
    mark_later(parts, dirty, observation, met)
    if met.is_under_way:
        return
    await finish_writing(parts)
    places = Dirty(met.paths, forced=met.paths)
    if await failure_of(parts, _make_pass(parts, places, None, plans=met)) is not None:
        await asyncio.to_thread(parts.waiting_plans.forget, met.plans)  # its files count one by one


def _unseen_neighbours(parts: EngineParts, observation: Observation) -> frozenset[str]:
    """
    Files in directories that other pages own now, which were not looked at.

    They move together with those pages: else a page could get below itself, or want a name that is not free.
    """
    files = [(state, state.file) for state in observation.states.values() if isinstance(state.file, File)]
    owning_states = [state for state, file in files if file.is_contested or file.succeeds]
    if not owning_states:
        return frozenset()
    neighbours = (
        find_neighbours_of_renamed(parts.sides.looker.index, owning_states) - observation.look.found_files.keys()
    )
    return frozenset(neighbours) if len(neighbours) <= MAX_NEIGHBOUR_FILES else frozenset()


async def _carry_out(
    parts: EngineParts, observation: Observation, decisions: Sequence[Decision], applied: PassOutcome
) -> None:
    if any(decision.step is Step.FILE for decision in decisions):
        await parts.intake.discard_read_ahead()
    await apply_decisions(parts.sides, decisions, observation.look.views, applied)
    deletions = [decision for decision in decisions if decision.step is Step.DELETE]
    if stale := [decision for decision in deletions if is_stale(decision)]:
        applied.add(await trash_files(parts.sides, stale))
    if losses := [decision.state for decision in deletions if not is_stale(decision)]:
        parts.halts.gathered_deletions.add({state.entry: state.file.path if state.file else None for state in losses})
    applied.later += [
        decision for decision in decisions if decision.step is Step.LATER and is_temporarily_blocked(decision)
    ]
    unchanged = [decision for decision in decisions if decision.step is Step.NOTHING]
    idle = {decision.state.entry for decision in unchanged if decision.move is Move.NOTHING}
    await conclude(parts, observation, applied, idle)


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
