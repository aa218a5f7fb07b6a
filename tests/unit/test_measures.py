"""However many tenants there are, only so many are told apart."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.measures import OTHER_TENANTS, Measures, Waiting, combine, limit_tenants
from mirrord.telemetry.engine_reports import dump_measures, load_measures

NAMES = st.sets(st.sampled_from([OTHER_TENANTS, *"abcdefgh"]))


def measures(name: str) -> Measures:
    measured = Measures(
        name, moves=3, pending=2, leases=1, feed_seconds=0.5, feed_changes=4, waiting=Waiting(1, 2, 3, 4)
    )
    measured.file_to_row.add(0.01, 0.0)
    return measured


@given(NAMES)
def test_measurements_reach_another_process_without_counts_of_rows(names: set[str]) -> None:
    several = [measures(name) for name in names]
    loaded = load_measures(dump_measures(several))
    assert limit_tenants([replace(each, waiting=Waiting(1, 2, 3, 4)) for each in loaded], 99) == [
        replace(each, file_to_row=combine([each.file_to_row])) for each in limit_tenants(several, 99)
    ]


@given(NAMES, st.integers(1, 6))
def test_no_label_comes_twice_and_nothing_is_lost_beyond_the_bound(names: set[str], limit: int) -> None:
    limited = limit_tenants([measures(name) for name in names], limit)
    labels = [measured.tenant for measured in limited]
    assert len(labels) == len(set(labels)) == min(len(names), limit + 1)
    assert sum(measured.pending for measured in limited) == 2 * len(names)
    assert sum(measured.moves for measured in limited) == 3 * len(names)
    assert sum(measured.leases for measured in limited) == len(names)
    assert sum(measured.feed_changes for measured in limited) == 4 * len(names)
    assert sum(sum(measured.file_to_row.counts) for measured in limited) == len(names)
    assert [
        measured.waiting is not None and measured.waiting.halts
        for measured in limited
        if measured.tenant != OTHER_TENANTS
    ] == [2] * len([label for label in labels if label != OTHER_TENANTS])


def test_a_lag_of_several_is_the_longest_and_what_was_not_counted_is_left_out() -> None:
    slow = Measures("z", feed_seconds=9.0)
    (_, combined) = limit_tenants([measures("a"), measures("b"), slow], 1)
    assert (combined.tenant, combined.feed_seconds, combined.waiting) == (OTHER_TENANTS, 9.0, Waiting(1, 2, 3, 4))
    (_, combined) = limit_tenants([measures("a"), slow, Measures("y")], 1)
    assert combined.waiting is None
