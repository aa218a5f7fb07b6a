"""Restraint: entries in a livelock are stopped and listed, so that they hold up nobody else."""

import logging
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mirrord.db import authors
from mirrord.db.attention import Problem
from mirrord.domain.entry import Digest, EntryId
from mirrord.domain.state import File
from mirrord.sync.apply import where
from mirrord.sync.decision import Decision, Step
from mirrord.sync.livelock import MOST_OWN_MOVES, NOWHERE, Course, Shown, Turn, Way, take_turn
from mirrord.sync.place import PlaceMove
from mirrord.sync.plan import Move
from mirrord.sync.prepare import load_digests
from mirrord.sync.sides import Sides

log = logging.getLogger(__name__)

ANSWER_SECONDS = 5.0  # at most, until mirrord sees what a trigger wrote in its own transaction
MAX_FOLLOWED = 10_000  # entries; of more only those that moved last
_CLASHES = frozenset({Move.MERGE, Move.SIBLING})
_PLACE_WAYS = {PlaceMove.TO_ROW: Way.TO_ROW, PlaceMove.TO_FILE: Way.TO_FILE}


class Restraint:
    """Follows the moves of one mirror's entries. Losing what it knows lets those that are stopped try again."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._courses: OrderedDict[EntryId, Course] = OrderedDict()

    def release(self) -> list[EntryId]:
        """Let those that are stopped try again."""
        stopped = [entry for entry, course in self._courses.items() if course.is_stopped]
        self._courses.clear()
        return stopped

    async def restrain(self, decisions: Sequence[Decision], troubles: list[Problem]) -> list[Decision]:
        """*decisions*, of which those of stopped entries do nothing; such an entry is added to *troubles*."""
        turns = await self._turns_of(decisions)
        return [self._restrained(one, turns.get(one.state.entry), troubles) for one in decisions]

    def _restrained(self, decision: Decision, turn: Turn | None, troubles: list[Problem]) -> Decision:
        entry = decision.state.entry
        if turn is None:
            self._forget_at_rest(decision)
            return decision
        before = self._courses.pop(entry, Course())
        course = self._courses[entry] = take_turn(before, turn)
        if len(self._courses) > MAX_FOLLOWED:
            self._courses.popitem(last=False)
        if not course.is_stopped:
            return decision
        problem = _problem(decision, course)
        troubles.append(problem)
        if not before.is_stopped:
            log.warning("entry_stopped", extra={"tenant": self._sides.name, "path": problem.path})
        return Decision(decision.state, Step.NOTHING, decision.move, decision.place)

    def _forget_at_rest(self, decision: Decision) -> None:
        """A stopped entry whose sides became equal, or that is to be deleted, begins anew."""
        is_equal = decision.step is Step.NOTHING and decision.move is Move.NOTHING
        if decision.step is Step.DELETE or (is_equal and self._is_stopped(decision.state.entry)):
            self._courses.pop(decision.state.entry, None)

    def _is_stopped(self, entry: EntryId) -> bool:
        course = self._courses.get(entry)
        return course is not None and course.is_stopped

    async def _turns_of(self, decisions: Sequence[Decision]) -> dict[EntryId, Turn]:
        """The turns that count. A text to be rendered is known afterwards; of a stopped entry it is read before."""
        moving = [one for one in decisions if one.step in (Step.ROW, Step.FILE) and one.move is not Move.INSERT]
        unready = [one for one in decisions if one.step is Step.PREPARE and self._is_stopped(one.state.entry)]
        digests = await load_digests(self._sides, [row for one in unready if (row := one.state.row)]) if unready else {}
        now = time.monotonic()
        moving += [one for one in unready if one.state.entry in digests]
        turns = {one.state.entry: _turn(one, now, digests) for one in moving}
        asked = [entry for entry, turn in turns.items() if self._may_be_ours(entry, turn)]
        for entry in await self._written_by_us(asked) if asked else ():
            turns[entry] = replace(turns[entry], is_foreign=False)
        return turns

    def _may_be_ours(self, entry: EntryId, turn: Turn) -> bool:
        """Whether a trigger may have written the row's version in the transaction of the last move."""
        course = self._courses.get(entry, Course())
        if not course.turns or turn.way is Way.TO_ROW:
            return False
        last = course.turns[-1]
        return course.is_stopped or (turn.version > last.version and turn.at - last.at < ANSWER_SECONDS)

    async def _written_by_us(self, entries: Sequence[EntryId]) -> frozenset[EntryId]:
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            return await authors.changed_by_triggers(connection, self._sides.tenant, entries)


def _turn(decision: Decision, at: float, digests: Mapping[EntryId, Digest]) -> Turn:
    """digests: of texts that are not rendered yet."""
    file, row, entry = decision.state.file, decision.state.row, decision.state.entry
    shown = Shown(file.digest, file.path) if isinstance(file, File) else NOWHERE
    said = Shown(digests.get(entry, row.digest), row.place) if row is not None and not row.deleted else NOWHERE
    return Turn(at, _way(decision), shown, said, row.version if row is not None else 0)


def _way(decision: Decision) -> Way:
    if decision.place in _PLACE_WAYS:
        return _PLACE_WAYS[decision.place]
    if decision.move in _CLASHES:
        return Way.BOTH
    return Way.TO_ROW if decision.step is Step.ROW else Way.TO_FILE


def _problem(decision: Decision, course: Course) -> Problem:
    path = where(decision)
    moves = ", ".join(turn.words for turn in course.turns)
    sentence = (
        f"{path!r} moved more than {MOST_OWN_MOVES} times within a minute although nobody wrote anything new, and was "
        f"stopped; the last moves: {moves}. Two programs, or a trigger, change each other's text: `mirrord history` "
        "says who. Stop one of them, then save a new text, or run `mirrord check --fix`."
    )
    return Problem(path, "livelock", sentence, decision.state.entry)
