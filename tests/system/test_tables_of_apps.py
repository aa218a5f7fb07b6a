"""Tables that an app keeps beside those of mirrord: the statements of docs/rows.md, “Tables of your own”."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from mirrord.db import tenant_rows
from mirrord.db.database import Database, app_dsn
from mirrord.domain.entry import TenantId
from tests.support.entries import value
from tests.support.rows import Connection

ROWS = Path(__file__).parents[2] / "docs" / "rows.md"


def statements_of_guide() -> str:
    """The first block of SQL below the heading."""
    guide = ROWS.read_text(encoding="utf-8").partition("## Tables of your own")[2]
    block = re.search(r"```sql\n(.*?)```", guide, re.DOTALL)
    assert block is not None
    return block.group(1)


async def _add_tenants(dsn: str) -> list[TenantId]:
    async with Database(dsn) as database:
        return [await tenant_rows.ensure_tenant(database, name) for name in ("first", "second")]


@pytest.fixture
def tenants(fresh_dsn: str, connect: Callable[[str], Connection]) -> tuple[Connection, Connection, Connection]:
    """A superuser, and the app as two tenants, after the statements of the guide."""
    admin = connect(fresh_dsn)
    admin.execute("DROP ROLE IF EXISTS shop_migrator")
    admin.execute(statements_of_guide().encode())
    ids = asyncio.run(_add_tenants(fresh_dsn))
    first, second = (connect(app_dsn(fresh_dsn, tenant)) for tenant in ids)
    return admin, first, second


def test_rows_of_an_app_belong_to_pages_and_tenants(tenants: tuple[Connection, Connection, Connection]) -> None:
    admin, first, second = tenants
    page = value(first, "INSERT INTO mirrord.page (name, markdown) VALUES ('Tea', 'Green.') RETURNING id")
    first.execute("INSERT INTO shop.review (page_id, stars, note) VALUES (%s, 5, 'Loved the leaves')", [page])
    assert value(second, "SELECT count(*) FROM shop.review") == 0
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        second.execute("INSERT INTO shop.review (page_id, stars) VALUES (%s, 1)", [page])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        second.execute(
            "INSERT INTO shop.review (tenant_id, page_id, stars) SELECT tenant_id, id, 1 FROM "
            "(VALUES (%s::uuid, %s::uuid)) AS v (tenant_id, id)",
            [value(admin, "SELECT id FROM mirrord.tenant WHERE name = 'first'"), page],
        )
    query_of_words = "SELECT page_id FROM shop.review WHERE words @@ websearch_to_tsquery('english', 'loving')"
    assert value(first, query_of_words) == page
    dated = "SELECT d.created IS NOT NULL FROM shop.review JOIN mirrord.page_dates AS d ON d.id = shop.review.page_id"
    assert value(first, dated) is True


def test_a_page_that_is_removed_for_good_takes_the_rows_of_the_app_along(
    tenants: tuple[Connection, Connection, Connection],
) -> None:
    admin, first, _ = tenants
    page = value(first, "INSERT INTO mirrord.page (name, markdown) VALUES ('Tea', 'Green.') RETURNING id")
    first.execute("INSERT INTO shop.review (page_id, stars) VALUES (%s, 5)", [page])
    first.execute("UPDATE mirrord.page SET deleted_at = now() WHERE id = %s", [page])
    assert value(first, "SELECT count(*) FROM shop.review") == 1  # the page is a tombstone, and can be restored
    admin.execute("SET ROLE mirrord_daemon")
    tenant = value(first, "SELECT mirrord.current_tenant()")
    with admin.transaction():
        admin.execute(f"SET LOCAL mirrord.tenant = '{tenant}'".encode())
        admin.execute("DELETE FROM mirrord.page_revision WHERE page_id = %s", [page])
        admin.execute("DELETE FROM mirrord.page WHERE id = %s", [page])
    assert value(first, "SELECT count(*) FROM shop.review") == 0


def test_a_page_that_the_app_deletes_takes_its_rows_along(
    tenants: tuple[Connection, Connection, Connection],
) -> None:
    _, first, _ = tenants
    page = value(first, "INSERT INTO mirrord.page (name, markdown) VALUES ('Tea', 'Green.') RETURNING id")
    first.execute("INSERT INTO shop.review (page_id, stars) VALUES (%s, 5)", [page])
    first.execute("DELETE FROM mirrord.page WHERE id = %s", [page])
    assert value(first, "SELECT count(*) FROM shop.review") == 0


def test_the_role_that_migrates_the_app_reads_no_page(tenants: tuple[Connection, Connection, Connection]) -> None:
    admin, _, _ = tenants
    admin.execute("SET ROLE shop_migrator")
    admin.execute("ALTER TABLE shop.review ADD COLUMN answer text")
    for query in ("SELECT FROM mirrord.page", "ALTER TABLE mirrord.page ADD COLUMN mine text"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            admin.execute(query.encode())
