"""What follows from a pass: results are remembered, leftovers marked, problems listed."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from mirrord.domain.entry import EntryId, File, Kind, State
from mirrord.mirror.seen_files import Index
from mirrord.mirror.tree.tree_layout import SUFFIX, directory_of, renamed_path
from mirrord.sync.decisions.entry_decision import Decision, Move, Step
from mirrord.sync.engine_parts import EngineParts
from mirrord.sync.observation.former_paths import FormerPath
from mirrord.sync.observation.observe import Observation
from mirrord.sync.observation.retries import FIRST_DELAY_SECONDS
from mirrord.sync.writing.apply import PassOutcome, path_of, problem_path


async def conclude(
    parts: EngineParts, observation: Observation, applied: PassOutcome, idle: Collection[EntryId] = frozenset()
) -> None:
    """
    Remember finished decisions, mark entries to look at again, list problems for people.

    idle: entries without anything to do.
    """
    _mark_again(parts, [decision for decision in applied.carried_out if decision.again], 0)
    delays: dict[EntryId, float] = {}
    for decision in applied.stale:
        delays[decision.state.entry] = parts.retries.next_delay(decision.state.entry, at_once=True)
        _mark_again(parts, [decision], delays[decision.state.entry])
    for path, entry in applied.occupied_paths.items():
        parts.queue.mark([path], forced=True, delay=delays.get(entry, 0.0))
    for path, entry in applied.vacated_paths.items():
        parts.retries.await_scan(entry, path)
    parts.barred |= applied.barred
    parts.retries.note_waiting(applied.later)
    parts.restraint.discount(applied.later)
    if applied.later:
        _mark_waiting(parts, applied)
    parts.queue.mark(observation.look.paths_to_retry, forced=True, delay=FIRST_DELAY_SECONDS)
    parts.queue.mark(applied.reformed, forced=True)
    parts.queue.mark(
        find_neighbours_of_renamed(parts.sides.looker.index, [decision.state for decision in applied.carried_out]),
        forced=True,
    )
    parts.queue.mark(applied.unsure, applied.carried_along)
    parts.queue.mark(observation.unowned_directories, applied.entries_to_check, forced=True)
    parts.queue.mark_renamed(dict(applied.renamed))
    for row, path, over, displaced in applied.displaced_saves:
        parts.recovery.add_save(row.entry, path, over, displaced)
    ended = [decision for decision in applied.carried_out if not _keeps_refused(parts, decision)]
    restored = _restored_beside_refused(parts, applied)
    written = [path for path, entry in applied.written_paths.items() if entry not in restored]
    moved = [*map(problem_path, ended), *written]
    settled = {*idle, *(decision.state.entry for decision in ended)}
    parts.retries.note_rest(settled)
    await parts.problems.update(observation.look, applied.troubles, moved, settled)
    await parts.problems.note_restored(restored)
    _note_former_paths(parts, applied)
    await _remember_done(parts, applied)


def _keeps_refused(parts: EngineParts, decision: Decision) -> bool:
    """Whether only the file was kept apart or brought back: the row waits for its author, and its problem stays."""
    row = decision.state.row
    return decision.move in (Move.SIBLING, Move.CREATE) and row is not None and parts.retries.is_refused(row)


def _restored_beside_refused(parts: EngineParts, applied: PassOutcome) -> set[EntryId]:
    """Entries with a refused row whose file was removed and is back."""
    restored = [decision for decision in applied.carried_out if decision.move is Move.CREATE]
    return {decision.state.entry for decision in restored if _keeps_refused(parts, decision)}


def take_barred(parts: EngineParts) -> set[EntryId]:
    """Return and clear the entries that a mount blocked; the mount may be gone."""
    barred, parts.barred = parts.barred, set()
    return barred


def mark_other_changes(parts: EngineParts, decisions: Iterable[Decision]) -> None:
    """Mark the changes that a look for deletions found besides them: a change is reported by one look only."""
    states = [decision.state for decision in decisions if decision.step not in (Step.DELETE, Step.NOTHING)]
    parts.queue.mark(
        [state.file.path for state in states if state.file], [state.entry for state in states], forced=True
    )


def _mark_again(
    parts: EngineParts, decisions: Sequence[Decision], delay: float, other_entries: Iterable[EntryId] = ()
) -> None:
    paths = [decision.state.file.path for decision in decisions if decision.state.file is not None]
    parts.queue.mark(
        paths, [*other_entries, *(decision.state.entry for decision in decisions)], forced=True, delay=delay
    )


def _mark_waiting(parts: EngineParts, applied: PassOutcome) -> None:
    """Mark the decisions that wait; those due at one time in one mark, because files that swapped names need it."""
    waiting: dict[float, list[Decision]] = defaultdict(list)
    for decision in applied.later:
        if decision.state.entry not in applied.barred:
            waiting[parts.retries.next_delay(decision.state.entry)].append(decision)
    for delay, decisions in waiting.items():
        hindering = [applied.hindered_by.get(decision.state.entry, ()) for decision in decisions]
        _mark_again(parts, decisions, delay, chain.from_iterable(hindering))


def _note_former_paths(parts: EngineParts, applied: PassOutcome) -> None:
    """Note the paths that pages had before they, or directories above them, were renamed here as their rows were."""
    index, now_ns = parts.sides.looker.index, time.time_ns()
    for old, new in applied.renamed:
        for path in (new, *index.paths_below(new)):
            if path.endswith(SUFFIX) and (cached := index.get(path)) is not None:
                page = FormerPath(cached.entry, cached.digest, now_ns)
                parts.sides.former_paths.note_move(renamed_path(path, new, old), page)


async def _remember_done(parts: EngineParts, applied: PassOutcome) -> None:
    if not applied.carried_out:
        return
    index = parts.sides.looker.index
    paths = {
        path: decision.state.entry for decision in applied.carried_out if (path := path_of(decision)) is not None
    } | applied.written_paths
    cached = {path: stat for path, entry in paths.items() if (stat := index.set_entry(path, entry)) is not None}
    removed_paths = {path for path in paths if path not in cached}
    for old, new in applied.renamed:
        moved = {path: stat for path in [new, *index.paths_below(new)] if (stat := index.get(path)) is not None}
        cached |= moved
        removed_paths |= {old + path[len(new) :] for path in moved}
    removed_paths -= cached.keys()
    if removed_paths or not parts.sides.state.has_just_stored(cached):  # with the file that it wrote
        await asyncio.to_thread(parts.sides.state.store, cached, removed_paths)
    for decision in applied.carried_out:
        parts.retries.note_success(decision.state.entry)
        parts.sides.occupied_paths.forget(decision.state.entry)
    parts.adoption.note_carried_out(applied.carried_out)
    parts.handshake.owe()
    parts.last_done_at, parts.last_done_count = time.monotonic(), len(applied.carried_out)
    parts.pulse.note_done(parts.sides.name, applied.carried_out, parts.queue)
    parts.rows_changed.set()


def find_neighbours_of_renamed(index: Index, states: Iterable[State]) -> set[str]:
    """Paths in directories that now belong to another page, though the paths are unchanged."""
    paths = set[str]()
    for state in states:
        file, base = state.file, state.base
        if not isinstance(file, File) or base is None or base.path is None or base.path == file.path:
            continue
        if file.kind is base.kind is Kind.FOLDER:  # its content moved with it
            continue
        for directory in (directory_of(base.path, base.kind), directory_of(file.path, file.kind)):
            paths.update(index.children_of(directory))
    return paths
