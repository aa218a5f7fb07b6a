"""The verdict of a soak."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.soak.flat import LIMITS, Limit, grown

MEMORY = LIMITS["memory"]


def test_what_stays_is_flat_however_it_began() -> None:
    assert list(grown("memory", MEMORY, [20.0] * 10 + [90.0] * 20)) == []


@pytest.mark.parametrize("name", LIMITS)
def test_what_goes_on_growing_is_named_with_what_is_allowed(name: str) -> None:
    (sentence,) = grown(name, LIMITS[name], [100.0 + 2 * sample for sample in range(60)])

    assert sentence.startswith(f"GROWTH {name}: from 159 in the second third to 199 in the last")


def test_one_leaked_descriptor_a_minute_is_seen_within_an_hour() -> None:
    assert list(grown("descriptors", LIMITS["descriptors"], [40.0 + minute for minute in range(60)]))


def test_a_peak_is_no_growth() -> None:
    assert list(grown("memory", MEMORY, [90.0] * 50 + [400.0] * 5 + [90.0] * 5)) == []


def test_a_soak_that_is_too_short_is_not_called_flat() -> None:
    assert list(grown("memory", MEMORY, [90.0] * 8))


@given(st.lists(st.floats(0, 1e6), min_size=9), st.floats(0, 1), st.floats(0, 100))
def test_no_order_of_the_first_third_changes_the_verdict(values: list[float], share: float, units: float) -> None:
    limit, third = Limit(share, units), len(values) // 3
    turned = values[:third][::-1] + values[third:]

    assert list(grown("memory", limit, values)) == list(grown("memory", limit, turned))
