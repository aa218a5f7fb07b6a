"""How long something takes: the histogram counts every value once, and people see the last of them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.measures import BOUNDS_SECONDS, MAX_AGE_SECONDS, MAX_VALUES, Latencies, combine

SECONDS = st.lists(st.floats(0, 100), max_size=300)


def measured(values: list[float], now: float = 0.0) -> Latencies:
    latencies = Latencies()
    for value in values:
        latencies.add(value, now)
    return latencies


@given(SECONDS)
def test_every_value_is_counted_once_at_the_first_bound_it_does_not_exceed(values: list[float]) -> None:
    latencies = measured(values)
    edges = [-1.0, *BOUNDS_SECONDS, float("inf")]
    expected = [sum(low < value <= high for value in values) for low, high in pairwise(edges)]
    assert latencies.counts == expected
    assert latencies.seconds == pytest.approx(sum(values))


@given(SECONDS, SECONDS)
def test_several_together_are_the_histogram_of_all_their_values(some: list[float], others: list[float]) -> None:
    both = combine([measured(some), measured(others)])
    assert both.counts == measured(some + others).counts
    assert both.seconds == pytest.approx(sum(some) + sum(others))


@given(st.lists(st.floats(0, 100), min_size=1, max_size=MAX_VALUES))
def test_so_large_a_share_of_the_values_is_not_above_a_percentile_and_none_smaller_would_do(
    values: list[float],
) -> None:
    recent = measured(values).recent(0.0)
    assert recent is not None
    assert (recent.count, recent.last) == (len(values), values[-1])
    for percentile, percent in ((recent.median, 50), (recent.p99, 99)):
        assert 100 * sum(value <= percentile for value in values) >= percent * len(values)
        assert 100 * sum(value < percentile for value in values) < percent * len(values)


def test_only_the_last_values_and_only_those_of_minutes_tell_about_now() -> None:
    latencies = measured([9.0] * MAX_VALUES)
    for _ in range(MAX_VALUES):
        latencies.add(1.0, 0.0)
    recent = latencies.recent(MAX_AGE_SECONDS)
    assert recent is not None
    assert (recent.count, recent.p99) == (MAX_VALUES, 1.0)
    assert latencies.recent(MAX_AGE_SECONDS + 1) is None
    assert sum(latencies.counts) == 2 * MAX_VALUES


def test_nothing_together_is_an_empty_histogram() -> None:
    assert combine([]).counts == Latencies().counts
