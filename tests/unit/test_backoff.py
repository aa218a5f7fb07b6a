from hypothesis import given
from hypothesis import strategies as st

from mirrord.sync.timing import FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS, Backoff


@given(st.integers(0, 100))
def test_pauses_double_up_to_the_longest_and_differ_by_chance(failures: int) -> None:
    backoff = Backoff()
    for _ in range(failures):
        backoff.next_pause_seconds()
    longest = min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(failures, 10))
    assert longest / 2 <= backoff.next_pause_seconds() <= longest


def test_after_a_success_the_first_pause_is_short_again() -> None:
    backoff = Backoff()
    for _ in range(9):
        backoff.next_pause_seconds()
    backoff.reset()
    assert backoff.next_pause_seconds() <= FIRST_PAUSE_SECONDS


def test_two_that_failed_together_do_not_come_back_together() -> None:
    assert len({Backoff().next_pause_seconds() for _ in range(20)}) > 1
