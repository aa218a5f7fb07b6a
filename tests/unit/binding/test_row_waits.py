"""Rows that an app holds are looked at again more and more rarely, and at once when something is notified."""

from mirrord.binding.row_waits import FIRST_SECONDS, MAX_SECONDS, RowWaits


def test_each_pass_that_finds_rows_held_waits_twice_as_long_up_to_a_limit() -> None:
    waits, now, pauses = RowWaits(), 100.0, []
    for _ in range(8):
        waits.note_pass(now, is_waiting=True)
        pauses.append(round(waits.until - now, 6))
        now = waits.until
    assert pauses[:5] == [FIRST_SECONDS * factor for factor in (1, 2, 4, 8, 16)]
    assert pauses[5:] == [MAX_SECONDS] * 3


def test_a_notification_and_a_pass_without_held_rows_end_the_wait() -> None:
    waits = RowWaits()
    for _ in range(4):
        waits.note_pass(100.0, is_waiting=True)
    waits.note_notification()
    assert waits.until <= 100.0, "the next look may work at once"
    waits.note_pass(100.0, is_waiting=False)
    waits.note_pass(100.0, is_waiting=True)
    assert waits.until == 100.0 + FIRST_SECONDS
