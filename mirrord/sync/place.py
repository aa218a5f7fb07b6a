"""Decide about one entry's place (parent and name), independently of its content (docs/design/sync.md, Places)."""

from dataclasses import replace
from enum import Enum, auto

from mirrord.domain.entry import Kind, Place
from mirrord.domain.state import Base, File, Row, State


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
