"""One entry's next step: what to do with its content and its place, in one decision. Pure."""

from dataclasses import dataclass, replace
from enum import Enum, auto

from mirrord.domain.entry import EMPTY_DIGEST, NO_TEXT, Base, Digest, File, Kind, Place, Row, State, UnreadableFile


class PlaceMove(Enum):
    """The planned action on a place."""

    NOTHING = auto()
    ADOPT = auto()  # both sides moved to the same place
    TO_ROW = auto()
    TO_FILE = auto()
    NAME = auto()  # the row has no place yet: give it a clean name first

    @property
    def changes_a_side(self) -> bool:
        """Whether a row or a file is moved."""
        return self in (PlaceMove.TO_ROW, PlaceMove.TO_FILE)


def plan_place(state: State) -> PlaceMove:
    """The move for *state*'s place. Entries without one of the sides are placed when that side is created."""
    row, file, base = state.row, state.file, state.base
    if row is None or row.deleted:
        return PlaceMove.NOTHING
    if not row.placed:
        return PlaceMove.NAME
    if base is None or not isinstance(file, File):
        return PlaceMove.NOTHING
    places = (base.place, file.place, row.place)
    move = _merge_places(*map(_without_form, places)) if _has_no_form(state) else _merge_places(*places)
    if move is PlaceMove.NOTHING and file.path != base.path:
        return PlaceMove.ADOPT  # a folder above it moved: same parent, same name, another path
    return move


def is_same_place(state: State, first: Place, second: Place) -> bool:
    """Whether two places of the entry are equal; the form of its file (index or not) counts only for pages."""
    return _without_form(first) == _without_form(second) if _has_no_form(state) else first == second


def _has_no_form(state: State) -> bool:
    sides = (state.base, state.file, state.row)
    return any(side.kind is Kind.FOLDER for side in sides if isinstance(side, Base | File | Row))


def _without_form(place: Place) -> Place:
    """*place* without the form of the file, which a folder does not have."""
    return replace(place, index=False)


def _merge_places(base: Place, file: Place, row: Place) -> PlaceMove:
    if file == row:
        return PlaceMove.NOTHING if base == file else PlaceMove.ADOPT  # L1, L4
    if row == base:
        return PlaceMove.TO_ROW  # L2
    return PlaceMove.TO_FILE  # L3; L5: the row's place was serialised first


class Move(Enum):
    """One planned action on one entry."""

    NOTHING = auto()
    RENDER = auto()  # an app wrote the row's views or text: derive the rest from them
    WAIT = auto()  # the file cannot be judged now
    INSERT = auto()  # a new file: a new row
    REINSERT = auto()  # the row vanished without a tombstone: again under the same id
    CREATE = auto()  # a row without a file: a new file
    ADOPT = auto()  # the sides agree, the base is stale: record it
    TO_ROW = auto()  # the file changed
    TO_FILE = auto()  # the row changed, or the file is an older revision
    MERGE = auto()  # both changed, differently
    SIBLING = auto()  # no common ancestor: the row keeps the name, the file's text becomes a conflict page
    REVIVE = auto()  # the file is newer than the row's deletion
    ENTOMB = auto()  # the file is gone: the row becomes a tombstone
    TRASH = auto()  # the row is deleted: the file goes to the trash
    FORGET = auto()  # both are gone: drop the base


DELETIONS = frozenset({Move.ENTOMB, Move.TRASH})


def plan_content(state: State, *, seen_version: int | None = None, adopting: bool = False) -> Move:
    """
    The move for *state*'s content.

    seen_version: the newest version in the row's history whose digest is the file's; None: those bytes are new.
    adopting: the first pass over a tree whose past is not known here: nothing is deleted.
    """
    row, file = state.row, state.file
    if row is not None and not row.deleted and (row.ahead or row.digest is None):
        return Move.RENDER  # row 0
    if isinstance(file, UnreadableFile):
        return Move.WAIT  # rows 17, 19, 20
    if row is not None and row.purged:
        return _plan_purged(state.base, file)
    if file is None:
        return _plan_absent(state, adopting)
    if row is None:
        return Move.INSERT if state.base is None else Move.REINSERT  # rows 1, 21
    if row.deleted:
        return _plan_deleted(state, file, seen_version, adopting)
    if state.base is None:
        return _plan_without_base(file, row, seen_version)
    return _plan_both_sides(state.base.version, state.base.digest, file.digest, row, seen_version, adopting)


