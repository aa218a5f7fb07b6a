from hypothesis import given
from hypothesis import strategies as st

from mirrord.sync.backoff import FIRST, LONGEST, Backoff


@given(st.integers(0, 100))
def test_pauses_double_up_to_the_longest_and_differ_by_chance(failures: int) -> None:
    backoff = Backoff()
    for _ in range(failures):
        backoff.pause()
    whole = min(LONGEST, FIRST * 2.0 ** min(failures, 10))
    assert whole / 2 <= backoff.pause() <= whole


def test_after_a_success_the_first_pause_is_short_again() -> None:
    backoff = Backoff()
    for _ in range(9):
        backoff.pause()
    backoff.succeeded()
    assert backoff.pause() <= FIRST


def test_two_that_failed_together_do_not_come_back_together() -> None:
    assert len({Backoff().pause() for _ in range(20)}) > 1
