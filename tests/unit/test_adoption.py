"""Which entries the rules of a first comparison hold for."""

from dataclasses import replace

import pytest

from mirrord.domain.entry import State
from mirrord.sync.decisions.entry_decision import Decision, Move, decide
from mirrord.sync.decisions.tree_history import Adoption, Rewind
from tests.unit.states import B, base, file, row, state

MISSING = state(base(version=1), None, row(version=1))
REWINDS = [Rewind.UNKNOWN, Rewind.TREE, Rewind.DATABASE, Rewind.MOVED]


def decision_of(adoption: Adoption, situation: State) -> Decision:
    return decide(situation, seen_version=None, adopting=adoption.covers(situation))


@pytest.mark.parametrize("cause", REWINDS)
def test_a_page_made_from_its_file_meanwhile_may_be_deleted_like_any_other(cause: Rewind) -> None:
    adoption = Adoption(active=True, cause=cause)
    insertion = decision_of(adoption, state(file=file()))
    assert insertion.move is Move.INSERT
    adoption.note_decisions([insertion])
    assert adoption.covers(MISSING)
    adoption.note_carried_out([insertion])
    deletion = decision_of(adoption, MISSING)
    assert deletion.move is Move.ENTOMB
    adoption.note_decisions([deletion])
    adoption.active = False
    assert decision_of(adoption, MISSING).move is Move.ENTOMB, "the deletion itself is no unfinished adoption"
    adoption.begin(Rewind.TREE)
    assert decision_of(adoption, MISSING).move is Move.CREATE


@pytest.mark.parametrize("cause", REWINDS)
def test_a_file_that_was_seen_as_its_base_and_row_say_may_be_deleted(cause: Rewind) -> None:
    adoption = Adoption(active=True, cause=cause)
    assert decision_of(adoption, MISSING).move is Move.CREATE
    adoption.note_decisions([decision_of(adoption, state(base(version=1), file(), row(version=1)))])
    assert decision_of(adoption, MISSING).move is Move.ENTOMB


def test_a_file_that_could_not_be_read_first_and_equals_its_row_then_is_no_longer_adopted() -> None:
    adoption = Adoption(active=True)
    open_file = replace(file(B), is_held_open=True)
    adoption.note_decisions([decision_of(adoption, state(base(version=1), open_file, row(version=1)))])
    adoption.active = False
    assert adoption.is_in_force
    adoption.note_decisions([decision_of(adoption, state(base(version=1), file(), row(version=1)))])
    assert not adoption.is_in_force


def test_a_page_whose_insertion_is_looked_at_again_is_not_settled() -> None:
    adoption = Adoption(active=True)
    insertion = replace(decision_of(adoption, state(file=file())), again=True)
    adoption.note_decisions([insertion])
    adoption.note_carried_out([insertion])
    assert adoption.covers(MISSING)


def test_every_base_of_a_mirror_in_its_first_adoption_tells_that_it_saw_the_file() -> None:
    adoption = Adoption(active=True)
    adoption.begin(Rewind.FIRST)
    assert decision_of(adoption, MISSING).move is Move.ENTOMB
    assert decision_of(adoption, state(row=row(version=1))).move is Move.CREATE
    stale_copy = state(file=file(), row=row(version=2, deleted=True))
    assert decide(stale_copy, seen_version=1, adopting=adoption.covers(stale_copy)).move is Move.TRASH
