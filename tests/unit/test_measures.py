"""However many tenants there are, only so many are told apart."""

from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.measures import OTHER_TENANTS, Measures, Waiting, limit_tenants

NAMES = st.sets(st.sampled_from([OTHER_TENANTS, *"abcdefgh"]))


def measures(name: str) -> Measures:
    one = Measures(name, moves=3, pending=2, leases=1, feed_seconds=0.5, feed_changes=4, waiting=Waiting(1, 2, 3, 4))
    one.file_to_row.add(0.01, 0.0)
    return one


@given(NAMES, st.integers(1, 6))
def test_no_label_comes_twice_and_nothing_is_lost_beyond_the_bound(names: set[str], most: int) -> None:
    shown = limit_tenants([measures(name) for name in names], most)
    labels = [one.tenant for one in shown]
    assert len(labels) == len(set(labels)) == min(len(names), most + 1)
    assert sum(one.pending for one in shown) == 2 * len(names)
    assert sum(one.moves for one in shown) == 3 * len(names)
    assert sum(one.leases for one in shown) == len(names)
    assert sum(one.feed_changes for one in shown) == 4 * len(names)
    assert sum(sum(one.file_to_row.counts) for one in shown) == len(names)
    assert [one.waiting is not None and one.waiting.halts for one in shown if one.tenant != OTHER_TENANTS] == [2] * len(
        [label for label in labels if label != OTHER_TENANTS]
    )


def test_a_lag_of_several_is_the_longest_and_what_was_not_counted_is_left_out() -> None:
    late = Measures("z", feed_seconds=9.0)
    (_, rest) = limit_tenants([measures("a"), measures("b"), late], 1)
    assert (rest.tenant, rest.feed_seconds, rest.waiting) == (OTHER_TENANTS, 9.0, Waiting(1, 2, 3, 4))
    (_, rest) = limit_tenants([measures("a"), late, Measures("y")], 1)
    assert rest.waiting is None
