"""Stops entries in a livelock and lists them, so that they do not hold up others."""

import logging
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mirrord.db.content import entry_versions
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import Digest, EntryId, File
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step
from mirrord.sync.decisions.guard import (
    MAX_OWN_MOVES,
    NOTHING_SHOWN,
    Direction,
    MoveHistory,
    PlannedMove,
    ShownState,
    add_move,
)
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.writing.apply import problem_path
from mirrord.sync.writing.row_rendering import load_digests

log = logging.getLogger(__name__)

ANSWER_SECONDS = 5.0  # at most, until mirrord sees a trigger's write in its own transaction
MAX_FOLLOWED = 10_000  # entries; beyond that only those that moved last
_CONFLICT_MOVES = frozenset({Move.MERGE, Move.SIBLING})
_PLACE_WAYS = {PlaceMove.TO_ROW: Direction.TO_ROW, PlaceMove.TO_FILE: Direction.TO_FILE}


class Restraint:
    """Follows the moves of one mirror's entries. Its state may be lost: then stopped entries try again."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._courses: OrderedDict[EntryId, MoveHistory] = OrderedDict()

    def release(self) -> list[EntryId]:
        """Let stopped entries try again; returns them."""
        stopped = [entry for entry, course in self._courses.items() if course.is_stopped]
        self._courses.clear()
        return stopped

    async def restrain(self, decisions: Sequence[Decision], troubles: list[Problem]) -> list[Decision]:
        """*decisions*, but nothing for stopped entries; each of these is added to *troubles*."""
        turns = await self._turns_of(decisions)
        return [self._restrain_one(decision, turns.get(decision.state.entry), troubles) for decision in decisions]

    def _restrain_one(self, decision: Decision, turn: PlannedMove | None, troubles: list[Problem]) -> Decision:
        entry = decision.state.entry
        if turn is None:
            self._forget_at_rest(decision)
            return decision
        before = self._courses.pop(entry, MoveHistory())
        course = self._courses[entry] = add_move(before, turn)
        if len(self._courses) > MAX_FOLLOWED:
            self._courses.popitem(last=False)
        if not course.is_stopped:
            return decision
        problem = _problem_of(decision, course)
        troubles.append(problem)
        if not before.is_stopped:
            log.warning("entry_stopped", extra={"tenant": self._sides.name, "path": problem.path})
        return Decision(decision.state, Step.NOTHING, decision.move, decision.place)

    def _forget_at_rest(self, decision: Decision) -> None:
        """Forget the course of a stopped entry whose sides became equal, and of any entry that will be deleted."""
        is_equal = decision.step is Step.NOTHING and decision.move is Move.NOTHING
        if decision.step is Step.DELETE or (is_equal and self._is_stopped(decision.state.entry)):
            self._courses.pop(decision.state.entry, None)

    def _is_stopped(self, entry: EntryId) -> bool:
        course = self._courses.get(entry)
        return course is not None and course.is_stopped

    async def _turns_of(self, decisions: Sequence[Decision]) -> dict[EntryId, PlannedMove]:
        """The turns that count. Rendering comes later, so of stopped entries the texts to be rendered are read here."""
        carried = [decision for decision in decisions if decision.step in (Step.ROW, Step.FILE)]
        moving = [decision for decision in carried if decision.move is not Move.INSERT]
        prepared = [decision for decision in decisions if decision.step is Step.PREPARE]
        unready = [decision for decision in prepared if self._is_stopped(decision.state.entry)]
        rows = [row for decision in unready if (row := decision.state.row)]
        digests = await load_digests(self._sides, rows) if unready else {}
        now = time.monotonic()
        moving += [decision for decision in unready if decision.state.entry in digests]
        turns = {decision.state.entry: _turn_of(decision, now, digests) for decision in moving}
        suspects = [entry for entry, turn in turns.items() if self._may_be_ours(entry, turn)]
        for entry in await self._select_written_by_us(suspects) if suspects else ():
            turns[entry] = replace(turns[entry], is_foreign=False)
        return turns

    def _may_be_ours(self, entry: EntryId, turn: PlannedMove) -> bool:
        """Whether a trigger may have written the row's version in the transaction of the last move."""
        course = self._courses.get(entry, MoveHistory())
        if not course.moves or turn.way is Direction.TO_ROW:
            return False
        last = course.moves[-1]
        return course.is_stopped or (turn.version > last.version and turn.planned_at - last.planned_at < ANSWER_SECONDS)

    async def _select_written_by_us(self, entries: Sequence[EntryId]) -> frozenset[EntryId]:
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            return await entry_versions.load_changed_by_triggers(connection, self._sides.tenant, entries)


def _turn_of(decision: Decision, at: float, digests: Mapping[EntryId, Digest]) -> PlannedMove:
    """The turn of *decision*. digests: of texts that are not rendered yet."""
    file, row, entry = decision.state.file, decision.state.row, decision.state.entry
    file_shown = ShownState(file.digest, file.path) if isinstance(file, File) else NOTHING_SHOWN
    row_shown = (
        ShownState(digests.get(entry, row.digest), row.place) if row is not None and not row.deleted else NOTHING_SHOWN
    )
    return PlannedMove(at, _way_of(decision), file_shown, row_shown, row.version if row is not None else 0)


def _way_of(decision: Decision) -> Direction:
    if decision.place in _PLACE_WAYS:
        return _PLACE_WAYS[decision.place]
    if decision.move in _CONFLICT_MOVES:
        return Direction.BOTH
    return Direction.TO_ROW if decision.step is Step.ROW else Direction.TO_FILE


def _problem_of(decision: Decision, course: MoveHistory) -> Problem:
    path = problem_path(decision)
    moves = ", ".join(turn.description for turn in course.moves)
    sentence = (
        f"{path!r} moved more than {MAX_OWN_MOVES} times within a minute although no program wrote anything new, and "
        f"was stopped; the last moves: {moves}. Two programs, or a trigger, change each other's text: "
        "`mirrord history` says who. Stop one of them, then save a new text, or run `mirrord check --fix`."
    )
    return Problem(path, "livelock", sentence, decision.state.entry)
