"""
Detects a livelock: an entry that keeps moving although no program writes anything new. Pure.

A move counts as the entry's own unless another program certainly caused it. That is certain in two cases:

- It shows a text or a name that neither side showed in the last minute and that mirrord did not make. A merge makes
  texts, and a move may make a name; a trigger's write in mirrord's own transaction is not new either.
- It goes the same way as the move before, and its source, which that move did not write, has changed since.

So loggers, editors and apps are never counted, however often they write and even if they repeat their texts. Two
programs, or a trigger and mirrord, that keep changing each other's text are counted.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from mirrord.domain.entry import Digest, Place

MAX_OWN_MOVES = 20  # in WINDOW_SECONDS, without new writes
WINDOW_SECONDS = 60.0
MAX_LISTED_MOVES = 6  # last moves, shown to a person

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
