"""Between two positions there is always another one, short as long as moves are few."""

from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.place import position_between

POSITIONS = st.text("0123456789ABCXYZabcxyz", min_size=1, max_size=6).filter(lambda text: not text.endswith("0"))


@given(POSITIONS, POSITIONS)
def test_what_is_between_two_is_greater_than_one_and_less_than_the_other(one: str, other: str) -> None:
    if one == other:
        assert position_between(one, other) is None
        return
    low, high = sorted((one, other))
    found = position_between(low, high)
    assert found is not None
    assert low < found < high
    assert len(found) <= len(low) + len(high) + 1


@given(POSITIONS)
def test_there_is_always_something_before_and_behind(one: str) -> None:
    before, behind = position_between(None, one), position_between(one, None)
    assert before is not None
    assert behind is not None
    assert before < one < behind


def test_a_thousand_moves_to_the_same_end_stay_in_order() -> None:
    found: list[str] = []
    for _ in range(1000):
        following = position_between(found[-1] if found else None, None)
        assert following is not None
        found.append(following)
    assert found == sorted(set(found))


def test_positions_of_another_kind_leave_no_place() -> None:
    assert position_between("a b", "a c") is None
    assert position_between("b", "a") is None
    assert position_between(None, "0") is None
