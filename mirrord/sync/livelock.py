"""
PURE: an entry that moves and moves although nobody writes anything new: a livelock, told by the moves themselves.

A move counts as the entry's own unless somebody else caused it. That is certain in two cases:

- It shows a text or a name that neither side showed in the last minute, and that mirrord has not made. A merge makes
  texts, a move may make a name; what a trigger writes in mirrord's own transaction is no news either.
- It goes the same way as the move before, and its source, which that move did not write, changed meanwhile.

So loggers, editors and apps are never counted, however often they write and even if they repeat their texts. What two
programs, or a trigger and mirrord, do to each other's text again and again is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from mirrord.domain.entry import Digest, Place

MOST_OWN_MOVES = 20  # in WINDOW_SECONDS, without anything new
WINDOW_SECONDS = 60.0
LISTED_MOVES = 6  # of the last ones, for a person

Trait = Digest | str | Place | None


class Way(Enum):
    """Which side a move writes; its value is for people."""

    TO_ROW = "file → row"
    TO_FILE = "row → file"
    BOTH = "merged"


@dataclass(frozen=True, slots=True)
class Shown:
    """What one side shows: its text and its name, which is a path for a file and a place for a row."""

    digest: Digest | None = None
    name: Trait = None


NOWHERE = Shown()


@dataclass(frozen=True, slots=True)
class Turn:
    """
    One planned move.

    at: when, by the monotonic clock. is_foreign: whether the row's version was written in no transaction of mirrord.
    """

    at: float
    way: Way
    file: Shown
    row: Shown
    version: int = 0
    is_foreign: bool = True

    @property
    def words(self) -> str:
        """The move for people."""
        return f"{self.way.value} (version {self.version})"


@dataclass(frozen=True, slots=True)
class Course:
    """
    What one entry did lately.

    shown: what the sides showed, and when last. own: when it moved by itself since somebody wrote something new.
    turns: the last ones, the newest last. is_stopped: whether it waits for something new.
    """

    shown: Mapping[Trait, float] = field(default_factory=dict)
    own: tuple[float, ...] = ()
    turns: tuple[Turn, ...] = ()
    is_stopped: bool = False


def take_turn(course: Course, turn: Turn) -> Course:
    """What becomes of *course* by *turn*, which is carried out unless the course is stopped then."""
    since = turn.at - WINDOW_SECONDS
    if not course.is_stopped:
        course = replace(course, shown={trait: at for trait, at in course.shown.items() if at > since})
    is_caused = is_caused_by_others(course, turn)
    if course.is_stopped and not is_caused:
        return course  # as it was when it stopped: its time does not run out
    own = () if is_caused else (*(at for at in course.own if at > since), turn.at)
    shown = {**course.shown, **dict.fromkeys(_traits(turn), turn.at)}
    return Course(shown, own, (*course.turns, turn)[-LISTED_MOVES:], len(own) > MOST_OWN_MOVES)


def is_caused_by_others(course: Course, turn: Turn) -> bool:
    """Whether somebody else than mirrord certainly caused *turn*."""
    if not course.turns:
        return True
    last = course.turns[-1]
    evidence = _traits(turn) if course.is_stopped and turn.is_foreign else _evidence(last, turn)
    return any(trait not in course.shown for trait in evidence) or _goes_on(last, turn)


def _evidence(last: Turn, turn: Turn) -> Iterator[Trait]:
    """What only somebody else can have brought, if it is new."""
    yield turn.file.digest
    if turn.is_foreign and last.way is not Way.BOTH:
        yield turn.row.digest
    if last.way is Way.TO_ROW:
        yield turn.file.name
    if turn.is_foreign and last.way is Way.TO_FILE:
        yield turn.row.name


def _goes_on(last: Turn, turn: Turn) -> bool:
    """Whether the source of the last move changed after it, by somebody else's hand."""
    if turn.way is not last.way:
        return False
    if turn.way is Way.TO_ROW:
        return turn.file != last.file
    return turn.way is Way.TO_FILE and turn.is_foreign and turn.version != last.version


def _traits(turn: Turn) -> Iterator[Trait]:
    yield from (turn.file.digest, turn.file.name, turn.row.digest, turn.row.name)
