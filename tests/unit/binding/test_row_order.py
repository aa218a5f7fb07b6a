"""Parents come before children; orphans and cycles are told."""

from hypothesis import given
from hypothesis import strategies as st

from mirrord.binding.row_order import order_rows

ROWS = st.sampled_from("abcdefgh")


@given(st.dictionaries(ROWS, st.none() | ROWS), st.sets(ROWS))
def test_every_row_comes_once_and_after_its_parent(parents: dict[str, str | None], others: set[str]) -> None:
    order = order_rows(parents, others)
    assert sorted(order.ordered) == sorted(parents)
    places = {row: place for place, row in enumerate(order.ordered)}
    for row, parent in parents.items():
        if parent is not None and row not in order.cyclic | order.orphans:
            assert parent in others or places[parent] < places[row]


@given(st.dictionaries(ROWS, st.none() | ROWS))
def test_rows_that_never_reach_the_top_are_cyclic(parents: dict[str, str | None]) -> None:
    def reaches_top(row: str) -> bool:
        passed = set[str]()
        current: str | None = row
        while current is not None and current in parents and current not in passed:
            passed.add(current)
            current = parents[current]
        return current is None or current not in parents

    assert order_rows(parents).cyclic == {row for row in parents if not reaches_top(row)}


def test_a_row_with_an_unknown_parent_is_an_orphan_unless_that_is_in_place() -> None:
    assert order_rows({"a": "x"}).orphans == {"a"}
    assert order_rows({"a": "x"}, {"x"}).orphans == frozenset()
