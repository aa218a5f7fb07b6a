"""Batches: everything in its order, none too large."""

from itertools import chain, pairwise

from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.long_work import split_into_batches


@given(st.lists(st.integers(0, 9)), st.integers(0, 20), st.integers(1, 5))
def test_batches_together_are_all_things_in_order_and_each_keeps_its_limits(
    items: list[int], size: int, max_items: int
) -> None:
    batches = list(split_into_batches(items, lambda item: item, size=size, max_items=max_items))
    assert list(chain.from_iterable(batches)) == items
    for batch in batches:
        assert 1 <= len(batch) <= max_items
        assert sum(batch) <= size or len(batch) == 1


@given(st.lists(st.integers(0, 9), min_size=1), st.integers(0, 20))
def test_a_batch_ends_only_where_the_next_thing_has_no_room(items: list[int], size: int) -> None:
    batches = list(split_into_batches(items, lambda item: item, size=size))
    for batch, following in pairwise(batches):
        assert sum(batch) + following[0] > size
