"""The places' table of docs/design/sync.md, Places."""

from dataclasses import replace
from itertools import product

import pytest

from mirrord.domain.entry import NO_TEXT, Place, State
from mirrord.sync.decisions.entry_decision import PlaceMove, plan_place
from tests.unit.states import ELSEWHERE, FOLDER, HERE, THERE, UNREADABLE, base, file, row, state

INDEX = Place(None, "Page", index=True)


def at(base_place: Place, file_place: Place, row_place: Place) -> State:
    return state(base(place=base_place), file(place=file_place), row(place=row_place))


@pytest.mark.parametrize(
    ("was", "file_place", "row_place", "move"),
    [
        (HERE, HERE, HERE, PlaceMove.NOTHING),  # L1
        (HERE, THERE, HERE, PlaceMove.TO_ROW),  # L2
        (HERE, HERE, THERE, PlaceMove.TO_FILE),  # L3
        (HERE, THERE, THERE, PlaceMove.ADOPT),  # L4
        (HERE, THERE, ELSEWHERE, PlaceMove.TO_FILE),  # L5: the row's place was serialised first
        (HERE, INDEX, HERE, PlaceMove.TO_ROW),
        (HERE, HERE, INDEX, PlaceMove.TO_FILE),
        (Place(None, "page"), Place(None, "Page"), Place(None, "page"), PlaceMove.TO_ROW),  # L8
        (Place(None, "e\u0301"), Place(None, "é"), Place(None, "e\u0301"), PlaceMove.TO_ROW),  # L8
    ],
)
def test_a_place_is_carried_as_the_table_says(was: Place, file_place: Place, row_place: Place, move: PlaceMove) -> None:
    assert plan_place(at(was, file_place, row_place)) is move


@pytest.mark.parametrize(("was", "file_place", "row_place"), list(product((HERE, THERE, ELSEWHERE, INDEX), repeat=3)))
def test_only_a_place_that_nobody_changed_since_is_given_up(was: Place, file_place: Place, row_place: Place) -> None:
    move = plan_place(at(was, file_place, row_place))
    assert (move is PlaceMove.NOTHING) == (was == file_place == row_place)
    assert (move is PlaceMove.ADOPT) == (file_place == row_place != was)
    assert (move is PlaceMove.TO_ROW) == (row_place == was != file_place)  # so a move of the row is never overwritten
    assert (move is PlaceMove.TO_FILE) == (row_place not in (was, file_place))


@pytest.mark.parametrize("side", ["base", "file", "row"])
def test_the_form_of_a_file_is_no_difference_for_a_folder(side: str) -> None:
    agreed = at(HERE, HERE, HERE)
    folders = {"base": base(NO_TEXT), "file": file(NO_TEXT), "row": row(NO_TEXT)}
    changed = replace(agreed, **{side: replace(folders[side], place=INDEX)})  # type: ignore[arg-type, type-var]
    assert plan_place(changed) is PlaceMove.NOTHING


def test_an_entry_below_a_renamed_folder_only_learns_its_new_path() -> None:
    inside = Place(FOLDER, "Page")
    moved_along = state(
        base(place=inside, path="Old/Page.md"), file(place=inside, path="New/Page.md"), row(place=inside)
    )
    assert plan_place(moved_along) is PlaceMove.ADOPT


@pytest.mark.parametrize("file_side", [None, UNREADABLE, file()])
@pytest.mark.parametrize("agreed", [None, base()])
def test_an_unplaced_row_is_named_before_anything_else(agreed: object, file_side: object) -> None:
    assert plan_place(state(agreed, file_side, row(placed=False))) is PlaceMove.NAME  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "unplaceable",
    [
        state(base(), file(place=THERE), None),
        state(base(), file(place=THERE), row(deleted=True)),
        state(base(), file(place=THERE), row(deleted=True, placed=False)),
        state(None, file(place=THERE), row()),
        state(base(), None, row(place=THERE)),
        state(base(), UNREADABLE, row(place=THERE)),
    ],
)
def test_an_entry_that_lacks_a_side_is_placed_when_that_side_is_made(unplaceable: State) -> None:
    assert plan_place(unplaceable) is PlaceMove.NOTHING
