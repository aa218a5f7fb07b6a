"""Arrays as Postgres writes them."""

from uuid import UUID

import psycopg
import pytest

from mirrord.db.array_texts import array_of

FIRST, LAST = UUID(int=1), UUID(int=2**128 - 1)


@pytest.mark.parametrize("ids", [[], [FIRST], [FIRST, LAST, FIRST]])
def test_postgres_reads_the_ids_that_were_written(admin_dsn: str, ids: list[UUID]) -> None:
    with psycopg.connect(admin_dsn) as connection:
        assert connection.execute("SELECT %s::uuid[]", [array_of(ids)]).fetchone() == (ids,)


@pytest.mark.parametrize("numbers", [[], [0], [1, -2, 2**63 - 1]])
def test_postgres_reads_the_numbers_that_were_written(admin_dsn: str, numbers: list[int]) -> None:
    with psycopg.connect(admin_dsn) as connection:
        assert connection.execute("SELECT %s::bigint[]", [array_of(numbers)]).fetchone() == (numbers,)
