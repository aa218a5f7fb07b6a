"""Polls of clocks show lost notifications, and do not take those for lost that are still on their way."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.daemon.clock_watch import (
    BUSY_SECONDS,
    LOST_POLL_SECONDS,
    MAX_POLL_SECONDS,
    NOTICE_SECONDS,
    POLL_SECONDS,
    ClockWatch,
    seconds_between_polls,
)
from mirrord.domain.entry import TenantId

TENANT, OTHER = TenantId(UUID(int=1)), TenantId(UUID(int=2))


@pytest.fixture
def watch() -> ClockWatch:
    watch = ClockWatch()
    watch.note_notice(TENANT, 7)
    return watch


def test_a_change_whose_notification_comes_after_the_poll_is_not_lost(watch: ClockWatch) -> None:
    watch.note_poll(TENANT, 8, now=10.0)
    watch.note_notice(TENANT, 8)
    watch.note_poll(TENANT, 8, now=10.0 + NOTICE_SECONDS)
    assert not watch.is_losing(10.0 + NOTICE_SECONDS)


def test_an_answer_from_before_a_notification_does_not_make_the_next_one_lost(watch: ClockWatch) -> None:
    watch.note_notice(TENANT, 9)
    watch.note_poll(TENANT, 8, now=10.0)
    watch.note_poll(TENANT, 9, now=20.0)
    watch.note_poll(TENANT, 9, now=30.0)
    assert not watch.is_losing(30.0)


def test_a_change_whose_notification_stays_away_is_lost(watch: ClockWatch) -> None:
    watch.note_poll(TENANT, 8, now=10.0)
    assert not watch.is_losing(10.0)
    watch.note_poll(TENANT, 8, now=10.0 + NOTICE_SECONDS)
    assert watch.is_losing(10.0 + NOTICE_SECONDS)
    assert not watch.is_losing(10.0 + NOTICE_SECONDS + BUSY_SECONDS)


def test_a_lost_change_counts_once(watch: ClockWatch) -> None:
    watch.note_poll(TENANT, 8, now=10.0)
    watch.note_poll(TENANT, 8, now=11.0)
    for now in range(12, 30):
        watch.note_poll(TENANT, 8, now=float(now))
    assert not watch.is_losing(29.0)


def test_changes_that_go_on_without_notifications_go_on_being_lost(watch: ClockWatch) -> None:
    for tenth in range(100, 200):
        watch.note_poll(TENANT, tenth, now=tenth / 10)
    assert watch.is_losing(20.0)


def test_a_notification_of_an_unknown_change_tells_what_polls_have_shown(watch: ClockWatch) -> None:
    watch.note_poll(TENANT, 8, now=10.0)
    watch.note_notice(TENANT, None)
    watch.note_poll(TENANT, 8, now=20.0)
    assert not watch.is_losing(20.0)


def test_notifications_of_one_tenant_tell_nothing_of_another(watch: ClockWatch) -> None:
    watch.note_poll(OTHER, 3, now=10.0)
    watch.note_notice(TENANT, 8)
    watch.note_poll(OTHER, 3, now=11.0)
    assert watch.is_losing(11.0)


def test_after_another_server_took_over_its_smaller_numbers_count(watch: ClockWatch) -> None:
    watch.forget()
    watch.note_poll(TENANT, 2, now=10.0)
    watch.note_poll(TENANT, 2, now=11.0)
    assert watch.is_losing(11.0)


@given(st.lists(st.tuples(st.floats(0.01, 5.0), st.floats(0.0, NOTICE_SECONDS * 0.9)), max_size=50))
def test_no_notification_that_comes_in_time_is_lost_however_polls_fall(changes: list[tuple[float, float]]) -> None:
    watch, moments, changed_at = ClockWatch(), list[tuple[float, int, int]](), 0.0
    for number, (pause, delay) in enumerate(changes, start=1):
        changed_at += pause
        moments += [(changed_at, 0, number), (changed_at + delay, 1, number)]
    clock = 0
    for now, is_notice, number in sorted(moments):
        if is_notice:
            watch.note_notice(TENANT, number)
        else:
            clock = number
        watch.note_poll(TENANT, clock, now)
        assert not watch.is_losing(now)


def test_more_tenants_are_polled_less_often_up_to_a_limit() -> None:
    assert seconds_between_polls(0, is_losing=False) == seconds_between_polls(1, is_losing=False) == POLL_SECONDS
    assert seconds_between_polls(100, is_losing=False) > POLL_SECONDS
    assert seconds_between_polls(100_000, is_losing=False) == MAX_POLL_SECONDS


def test_lost_notifications_are_looked_for_at_once() -> None:
    assert seconds_between_polls(1, is_losing=True) == LOST_POLL_SECONDS


@given(st.integers(0, 1_000_000))
def test_polls_are_never_rarer_while_notifications_get_lost(tenants: int) -> None:
    assert seconds_between_polls(tenants, is_losing=True) <= seconds_between_polls(tenants, is_losing=False)
