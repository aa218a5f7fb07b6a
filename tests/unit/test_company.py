from uuid import UUID

from mirrord.domain.entry import TenantId
from mirrord.sync.company import LATELY, MOST, Company

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
