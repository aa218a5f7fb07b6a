"""The schema comes from nothing, once, and never from the future."""

import asyncio
import subprocess
import sys
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import Jsonb

from mirrord.db.database import daemon_dsn
from mirrord.db.migrate import check_current, load_migrations, migrate
from mirrord.errors import Unavailable, UserError
from tests.support.entries import value

NAMES = [migration.name for migration in load_migrations()]
NEWEST = load_migrations()[-1].number
LINKS = 7  # the migration that fills page_link
OLD_PAGE = (
    "INSERT INTO mirrord.page (name, name_key, markdown, digest, content) VALUES ('Page', 'page', '[[x]]', 'x', %s)"
)
MIGRATE = "import asyncio, sys; from mirrord.db.migrate import migrate; print(asyncio.run(migrate(sys.argv[1])))"


def test_migrations_are_numbered_without_gaps() -> None:
    assert [migration.number for migration in load_migrations()] == list(range(1, NEWEST + 1))


async def test_an_empty_database_gets_the_whole_schema_once(empty_dsn: str) -> None:
    assert await migrate(empty_dsn) == NAMES
    assert await migrate(empty_dsn) == []


async def test_the_database_finds_the_schema_without_its_name(empty_dsn: str) -> None:
    await migrate(empty_dsn)
    with psycopg.connect(empty_dsn) as connection:
        assert value(connection, "SELECT to_regclass('page')::oid = 'mirrord.page'::regclass::oid")


async def test_several_migrations_at_once_apply_each_file_once(empty_dsn: str) -> None:
    applied = await asyncio.gather(*(migrate(empty_dsn) for _ in range(4)))
    assert sorted(applied) == [[], [], [], NAMES]


def test_two_processes_that_migrate_at_once_apply_each_file_once(empty_dsn: str) -> None:
    command = [sys.executable, "-c", MIGRATE, empty_dsn]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = sorted(process.communicate(timeout=60)[0].strip() for process in processes)
    assert [process.returncode for process in processes] == [0, 0]
    assert said == sorted(["[]", str(NAMES)])


async def test_a_schema_from_the_future_is_refused_and_left_alone(fresh_dsn: str) -> None:
    with psycopg.connect(fresh_dsn, autocommit=True) as connection:
        connection.execute("INSERT INTO mirrord.migration (number, name) VALUES (9999, '9999_future.sql')")
        with pytest.raises(UserError, match=f"has schema 9999, this mirrord knows schemas up to {NEWEST}"):
            await migrate(fresh_dsn)
        assert value(connection, "SELECT count(*) FROM mirrord.migration") == len(NAMES) + 1


@pytest.mark.parametrize(("number", "said"), [(0, "mirrord migrate"), (NEWEST + 1, "Install a newer mirrord")])
def test_a_daemon_works_with_its_own_schema_only(number: int, said: str) -> None:
    check_current(NEWEST)
    with pytest.raises(UserError, match=said):
        check_current(number)


async def test_what_an_earlier_mirrord_left_is_completed(empty_dsn: str) -> None:
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        for migration in load_migrations()[:2]:
            connection.execute(migration.statements.encode())
            record = "INSERT INTO mirrord.migration (number, name) VALUES (%s, %s)"
            connection.execute(record, [migration.number, migration.name])
    assert await migrate(empty_dsn) == NAMES[2:]


async def test_pages_of_an_earlier_mirrord_are_derived_again_for_their_links(empty_dsn: str) -> None:
    tenants = [uuid4(), uuid4()]
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        for migration in load_migrations():
            if migration.number < LINKS:
                connection.execute(migration.statements.encode())
                record = "INSERT INTO mirrord.migration (number, name) VALUES (%s, %s)"
                connection.execute(record, [migration.number, migration.name])
        connection.execute("SET ROLE mirrord_daemon")
        for tenant in tenants:
            connection.execute(f"SET mirrord.tenant = '{tenant}'".encode())
            connection.execute("INSERT INTO mirrord.tenant (id, name) VALUES (%s, %s)", [tenant, f"t{tenant.hex}"])
            connection.execute("INSERT INTO mirrord.tenant_clock (tenant_id) VALUES (%s)", [tenant])
            connection.execute(OLD_PAGE, [Jsonb({"type": "doc"})])
    assert f"{LINKS:04}_links.sql" in await migrate(empty_dsn)
    with psycopg.connect(daemon_dsn(empty_dsn), autocommit=True) as connection:
        for tenant in tenants:
            connection.execute(f"SET mirrord.tenant = '{tenant}'".encode())
            pages = connection.execute("SELECT content, version, markdown FROM mirrord.page").fetchall()
            assert pages == [(None, 1, "[[x]]")]
            assert value(connection, "SELECT seq FROM mirrord.entry_feed") == 2


async def test_a_role_that_may_not_make_roles_is_told_so(empty_dsn: str) -> None:
    await migrate(empty_dsn)
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        connection.execute("DROP SCHEMA mirrord CASCADE")
    with pytest.raises(UserError, match="whose role may create roles and schemas"):
        await migrate(make_conninfo(empty_dsn, user="mirrord_app"))


async def test_a_role_that_owns_the_database_and_may_make_roles_can_migrate(empty_dsn: str, template: str) -> None:
    database = conninfo_to_dict(empty_dsn)["dbname"]
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        connection.execute("CREATE ROLE installer LOGIN CREATEROLE")
        # mirrord's roles are the cluster's and made by another database's migration: as if installer had made them
        connection.execute(
            "GRANT mirrord_owner, mirrord_definer, mirrord_daemon, mirrord_app TO installer WITH ADMIN OPTION"
        )
        connection.execute(f"ALTER DATABASE {database} OWNER TO installer".encode())
    installer = make_conninfo(empty_dsn, user="installer")
    assert await migrate(installer) == NAMES
    with psycopg.connect(daemon_dsn(installer)) as connection:
        assert value(connection, "SELECT count(*) FROM mirrord.tenant") == 0
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {database} OWNER TO postgres".encode())
        connection.execute("REASSIGN OWNED BY installer TO postgres")
        connection.execute("DROP OWNED BY installer")
        connection.execute("DROP ROLE installer")


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="out of reach"):
        await migrate("host=/nonexistent dbname=mirrord")