def _plan_absent(state: State, adopting: bool) -> Move:
    row, base = state.row, state.base
    if row is None or row.deleted:
        return Move.NOTHING if base is None else Move.FORGET  # rows 23, 16, 22
    if base is None or row.digest != base.digest:
        return Move.CREATE  # rows 2, 14: an edit beats a deletion
    return Move.CREATE if adopting else Move.ENTOMB  # row 12


def _plan_deleted(state: State, file: File, seen_version: int | None, adopting: bool) -> Move:
    base = state.base
    if base is not None and file.digest == base.digest:
        return Move.TRASH  # row 13
    if adopting and seen_version is not None:
        return Move.TRASH  # row 5 under adoption rules: an old copy of something deleted
    return Move.REVIVE  # rows 5, 15


def _plan_purged(base: Base | None, file: File | None) -> Move:
    """The move for a purged row: this mirror was away so long that only its base is left of the deletion."""
    if file is None:
        return Move.NOTHING if base is None else Move.FORGET
    if base is None:
        return Move.INSERT
    return Move.TRASH if file.digest == base.digest else Move.REINSERT


def _plan_without_base(file: File, row: Row, seen_version: int | None) -> Move:
    if file.digest == row.digest:
        return Move.ADOPT  # row 3
    if seen_version is not None or file.digest == NO_TEXT:
        return Move.TO_FILE  # row 4: a stale copy
    if row.digest == NO_TEXT:
        return Move.TO_ROW  # a folder gets its page file
    return Move.SIBLING  # row 4


def _plan_both_sides(
    version: int, base: Digest, file: Digest, row: Row, seen_version: int | None, adopting: bool
) -> Move:
    if file == row.digest:
        return Move.NOTHING if base == file and version == row.version else Move.ADOPT  # rows 6, 9
    if adopting and seen_version is not None:
        return Move.TO_FILE  # an older revision came back with the tree: stale, not an edit
    if row.digest == base:
        return Move.TO_ROW  # row 7
    if file == base:
        return Move.TO_FILE  # row 8
    if seen_version is not None and version < seen_version <= row.version:
        return Move.TO_FILE  # row 10: our own write, not yet recorded
    if file == NO_TEXT:
        return Move.TO_FILE  # row 14: the page file is gone, its directory is not; the row's edit beats that
    if row.digest == NO_TEXT:
        return Move.TO_ROW
    return Move.MERGE  # row 11


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
_STEPS = dict.fromkeys(DELETIONS, Step.DELETE) | dict.fromkeys(_TO_ROW, Step.ROW) | dict.fromkeys(_TO_FILE, Step.FILE)
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
    is_held_open = isinstance(state.file, File) and state.file.is_held_open
    if is_held_open and not (move in _SNAPSHOTS and place is PlaceMove.NOTHING):
        return Decision(state, Step.LATER, move, PlaceMove.NOTHING)
    if place in (PlaceMove.TO_ROW, PlaceMove.TO_FILE):
        step = Step.ROW if place is PlaceMove.TO_ROW else Step.FILE
        return Decision(state, step, move, place, again=move not in (Move.NOTHING, Move.ADOPT))
    if move is Move.NOTHING and place is PlaceMove.ADOPT:
        return Decision(state, Step.ROW, Move.ADOPT, place)
    if move is Move.TRASH and _was_moved_by_ancestor(state):
        return Decision(state, Step.ROW, Move.ADOPT, PlaceMove.ADOPT, again=True)
    step = Step.DELETE if move is Move.REINSERT or is_emptied(state, move) else _STEPS.get(move, Step.NOTHING)
    again = move in _TWO_STEPS or _has_two_places(state)
    return Decision(state, step, move, PlaceMove.NOTHING, again=again)


def is_plain_save(state: State) -> bool:
    """
    Whether a known page stayed in its place, and only its file has a new text.

    decide() writes its row then, with every history of these bytes and places.
    """
    file, base, row = state.file, state.base, state.row
    if not isinstance(file, File) or base is None or row is None or row.deleted or not row.placed or row.ahead:
        return False
    if not (file.kind is base.kind is row.kind is Kind.PAGE and base.place == file.place == row.place):
        return False
    is_in_place = base.path == file.path and not file.is_contested and file.succeeds is None
    is_new = file.digest not in (EMPTY_DIGEST, NO_TEXT, base.digest) and not file.is_held_open
    return is_in_place and is_new and row.digest == base.digest and base.digest != NO_TEXT


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
