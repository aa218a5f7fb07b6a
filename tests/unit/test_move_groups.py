"""Groups of moves that are carried out together, or wait together because an app holds one of the rows."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import Base, EntryId, File, Kind, Place, Row, State, digest_of
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step
from mirrord.sync.decisions.move_groups import group_by_names, moving_entries, select_waiting

NAMES = "abcdef"


def entry_of(name: str) -> EntryId:
    return EntryId(UUID(int=1 + NAMES.index(name)))


def rename(old: str, new: str, parent: str | None = None, *, above: str = "") -> Decision:
    """The decision on the page *old* whose file is called *new* now. above: the new directory, if that moved along."""
    entry, digest = entry_of(old), digest_of(old.encode())
    old_place, new_place = (Place(entry_of(parent) if parent else None, name) for name in (old, new))
    base = Base(entry, Kind.PAGE, f"{parent or ''}/{old}.md", old_place, 1, digest, None)
    file = File(Kind.PAGE, f"{above or parent or ''}/{new}.md", new_place, digest)
    row = Row(entry, Kind.PAGE, old_place, True, 1, digest, False)
    if old == new:
        return Decision(State(entry, base, file, row), Step.ROW, Move.ADOPT, PlaceMove.ADOPT)
    return Decision(State(entry, base, file, row), Step.ROW, Move.NOTHING, PlaceMove.TO_ROW)


def names_in(groups: list[list[Decision]]) -> list[list[str]]:
    return [[NAMES[decision.state.entry.int - 1] for decision in group] for group in groups]


def test_renames_that_take_each_others_names_are_one_group() -> None:
    decisions = [rename("a", "b"), rename("c", "f"), rename("b", "a"), rename("d", "e")]
    assert names_in(group_by_names(decisions)) == [["a", "b"], ["c"], ["d"]]


def test_a_chain_of_renames_is_one_group_in_any_order() -> None:
    assert names_in(group_by_names([rename("a", "b"), rename("c", "d"), rename("b", "c")])) == [["a", "c", "b"]]


def test_a_locked_row_holds_its_whole_group_and_no_other() -> None:
    groups = group_by_names([rename("a", "b"), rename("b", "a"), rename("c", "d")])
    assert select_waiting(groups, {entry_of("b")}) == {entry_of("a"), entry_of("b")}


def test_what_came_along_in_a_directory_waits_for_its_page() -> None:
    decisions = [rename("a", "b"), rename("c", "c", "a", above="b"), rename("d", "d", "e", above="e")]
    assert select_waiting(group_by_names(decisions), {entry_of("a")}) == {entry_of("a"), entry_of("c")}


def test_what_came_along_waits_for_a_page_of_an_earlier_batch() -> None:
    waiting = moving_entries([rename("a", "b")])
    assert select_waiting([[rename("c", "c", "a", above="b")]], (), waiting) == {entry_of("c")}


def test_a_child_that_stayed_in_place_does_not_wait_for_its_parent() -> None:
    assert select_waiting([[rename("a", "a")], [rename("c", "c", "a")]], {entry_of("a")}) == {entry_of("a")}


@given(st.permutations(NAMES), st.sampled_from(NAMES))
def test_no_name_is_taken_while_the_row_that_gives_it_up_waits(new_names: list[str], locked: str) -> None:
    decisions = [rename(old, new) for old, new in zip(NAMES, new_names, strict=True) if old != new]
    waiting = select_waiting(group_by_names(decisions), {entry_of(locked)})
    for old, new in zip(NAMES, new_names, strict=True):
        if old != new:
            assert (entry_of(old) in waiting) == (entry_of(new) in waiting)
