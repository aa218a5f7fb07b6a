"""What another dialect said is forgotten whole, however many batches that takes."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from mirrord.db.content import dialect_rows
from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from tests.support.entries import add_page, value
from tests.support.rows import Connection

DOCUMENT = Jsonb({"type": "doc", "content": []})
PAGES = 5


@pytest.fixture
def pages(daemon_connection: Connection) -> list[UUID]:
    """Pages with a document and a link each."""
    names = [f"page{number}" for number in range(PAGES)]
    entries = [add_page(daemon_connection, name=name, name_key=name, content=DOCUMENT) for name in names]
    daemon_connection.execute(
        "INSERT INTO mirrord.page_link (source_id, number, target, kind, due)"
        " SELECT id, 0, 'a', 'wikilink', false FROM unnest(%s::uuid[]) AS id",
        [entries],
    )
    return entries


async def _count_batches(database: Database, tenant: TenantId, forget: Callable[..., Awaitable[bool]]) -> int:
    """The number of batches until nothing is left."""
    for count in range(PAGES + 1):
        async with database.transaction(tenant) as connection:
            if not await forget(connection, tenant):
                return count
    return PAGES + 1


async def test_all_documents_are_forgotten_in_batches(
    database: Database, tenant: TenantId, daemon_connection: Connection, pages: list[UUID], monkeypatch: Any
) -> None:
    monkeypatch.setattr(dialect_rows, "BATCH_DOCUMENTS", 2)
    query = "SELECT count(*) FROM mirrord.page WHERE id = ANY (%s) AND content IS NOT NULL"
    assert value(daemon_connection, query, pages) == PAGES

    assert await _count_batches(database, tenant, dialect_rows.forget_documents) == 3
    assert value(daemon_connection, query, pages) == 0


async def test_all_links_are_looked_up_again_in_batches(
    database: Database, tenant: TenantId, daemon_connection: Connection, pages: list[UUID], monkeypatch: Any
) -> None:
    monkeypatch.setattr(dialect_rows, "BATCH_LINKS", 2)

    assert await _count_batches(database, tenant, dialect_rows.forget_meanings) == 3
    query = "SELECT count(*) FROM mirrord.page_link WHERE source_id = ANY (%s) AND NOT due"
    assert value(daemon_connection, query, pages) == 0
