"""Between two positions there is always another one, short as long as moves are few."""

from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.place import position_between

POSITIONS = st.text("0123456789ABCXYZabcxyz", min_size=1, max_size=6).filter(lambda text: not text.endswith("0"))


@given(POSITIONS, POSITIONS)
def test_what_is_between_two_is_greater_than_one_and_less_than_the_other(first: str, other: str) -> None:
    if first == other:
        assert position_between(first, other) is None
        return
    low, high = sorted((first, other))
    position = position_between(low, high)
    assert position is not None
    assert low < position < high
    assert len(position) <= len(low) + len(high) + 1


@given(POSITIONS)
def test_there_is_always_something_before_and_behind(position: str) -> None:
    before, behind = position_between(None, position), position_between(position, None)
    assert before is not None
    assert behind is not None
    assert before < position < behind


def test_a_thousand_moves_to_the_same_end_stay_in_order() -> None:
    positions: list[str] = []
    for _ in range(1000):
        following = position_between(positions[-1] if positions else None, None)
        assert following is not None
        positions.append(following)
    assert positions == sorted(set(positions))


def test_positions_of_another_kind_leave_no_place() -> None:
    assert position_between("a b", "a c") is None
    assert position_between("b", "a") is None
    assert position_between(None, "0") is None
