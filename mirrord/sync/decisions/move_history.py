"""
When an entry in a livelock is stopped: one that keeps moving although no program writes anything new. Pure.

The histories of one mirror's entries are bounded; one whose moves are out of the window tells nothing any more.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from mirrord.domain.entry import Digest, EntryId, Place

MAX_OWN_MOVES = 20  # in WINDOW_SECONDS, without new writes
WINDOW_SECONDS = 60.0
MAX_LISTED_MOVES = 6  # last moves, shown to a person
MAX_FOLLOWED = 10_000  # entries; beyond that only those that moved last
FORGOTTEN_PER_MOVE = 2  # histories, at most

Trait = Digest | str | Place | None


class Direction(Enum):
    """The side that a move writes; the value is for people."""

    TO_ROW = "file → row"
    TO_FILE = "row → file"
    BOTH = "merged"


@dataclass(frozen=True, slots=True)
class ShownState:
    """The text and the name of one side; the name is a path for a file and a place for a row."""

    digest: Digest | None = None
    name: Trait = None


NOTHING_SHOWN = ShownState()


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """
    One planned move.

    planned_at: monotonic time. is_foreign: the row's version was not written in a transaction of mirrord.
    """

    planned_at: float
    way: Direction
    file: ShownState
    row: ShownState
    version: int = 0
    is_foreign: bool = True

    @property
    def description(self) -> str:
        """The move, described for people."""
        return f"{self.way.value} (version {self.version})"


@dataclass(frozen=True, slots=True)
class MoveHistory:
    """
    The recent moves of one entry.

    shown_traits: last monotonic time of each text and name that the sides showed. own_move_times: times of its own
    moves since the last new write. moves: the last moves, the newest last. is_stopped: the entry waits for a new write.
    """

    shown_traits: Mapping[Trait, float] = field(default_factory=dict)
    own_move_times: tuple[float, ...] = ()
    moves: tuple[PlannedMove, ...] = ()
    is_stopped: bool = False


def add_move(course: MoveHistory, turn: PlannedMove) -> MoveHistory:
    """Add *turn* to *course*. The move is carried out unless the new course is stopped."""
    since = turn.planned_at - WINDOW_SECONDS
    if not course.is_stopped:
        course = replace(course, shown_traits={trait: at for trait, at in course.shown_traits.items() if at > since})
    is_caused = is_caused_by_others(course, turn)
    if course.is_stopped and not is_caused:
        return course  # unchanged while stopped, so that its time does not run out
    own_moves = () if is_caused else (*(at for at in course.own_move_times if at > since), turn.planned_at)
    shown_traits = {**course.shown_traits, **dict.fromkeys(_traits_of(turn), turn.planned_at)}
    return MoveHistory(
        shown_traits, own_moves, (*course.moves, turn)[-MAX_LISTED_MOVES:], len(own_moves) > MAX_OWN_MOVES
    )


def without_last_move(course: MoveHistory) -> MoveHistory:
    """*course* before its last move, which was not carried out; what the sides showed remains known."""
    return replace(course, own_move_times=course.own_move_times[:-1], moves=course.moves[:-1])


def is_caused_by_others(course: MoveHistory, turn: PlannedMove) -> bool:
    """Whether a program other than mirrord certainly caused *turn*."""
    if not course.moves:
        return True
    last = course.moves[-1]
    evidence = _traits_of(turn) if course.is_stopped and turn.is_foreign else _foreign_traits(last, turn)
    return any(trait not in course.shown_traits for trait in evidence) or _is_source_changed(last, turn)


def _foreign_traits(last: PlannedMove, turn: PlannedMove) -> Iterator[Trait]:
    """The traits that only another program can have written, if they are new."""
    yield turn.file.digest
    if turn.is_foreign and last.way is not Direction.BOTH:
        yield turn.row.digest
    if last.way is Direction.TO_ROW:
        yield turn.file.name
    if turn.is_foreign and last.way is Direction.TO_FILE:
        yield turn.row.name


def _is_source_changed(last: PlannedMove, turn: PlannedMove) -> bool:
    """Whether another program changed the source of the last move after it."""
    if turn.way is not last.way:
        return False
    if turn.way is Direction.TO_ROW:
        return turn.file != last.file
    return turn.way is Direction.TO_FILE and turn.is_foreign and turn.version != last.version


def _traits_of(turn: PlannedMove) -> Iterator[Trait]:
    yield from (turn.file.digest, turn.file.name, turn.row.digest, turn.row.name)


def is_over(course: MoveHistory, now: float) -> bool:
    """Whether *course* does not bear on a move at *now*: it is not stopped, and its sides showed nothing since."""
    return not course.is_stopped and all(at <= now - WINDOW_SECONDS for at in course.shown_traits.values())


class MoveHistories:
    """The histories of one mirror's entries. The state may be lost: then stopped entries try again."""

    def __init__(self) -> None:
        self._courses: OrderedDict[EntryId, MoveHistory] = OrderedDict()  # that of the last move is the last
        self.entries = self._courses.keys()  # that have a history

    def __len__(self) -> int:
        return len(self._courses)

    def history_of(self, entry: EntryId) -> MoveHistory:
        """The moves of *entry* that may matter; empty: none."""
        return self._courses.get(entry, MoveHistory())

    def add(self, entry: EntryId, turn: PlannedMove) -> MoveHistory:
        """Add a planned move; the new history. It is carried out unless that is stopped."""
        course = add_move(self._courses.pop(entry, MoveHistory()), turn)
        self._courses[entry] = course
        self._forget_old(turn.planned_at)
        return course

    def _forget_old(self, now: float) -> None:
        """Forget some histories that are over, the oldest first, and what is too many; stopped ones are kept longer."""
        for _ in range(FORGOTTEN_PER_MOVE):
            entry, course = next(iter(self._courses.items()))
            if is_over(course, now):
                del self._courses[entry]
            elif course.is_stopped:
                self._courses.move_to_end(entry)
        if len(self._courses) > MAX_FOLLOWED:
            self._courses.popitem(last=False)

    def discount_last_move(self, entry: EntryId) -> None:
        """Do not count the last move of *entry*, which was not carried out, unless it is stopped."""
        if (course := self._courses.get(entry)) is not None and not course.is_stopped:
            self._courses[entry] = without_last_move(course)

    def forget(self, entry: EntryId) -> None:
        """Forget the moves of *entry*."""
        self._courses.pop(entry, None)

    def forget_all(self) -> list[EntryId]:
        """Forget all moves; the entries that were stopped."""
        stopped = [entry for entry, course in self._courses.items() if course.is_stopped]
        self._courses.clear()
        return stopped
