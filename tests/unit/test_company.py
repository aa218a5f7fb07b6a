from uuid import UUID

import pytest

from mirrord.domain.entry import TenantId
from mirrord.sync.company import CREDIT, LATELY, MOST, PART, Company, Share

ME, OTHER, THIRD = (TenantId(UUID(int=number)) for number in (1, 2, 3))


def test_who_is_alone_needs_no_rest() -> None:
    company = Company()
    assert company.rest(ME, 0.1, 0.0) == 0
    for now in (0.0, 0.1, 0.2):
        company.works(ME, now)
        assert company.rest(ME, 0.1, now) == 0


def test_who_has_company_rests_as_long_as_it_worked_but_not_forever() -> None:
    company = Company()
    company.works(ME, 0.0)
    company.works(OTHER, 0.1)
    assert company.rest(ME, 0.1, 0.1) == 0.1
    assert company.rest(ME, 60.0, 0.1) == MOST
    company.works(ME, 0.15)
    company.works(ME, 0.2)
    assert company.rest(ME, 0.1, 0.2) == 0.1
    assert company.rest(THIRD, 0.1, 0.2) == 0.1


def test_company_that_worked_long_ago_is_none() -> None:
    company = Company()
    company.works(OTHER, 0.0)
    company.works(ME, LATELY)
    assert company.rest(ME, 0.1, LATELY) == 0


def test_a_company_counts_who_joined() -> None:
    company = Company()
    for number in (1, 2, 3):
        company.join()
        assert company.mirrors == number


def test_passes_now_and_then_need_no_rest() -> None:
    company, took = Company(), 0.02
    share, now = Share(company, ME), 0.0
    for _ in range(100):
        company.works(OTHER, now)
        assert share.rest(now) == 0
        share.took(now, now + took)
        now += PART * took


def test_who_goes_on_and_on_gets_a_quarter_of_the_time_while_others_work() -> None:
    company, took = Company(), 0.04
    share, now, worked = Share(company, ME), 0.0, 0.0
    while now < 100:
        share.took(now, now + took)
        now, worked = now + took, worked + took
        company.works(OTHER, now)
        now += share.rest(now)
    assert 0.25 <= worked / now < 0.26  # with what it had in advance


def test_nobody_rests_alone_and_nobody_long() -> None:
    company = Company()
    share = Share(company, ME)
    share.took(0.0, 60.0)
    assert share.rest(60.0) == 0
    company.works(OTHER, 60.0)
    assert share.rest(60.0) == MOST
    assert share.rest(60.0 + MOST) == 0
    company.works(OTHER, 60.4 + MOST + CREDIT)
    share.took(60.0 + MOST + CREDIT, 60.4 + MOST + CREDIT)
    assert share.rest(60.4 + MOST + CREDIT) == pytest.approx(PART * 0.4 - 0.4 - CREDIT)
