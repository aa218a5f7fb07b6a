"""What the planner is told while an import runs, before autovacuum looks: docs/decisions/0005."""

import asyncio
from uuid import uuid4

import orjson
import pytest

from mirrord.db import tenant_rows
from mirrord.db.content import entry_states, entry_tables
from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from tests.support.entries import value
from tests.support.rows import Connection

FILL = """
INSERT INTO mirrord.mirror_base (tenant_id, mirror_id, entry_id, kind, path, name, version, digest)
SELECT mirrord.current_tenant(), %s, gen_random_uuid(), 'page', 'Folder/page ' || i || '.md', 'page ' || i, 1,
       decode(md5(i::text) || md5(i::text), 'hex')
  FROM generate_series(%s::integer, %s::integer) AS i"""
MIRROR = "SELECT id FROM mirrord.mirror WHERE tenant_id = mirrord.current_tenant()"
COUNTED = "SELECT reltuples::integer FROM pg_class WHERE oid = 'mirrord.mirror_base'::regclass"


@pytest.fixture
def admin_dsn(fresh_dsn: str) -> str:
    """Nobody else's rows are counted."""
    return fresh_dsn


@pytest.fixture
def tenant(admin_dsn: str) -> TenantId:
    """A tenant of that database."""

    async def add() -> TenantId:
        async with Database(admin_dsn) as database:
            return await tenant_rows.ensure_tenant(database, "statistics")

    return asyncio.run(add())


@pytest.fixture
def bases(daemon_connection: Connection) -> Connection:
    """A tenant with one mirror of 3,000 entries, written so fast that nobody has counted them."""
    mirror = uuid4()
    daemon_connection.execute(
        "INSERT INTO mirrord.mirror (tenant_id, id) VALUES (mirrord.current_tenant(), %s)", [mirror]
    )
    daemon_connection.execute(FILL.encode(), (mirror, 1, 3000))
    return daemon_connection


@pytest.mark.parametrize(
    ("column", "index"), [("path", "mirror_base_path_is_free"), ("digest", "mirror_base_by_digest")]
)
def test_bases_are_looked_up_by_their_own_index_once_they_are_counted(
    bases: Connection, column: str, index: str
) -> None:
    bases.execute("SELECT mirrord.keep_statistics()")

    assert index in _plan(bases, column)


def test_what_has_not_doubled_is_not_counted_again(bases: Connection) -> None:
    bases.execute("SELECT mirrord.keep_statistics()")
    mirror = value(bases, MIRROR)

    bases.execute(FILL.encode(), (mirror, 3001, 3100))
    bases.execute("SELECT mirrord.keep_statistics()")
    assert value(bases, COUNTED) == 3000
    bases.execute(FILL.encode(), (mirror, 3101, 9000))
    bases.execute("SELECT mirrord.keep_statistics()")
    assert value(bases, COUNTED) == 9000


async def test_many_small_writes_count_as_much_as_a_large_one(bases: Connection, database: Database) -> None:
    tenant = TenantId(value(bases, "SELECT mirrord.current_tenant()"))
    await entry_tables.keep_statistics(database, tenant, entry_tables.CHECK_AFTER_ROWS - 1)
    assert value(bases, COUNTED) == -1  # as Postgres spells that nobody did

    await entry_tables.keep_statistics(database, TenantId(uuid4()), 1)

    assert value(bases, COUNTED) == 3000


def _plan(connection: Connection, column: str) -> str:
    values = {
        "tenant": value(connection, "SELECT mirrord.current_tenant()"),
        "mirror": value(connection, MIRROR),
        column: orjson.dumps(["00" * 32]).decode(),
    }
    lines = connection.execute(f"EXPLAIN {entry_states.bases_query(column)}".encode(), values).fetchall()
    return "\n".join(line for (line,) in lines)
