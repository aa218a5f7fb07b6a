"""One entry's next step: its content's and its place's moves made into one decision. Pure."""

from dataclasses import dataclass
from enum import Enum, auto

from mirrord.domain.entry import EMPTY
from mirrord.domain.state import NO_TEXT, File, State
from mirrord.sync.place import PlaceMove, plan_place, same_place
from mirrord.sync.plan import DELETIONS, Move, plan


class Step(Enum):
    """Who carries a decision out, in the order in which they work."""

    NOTHING = auto()
    LATER = auto()
    PREPARE = auto()  # the row is to be named or rendered first
    ROW = auto()  # Postgres is written
    FILE = auto()  # the tree is written
    DELETE = auto()  # something would be lost: gathered and weighed first


@dataclass(frozen=True, slots=True)
class Decision:
    """again: after this step the entry is looked at once more."""

    state: State
    step: Step
    move: Move
    place: PlaceMove
    again: bool = False


_TO_ROW = frozenset({Move.INSERT, Move.ADOPT, Move.TO_ROW, Move.MERGE, Move.SIBLING, Move.REVIVE, Move.FORGET})
_TO_FILE = frozenset({Move.CREATE, Move.TO_FILE})
_SNAPSHOTS = frozenset({Move.NOTHING, Move.INSERT, Move.ADOPT, Move.TO_ROW})  # of a file somebody goes on writing
_TWO_STEPS = frozenset({Move.MERGE, Move.SIBLING})


def decide(state: State, *, seen: int | None, adopting: bool, stale_places: bool = False) -> Decision:
    """
    What to do next for one entry; a place goes before a content, so that a content finds its path.

    stale_places: the tree went back in time, so a file with old bytes is in an old place too.
    """
    move = _outlived(plan(state, seen=seen, adopting=adopting), state, adopting=adopting)
    place = plan_place(state)
    if stale_places and place is PlaceMove.TO_ROW and _has_old_bytes(state, seen):
        place = PlaceMove.TO_FILE
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
    if move is Move.TRASH and _was_carried(state):
        return Decision(state, Step.ROW, Move.ADOPT, PlaceMove.ADOPT, again=True)
    step = Step.DELETE if move is Move.REINSERT or is_emptied(state, move) else _step_of(move)
    again = move in _TWO_STEPS or _is_apart(state)
    return Decision(state, step, move, PlaceMove.NOTHING, again=again)


def is_emptied(state: State, move: Move) -> bool:
    """Whether a file that had a text has none any more, and its row would follow."""
    file, base = state.file, state.base
    if move is not Move.TO_ROW or not isinstance(file, File) or base is None:
        return False
    return file.digest == EMPTY and base.digest not in (EMPTY, NO_TEXT)


def _was_carried(state: State) -> bool:
    """
    Whether the file is not where the base says, though it stayed where it was in its directory.

    The base follows before the file goes: a deletion waits for others, or for a person, and is found by its base then.
    """
    file, base = state.file, state.base
    return isinstance(file, File) and base is not None and file.path != base.path


def _has_old_bytes(state: State, seen: int | None) -> bool:
    file, row, base = state.file, state.row, state.base
    if not isinstance(file, File) or row is None or base is None:
        return False
    return seen is not None or file.digest in (row.digest, base.digest, NO_TEXT)


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
