"""One entry's next step: its content's and its place's moves made into one decision. Pure."""

from dataclasses import dataclass
from enum import Enum, auto

from mirrord.domain.state import File, State
from mirrord.sync.place import PlaceMove, plan_place, same_place
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
_TWO_STEPS = frozenset({Move.MERGE, Move.SIBLING})


def decide(state: State, *, seen: int | None, adopting: bool) -> Decision:
    """What to do next for one entry; a place goes before a content, so that a content finds its path."""
    move = _outlived(plan(state, seen=seen, adopting=adopting), state, adopting=adopting)
    place = plan_place(state)
    if move is Move.WAIT:
        return Decision(state, Step.LATER, move, PlaceMove.NOTHING)
    if place is PlaceMove.NAME:
        return Decision(state, Step.PREPARE, move, place, again=True)
    if move is Move.RENDER:
        return Decision(state, Step.PREPARE, move, place, again=True)
    if place in (PlaceMove.TO_ROW, PlaceMove.TO_FILE):
        step = Step.ROW if place is PlaceMove.TO_ROW else Step.FILE
        return Decision(state, step, move, place, again=move not in (Move.NOTHING, Move.ADOPT))
    if move is Move.NOTHING and place is PlaceMove.ADOPT:
        return Decision(state, Step.ROW, Move.ADOPT, place)
    again = move in _TWO_STEPS or (move is Move.ADOPT and _is_apart(state))
    return Decision(state, _step_of(move), move, PlaceMove.NOTHING, again=again)


def _is_apart(state: State) -> bool:
    """Whether nothing was agreed yet and the two sides have it in two places: the base to be takes the file's."""
    row, file = state.row, state.file
    if state.base is not None or row is None or not isinstance(file, File):
        return False
    return not same_place(state, file.place, row.place)


def _outlived(move: Move, state: State, *, adopting: bool) -> Move:
    """What one side moved outlives its deletion on the other: places are merged before deletions (F5)."""
    row, file, base = state.row, state.file, state.base
    if base is None or row is None or adopting:
        return move
    if move is Move.ENTOMB and not same_place(state, base.place, row.place):
        return Move.CREATE
    if move is Move.TRASH and isinstance(file, File) and not same_place(state, base.place, file.place):
        return Move.REVIVE
    return move


def _step_of(move: Move) -> Step:
    if move in DELETIONS:
        return Step.DELETE
    if move in _TO_ROW:
        return Step.ROW
    if move in _TO_FILE:
        return Step.FILE
    return Step.NOTHING
