"""A new database has the same schema as one that an older mirrord made and this one upgraded."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from mirrord.db.database import daemon_dsn
from mirrord.db.migrate import load_migrations, migrate, newest_number
from tests.support.catalogue import load_catalogue
from tests.support.entries import value
from tests.support.older import restore_dump
from tests.support.servers import Server, programs, served

VERSIONS = (15, 16, 18)


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with _serve(tmp_path_factory.mktemp("server"), request.param) as running:
        yield running


@pytest.fixture(params=VERSIONS)
def new_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """A server without mirrord's roles, and a role `installer` that may create roles and owns the database `own`."""
    with _serve(tmp_path, request.param) as running:
        with psycopg.connect(running.dsn(), autocommit=True) as superuser:
            superuser.execute("CREATE ROLE installer LOGIN CREATEROLE")
            superuser.execute("CREATE DATABASE own OWNER installer")
        yield running


async def test_a_role_that_is_no_superuser_creates_the_schema_and_its_roles(new_server: Server) -> None:
    installer = new_server.dsn("own", "installer")
    assert await migrate(installer) == ["schema"]
    with psycopg.connect(daemon_dsn(installer)) as daemon:
        assert value(daemon, "SELECT count(*) FROM mirrord.tenant") == 0


async def test_a_role_that_is_no_superuser_upgrades_the_schema_and_its_roles(new_server: Server) -> None:
    restore_dump(new_server.dsn("own"))
    with psycopg.connect(new_server.dsn(), autocommit=True) as superuser:
        superuser.execute("GRANT mirrord_owner, mirrord_daemon, mirrord_app TO installer WITH ADMIN OPTION")
    assert await migrate(new_server.dsn("own", "installer")) == [migration.name for migration in load_migrations()]


async def test_a_new_database_equals_an_upgraded_one(server: Server) -> None:
    new, upgraded = _create_database(server, "new"), _create_database(server, "upgraded")
    assert await migrate(new) == ["schema"]
    restore_dump(upgraded)
    assert await migrate(upgraded) == [migration.name for migration in load_migrations()]
    assert load_catalogue(new) == load_catalogue(upgraded)
    assert _load_numbers(new) == [newest_number()]
    assert _load_numbers(upgraded) == list(range(1, newest_number() + 1))


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE mirrord.page ADD COLUMN more text",
        "ALTER TABLE mirrord.page ALTER COLUMN title SET DEFAULT ''",
        "ALTER TABLE mirrord.page DROP CONSTRAINT page_is_not_its_own_parent",
        "ALTER TABLE mirrord.page DISABLE TRIGGER a_guard",
        "ALTER TABLE mirrord.page NO FORCE ROW LEVEL SECURITY",
        "ALTER POLICY app ON mirrord.page USING (true)",
        "DROP INDEX mirrord.page_children",
        "GRANT DELETE ON mirrord.event TO mirrord_app",
        "GRANT UPDATE (version) ON mirrord.page TO mirrord_app",
        "GRANT EXECUTE ON FUNCTION mirrord.ring TO mirrord_app",
        "GRANT CREATE ON SCHEMA mirrord TO mirrord_definer",
        "ALTER FUNCTION mirrord.ring RESET search_path",
        "ALTER FUNCTION mirrord.ring OWNER TO mirrord_owner",
        "CREATE OR REPLACE FUNCTION mirrord.entomb() RETURNS trigger LANGUAGE plpgsql "
        "SET search_path = pg_catalog, pg_temp AS $$ BEGIN RETURN OLD; END $$",
        "COMMENT ON TABLE mirrord.page IS 'pages'",
    ],
)
def test_the_comparison_notices(fresh_dsn: str, change: str) -> None:
    before = load_catalogue(fresh_dsn)
    with psycopg.connect(fresh_dsn, autocommit=True) as connection:
        connection.execute(change.encode())
    assert load_catalogue(fresh_dsn) != before


@contextmanager
def _serve(directory: Path, version: int) -> Iterator[Server]:
    if version not in programs():
        pytest.skip(f"Postgres {version} is not installed: its package is postgresql-{version}")
    with served(directory, version) as running:
        yield running


def _create_database(server: Server, name: str) -> str:
    with psycopg.connect(server.dsn(), autocommit=True) as superuser:
        superuser.execute(f"CREATE DATABASE {name}".encode())
    return server.dsn(name)


def _load_numbers(dsn: str) -> list[int]:
    with psycopg.connect(dsn) as connection:
        return [number for (number,) in connection.execute("SELECT number FROM mirrord.migration ORDER BY number")]
