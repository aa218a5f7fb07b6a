"""One entry's next step, for every combination of contents and places."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from mirrord.domain.entry import EMPTY_DIGEST, NO_TEXT, File, State
from mirrord.sync.decisions.entry_decision import DELETIONS, Decision, Move, PlaceMove, Step, decide
from tests.unit.states import THERE, UNREADABLE, A, B, C, all_states, base, file, row, state


def moved_states() -> Iterator[State]:
    """Every content with the places of file and row moved or not, and with the row placed or not."""
    for content, (file_moved, row_moved, placed) in product(all_states(), product((False, True), repeat=3)):
        file_side, row_side = content.file, content.row
        if isinstance(file_side, File) and file_moved:
            file_side = replace(file_side, place=THERE)
        if row_side is not None:
            row_side = replace(row_side, placed=placed, place=THERE if row_moved else row_side.place)
        yield replace(content, file=file_side, row=row_side)


@cache
def decisions() -> tuple[Decision, ...]:
    """For every state, in an adoption and without; made once, and not when tests are collected."""
    states = list(moved_states())
    return tuple(
        decide(state, seen_version=None, adopting=adopting) for state, adopting in product(states, (False, True))
    )


def test_nothing_is_done_only_where_neither_content_nor_place_has_a_move() -> None:
    for decision in decisions():
        idle = decision.move is Move.NOTHING and decision.place is PlaceMove.NOTHING
        assert (decision.step is Step.NOTHING) == idle


def test_a_step_that_carries_a_place_is_followed_by_the_contents_own() -> None:
    for decision in decisions():
        if decision.step in (Step.ROW, Step.FILE) and decision.place in (PlaceMove.TO_ROW, PlaceMove.TO_FILE):
            assert decision.again == (decision.move not in (Move.NOTHING, Move.ADOPT))


def test_what_was_prepared_is_looked_at_again_and_what_is_done_is_not() -> None:
    for decision in decisions():
        if decision.step is Step.PREPARE:
            assert decision.again
        elif decision.step in (Step.NOTHING, Step.LATER, Step.DELETE):
            assert not decision.again


def test_losses_and_only_they_are_gathered_and_weighed() -> None:
    losses = DELETIONS | {Move.REINSERT}
    for decision in decisions():
        if decision.step is Step.DELETE:
            assert decision.move in losses
        elif decision.move in losses:
            assert decision.step in (Step.PREPARE, Step.ROW, Step.FILE)


def test_the_tree_is_never_written_where_the_file_cannot_be_judged() -> None:
    steps = {decision.step for decision in decisions() if decision.state.file is UNREADABLE}
    assert steps <= {Step.LATER, Step.PREPARE}


@pytest.mark.parametrize(
    ("situation", "step", "place", "again"),
    [
        (state(base(), file(), row()), Step.NOTHING, PlaceMove.NOTHING, False),
        (state(base(), file(B), row()), Step.ROW, PlaceMove.NOTHING, False),
        (state(base(), file(), row(B)), Step.FILE, PlaceMove.NOTHING, False),
        (state(base(), file(B), row(C)), Step.ROW, PlaceMove.NOTHING, True),  # the merged text is written next
        (state(None, file(B), row(C)), Step.ROW, PlaceMove.NOTHING, True),  # the row's text is written next
        (state(base(), None, row()), Step.DELETE, PlaceMove.NOTHING, False),
        (state(base(), file(EMPTY_DIGEST), row()), Step.DELETE, PlaceMove.NOTHING, False),
        (state(base(EMPTY_DIGEST), file(B), row(EMPTY_DIGEST)), Step.ROW, PlaceMove.NOTHING, False),
        (state(base(NO_TEXT), file(EMPTY_DIGEST), row(NO_TEXT)), Step.ROW, PlaceMove.NOTHING, False),
        (state(base(), file(), None), Step.DELETE, PlaceMove.NOTHING, False),
        (state(base(), UNREADABLE, row()), Step.LATER, PlaceMove.NOTHING, False),
        (state(base(), file(), row(A, ahead={"title"})), Step.PREPARE, PlaceMove.NOTHING, True),
        (state(None, None, row(None, placed=False)), Step.PREPARE, PlaceMove.NAME, True),
        (state(base(), file(place=THERE), row()), Step.ROW, PlaceMove.TO_ROW, False),
        (state(base(), file(), row(place=THERE)), Step.FILE, PlaceMove.TO_FILE, False),
        (state(base(), file(place=THERE), row(place=THERE)), Step.ROW, PlaceMove.ADOPT, False),
        (state(base(), file(B, place=THERE), row()), Step.ROW, PlaceMove.TO_ROW, True),  # L10: place, then content
        (state(base(), file(B), row(place=THERE)), Step.FILE, PlaceMove.TO_FILE, True),
        (state(base(), file(place=THERE), row(B)), Step.ROW, PlaceMove.TO_ROW, True),
        (state(base(), None, row(place=THERE)), Step.FILE, PlaceMove.NOTHING, False),  # F5: a move beats a deletion
        (state(base(), file(place=THERE), row(deleted=True)), Step.ROW, PlaceMove.NOTHING, False),
    ],
)
def test_who_works_next(situation: State, step: Step, place: PlaceMove, again: bool) -> None:
    decision = decide(situation, seen_version=None, adopting=False)
    assert (decision.step, decision.place, decision.again) == (step, place, again)


@pytest.mark.parametrize(
    ("situation", "seen_version", "place"),
    [
        (state(base(), file(place=THERE), row()), None, PlaceMove.TO_FILE),
        (state(base(), file(B, place=THERE), row()), 1, PlaceMove.TO_FILE),  # an older text, in an older place
        (state(base(), file(B, place=THERE), row()), None, PlaceMove.TO_ROW),  # somebody wrote there since
        (state(base(), file(), row()), None, PlaceMove.NOTHING),
    ],
)
def test_in_a_tree_that_went_back_old_bytes_are_in_an_old_place(
    situation: State, seen_version: int | None, place: PlaceMove
) -> None:
    assert decide(situation, seen_version=seen_version, adopting=True, stale_places=True).place is place
