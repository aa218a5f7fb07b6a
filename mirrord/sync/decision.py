"""The next step of one entry: combine the moves of its content and its place into one decision. Pure."""

from dataclasses import dataclass
from enum import Enum, auto

from mirrord.domain.entry import EMPTY_DIGEST
from mirrord.domain.state import NO_TEXT, File, State
from mirrord.sync.place import PlaceMove, is_same_place, plan_place
from mirrord.sync.plan import DELETIONS, Move, plan_content


class Step(Enum):
    """The stage that carries a decision out, in the order of execution."""

    NOTHING = auto()
    LATER = auto()
    PREPARE = auto()  # the row has to be named or rendered first
    ROW = auto()  # Postgres is written
    FILE = auto()  # the tree is written
    DELETE = auto()  # a loss: gathered and weighed first


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about one entry. again: look at the entry once more after this step."""

    state: State
    step: Step
    move: Move
    place: PlaceMove
    again: bool = False


_TO_ROW = frozenset({Move.INSERT, Move.ADOPT, Move.TO_ROW, Move.MERGE, Move.SIBLING, Move.REVIVE, Move.FORGET})
_TO_FILE = frozenset({Move.CREATE, Move.TO_FILE})
_SNAPSHOTS = frozenset({Move.NOTHING, Move.INSERT, Move.ADOPT, Move.TO_ROW})  # of a file that is still being written
_TWO_STEPS = frozenset({Move.MERGE, Move.SIBLING})


def decide(state: State, *, seen_version: int | None, adopting: bool, stale_places: bool = False) -> Decision:
    """
    Decide the next step of one entry; the place comes before the content, so that the content has a path.

    seen_version: the newest version in the entry's history with the file's bytes; None: no version had them.
    stale_places: the tree went back in time, so a file with old bytes is also in an old place.
    """
    move = _spare_moved(plan_content(state, seen_version=seen_version, adopting=adopting), state, adopting=adopting)
    place = plan_place(state)
    if stale_places and place is PlaceMove.TO_ROW and _has_old_bytes(state, seen_version):
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
    if move is Move.TRASH and _was_moved_by_ancestor(state):
        return Decision(state, Step.ROW, Move.ADOPT, PlaceMove.ADOPT, again=True)
    step = Step.DELETE if move is Move.REINSERT or is_emptied(state, move) else _step_of(move)
    again = move in _TWO_STEPS or _has_two_places(state)
    return Decision(state, step, move, PlaceMove.NOTHING, again=again)


def is_emptied(state: State, move: Move) -> bool:
    """Whether a file lost its text, and the row would follow."""
    file, base = state.file, state.base
    if move is not Move.TO_ROW or not isinstance(file, File) or base is None:
        return False
    return file.digest == EMPTY_DIGEST and base.digest not in (EMPTY_DIGEST, NO_TEXT)


def _was_moved_by_ancestor(state: State) -> bool:
    """
    Whether the file has another path than the base, although its place is unchanged.

    The base is updated before the file is removed: a deletion waits for others, or for a person, and is found by its
    base then.
    """
    file, base = state.file, state.base
    return isinstance(file, File) and base is not None and file.path != base.path


def _has_old_bytes(state: State, seen_version: int | None) -> bool:
    file, row, base = state.file, state.row, state.base
    if not isinstance(file, File) or row is None or base is None:
        return False
    return seen_version is not None or file.digest in (row.digest, base.digest, NO_TEXT)


def _has_two_places(state: State) -> bool:
    """Whether there is no base and the two sides have different places; the new base takes the file's place."""
    row, file = state.row, state.file
    if state.base is not None or row is None or not isinstance(file, File):
        return False
    return not is_same_place(state, file.place, row.place)


def _spare_moved(move: Move, state: State, *, adopting: bool) -> Move:
    """An entry that one side moved outlives its deletion on the other (docs/design/sync.md, F5)."""
    row, file, base = state.row, state.file, state.base
    if base is None or row is None or adopting:
        return move
    if move is Move.ENTOMB and not is_same_place(state, base.place, row.place):
        return Move.CREATE
    if move is Move.TRASH and isinstance(file, File) and not is_same_place(state, base.place, file.place):
        return Move.REVIVE
    return move


def _is_held(state: State) -> bool:
    return isinstance(state.file, File) and state.file.is_held_open


def _step_of(move: Move) -> Step:
    if move in DELETIONS:
        return Step.DELETE
    if move in _TO_ROW:
        return Step.ROW
    if move in _TO_FILE:
        return Step.FILE
    return Step.NOTHING
