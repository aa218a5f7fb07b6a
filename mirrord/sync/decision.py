"""One entry's next step: its content's and its place's moves made into one decision. Pure."""

from dataclasses import dataclass
from enum import Enum, auto

from mirrord.domain.state import File, State
from mirrord.sync.place import PlaceMove, plan_place
from mirrord.sync.plan import DELETIONS, Move, plan


class Step(Enum):
    """Who carries a decision out, in the order in which they work."""

    NOTHING = auto()
    LATER = auto()
    PREPARE = auto()  # the row is to be named or rendered first
    ROW = auto()  # Postgres is written
    FILE = auto()  # the tree is written
    DELETE = auto()  # gathered and weighed first


@dataclass(frozen=True, slots=True)
class Decision:
    """again: after this step the entry is looked at once more."""

    state: State
    step: Step
    move: Move
    place: PlaceMove
    again: bool = False


_TO_ROW = frozenset(
    {Move.INSERT, Move.REINSERT, Move.ADOPT, Move.TO_ROW, Move.MERGE, Move.SIBLING, Move.REVIVE, Move.FORGET}
)
_TO_FILE = frozenset({Move.CREATE, Move.TO_FILE})
_SNAPSHOTS = frozenset({Move.NOTHING, Move.INSERT, Move.ADOPT, Move.TO_ROW})  # of a file somebody goes on writing
_TWO_STEPS = frozenset({Move.MERGE, Move.SIBLING})


def decide(state: State, *, seen: int | None, adopting: bool) -> Decision:
    """What to do next for one entry; a place goes before a content, so that a content finds its path."""
    move = plan(state, seen=seen, adopting=adopting)
    place = plan_place(state)
    if move is Move.WAIT:
        return Decision(state, Step.LATER, move, PlaceMove.NOTHING)
    if place is PlaceMove.NAME:
        return Decision(state, Step.PREPARE, move, place, again=True)
    if move is Move.RENDER:
        return Decision(state, Step.PREPARE, move, place, again=True)
    if _is_held(state) and not (move in _SNAPSHOTS and place is PlaceMove.NOTHING):
        return Decision(state, Step.LATER, move, PlaceMove.NOTHING)
    if place in (PlaceMove.TO_ROW, PlaceMove.TO_FILE):
        step = Step.ROW if place is PlaceMove.TO_ROW else Step.FILE
        return Decision(state, step, move, place, again=move not in (Move.NOTHING, Move.ADOPT))
    if move is Move.NOTHING and place is PlaceMove.ADOPT:
        return Decision(state, Step.ROW, Move.ADOPT, place)
    return Decision(state, _step_of(move), move, PlaceMove.NOTHING, again=move in _TWO_STEPS)


def _is_held(state: State) -> bool:
    return isinstance(state.file, File) and state.file.held


def _step_of(move: Move) -> Step:
    if move in DELETIONS:
        return Step.DELETE
    if move in _TO_ROW:
        return Step.ROW
    if move in _TO_FILE:
        return Step.FILE
    return Step.NOTHING
