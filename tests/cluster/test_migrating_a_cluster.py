"""`mirrord migrate` on a Citus cluster: the same schema, spread by tenant; and what it says where that cannot be."""

import signal

import psycopg
import pytest
from psycopg import sql

from mirrord.db.cluster_plan import COORDINATOR_TABLES
from mirrord.db.database import Database
from mirrord.db.database_probe import probe_server
from mirrord.db.migrate import migrate, newest_number
from mirrord.db.tenant_rows import ensure_tenant, load_tenants
from mirrord.errors import Unavailable, UserError
from tests.support.citus_nodes import CitusCluster, Node
from tests.support.entries import value
from tests.support.rows import Connection

_SPREAD = """
SELECT logicalrelid::text, partmethod, colocationid, column_to_column_name(logicalrelid, partkey)
  FROM pg_dist_partition"""


def test_every_tenants_table_is_spread_by_tenant_in_one_group(migrated: str, superuser: Connection) -> None:
    spread = {name.removeprefix("mirrord."): columns for name, *columns in superuser.execute(_SPREAD).fetchall()}
    assert spread.pop("tenant")[0] == "n"
    tables = superuser.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'mirrord'::regnamespace AND relkind = 'r' "
        "AND relname !~ '_[0-9]+$' AND relname <> 'tenant'"
    )
    assert spread.keys() == {name for (name,) in tables.fetchall()} - COORDINATOR_TABLES
    assert {(method, column) for method, _, column in spread.values()} == {("h", "tenant_id")}
    assert len({group for _, group, _ in spread.values()}) == 1


_RIGHTS = """
SELECT oid::regprocedure::text, has_function_privilege('public', oid, 'EXECUTE'), proowner::regrole::text,
       proconfig, prosecdef, provolatile
  FROM pg_proc WHERE pronamespace = 'mirrord'::regnamespace ORDER BY 1"""
_TRIGGERS = """
SELECT tgrelid::regclass::text, tgname, tgtype FROM pg_trigger
 WHERE NOT tgisinternal AND tgrelid = ANY (ARRAY(SELECT logicalrelid FROM pg_dist_partition)) ORDER BY 1, 2"""


def test_every_node_has_the_functions_rights_and_triggers_of_the_coordinator(
    citus: CitusCluster, migrated: str, superuser: Connection
) -> None:
    superuser.execute("SET search_path = ''")
    triggers = set(superuser.execute(_TRIGGERS).fetchall())
    assert len(triggers) > 80
    for worker in citus.workers:
        with psycopg.connect(worker.dsn("migrated"), autocommit=True) as connection:
            connection.execute("SET search_path = ''")
            assert connection.execute(_RIGHTS).fetchall() == superuser.execute(_RIGHTS).fetchall()
            assert set(connection.execute(_TRIGGERS).fetchall()) == triggers


async def test_migrating_again_applies_nothing_and_keeps_everything(migrated: str, superuser: Connection) -> None:
    before = superuser.execute(_SPREAD + " ORDER BY 1").fetchall()
    assert await migrate(migrated) == []
    assert await migrate(migrated, onto_cluster=True) == []
    assert superuser.execute(_SPREAD + " ORDER BY 1").fetchall() == before


async def test_a_database_without_citus_is_refused_and_stays_empty(citus: CitusCluster) -> None:
    with psycopg.connect(citus.dsn(database="postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE plain")
    dsn = citus.dsn(database="plain")
    with pytest.raises(UserError, match="has no Citus"):
        await migrate(dsn, onto_cluster=True)
    assert not _has_schema(dsn)


async def test_a_database_that_has_tenants_on_one_server_keeps_them_there(citus: CitusCluster) -> None:
    with psycopg.connect(citus.dsn(database="postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE settled")
    dsn = citus.dsn(database="settled")
    assert await migrate(dsn) == ["schema"]
    async with Database(dsn, size=1) as database:
        await ensure_tenant(database, "settled")
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION citus")
    with pytest.raises(UserError, match="on one server"):
        await migrate(dsn, onto_cluster=True)
    assert await migrate(dsn) == []
    async with Database(dsn, size=1) as database:
        assert await load_tenants(database) != {}
        assert not database.is_cluster


async def test_a_worker_that_is_down_at_the_start_leaves_nothing_behind(citus: CitusCluster) -> None:
    dsn = citus.create_database("broken")
    citus.workers[1].end(signal.SIGQUIT)
    try:
        with pytest.raises(Unavailable, match=f"localhost:{citus.workers[1].port}"):
            await migrate(dsn)
        assert not _has_schema(dsn)
    finally:
        citus.workers[1].start()
    assert await migrate(dsn) == ["schema"]


async def test_an_older_schema_of_a_cluster_is_left_as_it_is(citus: CitusCluster) -> None:
    dsn = citus.create_database("older")
    assert await migrate(dsn) == ["schema"]
    async with Database(dsn, size=1) as database:
        await ensure_tenant(database, "older")
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("UPDATE mirrord.migration SET number = number - 1")
    with pytest.raises(UserError, match="not upgraded in place"):
        await migrate(dsn)
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert value(connection, "SELECT max(number) FROM mirrord.migration") == newest_number() - 1


def test_no_app_runs_commands_on_other_nodes(citus: CitusCluster, migrated: str) -> None:
    for node in citus.nodes:
        with psycopg.connect(node.dsn("migrated", "mirrord_app"), autocommit=True) as app:
            for function in ("run_command_on_workers", "run_command_on_all_nodes", "run_command_on_coordinator"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    app.execute(sql.SQL("SELECT {}('SELECT 1')").format(sql.Identifier(function)))


async def test_a_node_added_later_gets_rights_and_settings_by_migrating_again(
    citus: CitusCluster, migrated: str
) -> None:
    node = citus.add_worker()
    with psycopg.connect(node.dsn("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE migrated")
    with psycopg.connect(node.dsn("migrated"), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION citus")
    with psycopg.connect(migrated, autocommit=True) as connection:
        connection.execute("SELECT citus_add_node('localhost', %s)", [node.port])
    assert _may_run_commands(node)
    assert (await probe_server(migrated)).excess_app_rights == (
        f"Apps may run commands on other nodes from localhost:{node.port}.",
    )
    assert await migrate(migrated) == []
    assert (await probe_server(migrated)).excess_app_rights == ()
    assert not _may_run_commands(node)
    with psycopg.connect(node.dsn("migrated"), autocommit=True) as connection:
        assert value(connection, "SELECT current_setting('mirrord.cluster')") == "on"
        assert value(connection, "SELECT count(*) FROM mirrord.page") == 0


def _may_run_commands(node: Node) -> bool:
    with psycopg.connect(node.dsn("migrated"), autocommit=True) as connection:
        return bool(
            value(
                connection, "SELECT has_function_privilege('public', 'run_command_on_workers(text,boolean)', 'EXECUTE')"
            )
        )


def _has_schema(dsn: str) -> bool:
    with psycopg.connect(dsn) as connection:
        return bool(value(connection, "SELECT to_regnamespace('mirrord') IS NOT NULL"))
