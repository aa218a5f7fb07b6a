"""Which entries the rules of a first comparison hold for."""

from dataclasses import replace

from mirrord.sync.decisions.entry_decision import Move, decide
from mirrord.sync.decisions.tree_history import Adoption, Rewind
from tests.unit.states import ENTRY, base, file, row, state


def test_a_page_made_from_its_file_meanwhile_may_be_deleted_like_any_other() -> None:
    adoption = Adoption(active=True)
    insertion = decide(state(file=file()), seen_version=None, adopting=adoption.covers(ENTRY))
    assert insertion.move is Move.INSERT
    adoption.note_decisions([insertion])
    assert adoption.covers(ENTRY)
    adoption.note_carried_out([insertion])
    situation = state(base(version=1), None, row(version=1))
    assert decide(situation, seen_version=None, adopting=adoption.covers(ENTRY)).move is Move.ENTOMB
    adoption.begin(Rewind.TREE)
    assert decide(situation, seen_version=None, adopting=adoption.covers(ENTRY)).move is Move.CREATE


def test_a_page_whose_insertion_is_looked_at_again_is_not_settled() -> None:
    adoption = Adoption(active=True)
    insertion = replace(decide(state(file=file()), seen_version=None, adopting=True), again=True)
    adoption.note_decisions([insertion])
    adoption.note_carried_out([insertion])
    assert adoption.covers(ENTRY)
