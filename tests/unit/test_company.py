from uuid import UUID

import pytest

from mirrord.domain.entry import TenantId
from mirrord.sync.decisions.pacing import (
    BUSY_SECONDS,
    CREDIT_SECONDS,
    MAX_PAUSE_SECONDS,
    SHARE_PARTS,
    FairShare,
    FairShares,
)

ME, OTHER, THIRD = (TenantId(UUID(int=number)) for number in (1, 2, 3))


def test_who_is_alone_needs_no_rest() -> None:
    company = FairShares()
    assert company.pause_seconds(ME, 0.1, 0.0) == 0
    for now in (0.0, 0.1, 0.2):
        company.note_work(ME, now)
        assert company.pause_seconds(ME, 0.1, now) == 0


def test_who_has_company_rests_as_long_as_it_worked_but_not_forever() -> None:
    company = FairShares()
    company.note_work(ME, 0.0)
    company.note_work(OTHER, 0.1)
    assert company.pause_seconds(ME, 0.1, 0.1) == 0.1
    assert company.pause_seconds(ME, 60.0, 0.1) == MAX_PAUSE_SECONDS
    company.note_work(ME, 0.15)
    company.note_work(ME, 0.2)
    assert company.pause_seconds(ME, 0.1, 0.2) == 0.1
    assert company.pause_seconds(THIRD, 0.1, 0.2) == 0.1


def test_company_that_worked_long_ago_is_none() -> None:
    company = FairShares()
    company.note_work(OTHER, 0.0)
    company.note_work(ME, BUSY_SECONDS)
    assert company.pause_seconds(ME, 0.1, BUSY_SECONDS) == 0


def test_a_company_counts_who_joined() -> None:
    company = FairShares()
    for number in (1, 2, 3):
        company.join()
        assert company.mirrors == number


def test_passes_now_and_then_need_no_rest() -> None:
    company, took = FairShares(), 0.02
    share, now = FairShare(company, ME), 0.0
    for _ in range(100):
        company.note_work(OTHER, now)
        assert share.seconds_until_pass(now) == 0
        share.note_pass(now, now + took)
        now += SHARE_PARTS * took


def test_who_goes_on_and_on_gets_a_quarter_of_the_time_while_others_work() -> None:
    company, took = FairShares(), 0.04
    share, now, worked = FairShare(company, ME), 0.0, 0.0
    while now < 100:
        share.note_pass(now, now + took)
        now, worked = now + took, worked + took
        company.note_work(OTHER, now)
        now += share.seconds_until_pass(now)
    assert 0.25 <= worked / now < 0.26  # with what it had in advance


def test_nobody_rests_alone_and_nobody_long() -> None:
    company = FairShares()
    share = FairShare(company, ME)
    share.note_pass(0.0, 60.0)
    assert share.seconds_until_pass(60.0) == 0
    company.note_work(OTHER, 60.0)
    assert share.seconds_until_pass(60.0) == MAX_PAUSE_SECONDS
    assert share.seconds_until_pass(60.0 + MAX_PAUSE_SECONDS) == 0
    company.note_work(OTHER, 60.4 + MAX_PAUSE_SECONDS + CREDIT_SECONDS)
    share.note_pass(60.0 + MAX_PAUSE_SECONDS + CREDIT_SECONDS, 60.4 + MAX_PAUSE_SECONDS + CREDIT_SECONDS)
    assert share.seconds_until_pass(60.4 + MAX_PAUSE_SECONDS + CREDIT_SECONDS) == pytest.approx(
        SHARE_PARTS * 0.4 - 0.4 - CREDIT_SECONDS
    )
