"""
A real Postgres for tests: one embedded cluster a session, one migrated database in it, tenants of its own a test.

Tenants are what mirrord keeps apart anyway; a test that is about the database as a whole asks for one of its own.
"""

import asyncio
import gc
import itertools
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mirrord.db import tenant_rows
from mirrord.db.database import Database, app_dsn, daemon_dsn
from mirrord.db.server.embedded_server import EmbeddedPostgres
from mirrord.domain.entry import TenantId
from tests.support.clusters import TEMPLATE, place_cluster
from tests.support.compiling import import_share
from tests.support.memory import memory_directory, remove_memory_directories
from tests.support.rows import Connection

# Machines here are shared and noisy: laws hold or do not, however long it takes.
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])  # of `make laws`
settings.register_profile("usual", settings.get_profile("full"), max_examples=25)
settings.register_profile("quick", settings.get_profile("full"), max_examples=20)  # of `make check`
# Of mutants: that an example fails is enough, and none is made small for a person to read.
settings.register_profile("unshrunk", settings.get_profile("usual"), phases=[Phase.explicit, Phase.generate])
settings.load_profile("usual")

_numbers = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the runs in the Makefile."""
    help_text = "Of the cases of tests/system/places play the half that belongs to NUMBER, an even or odd one."
    parser.addoption("--half-of-places", metavar="NUMBER", type=int, help=help_text)


def pytest_configure() -> None:
    """Daemons under test end when their terminal hangs up, also where the run itself was started by nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection(session: pytest.Session) -> None:
    """Nothing of what is collected goes again: nobody looks for garbage meanwhile."""
    gc.disable()
    import_share(session.config)


def pytest_collection_finish() -> None:
    """Whoever looks for garbage later, in copies of this process too, leaves out what was collected."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """The memory of a worker, and at last that of the run, is given back."""
    remove_memory_directories()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """A running embedded Postgres, with no schema in its database `mirrord`."""
    data = memory_directory("data") or tmp_path_factory.mktemp("data")
    place_cluster(data)
    embedded = EmbeddedPostgres(data)
    embedded.start()
    with _administered(embedded) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")  # no test of this cluster pulls the plug
        connection.execute("ALTER SYSTEM SET autovacuum = off")  # a database lives for seconds
        connection.execute("SELECT pg_reload_conf()")
    yield embedded
    embedded.stop()


@pytest.fixture(scope="session")
def admin_dsn(cluster: EmbeddedPostgres) -> str:
    """A superuser's connection string to the migrated database that tests share."""
    return _create_database(cluster, TEMPLATE)


@pytest.fixture
def empty_dsn(cluster: EmbeddedPostgres) -> Iterator[str]:
    """A superuser's connection string to a database without a schema that only this test uses."""
    dsn = _create_database(cluster, "template1")
    yield dsn
    _drop_database(cluster, dsn)


@pytest.fixture
def fresh_dsn(cluster: EmbeddedPostgres) -> Iterator[str]:
    """A superuser's connection string to a migrated database that only this test uses."""
    dsn = _create_database(cluster, TEMPLATE)
    yield dsn
    _drop_database(cluster, dsn)


@pytest.fixture(scope="module")
def module_dsn(cluster: EmbeddedPostgres) -> Iterator[str]:
    """A superuser's connection string to a migrated database that only the tests of one module use."""
    dsn = _create_database(cluster, TEMPLATE)
    yield dsn
    _drop_database(cluster, dsn)


@pytest.fixture
async def database(admin_dsn: str) -> AsyncIterator[Database]:
    """The shared database as the daemon uses it."""
    async with Database(admin_dsn) as opened:
        yield opened


@pytest.fixture(scope="session")
def add_tenant(admin_dsn: str) -> Iterator[Callable[[], TenantId]]:
    """Adds tenants to the shared database over a connection that stays: opening one takes longer than a small test."""
    dsn = make_conninfo(admin_dsn, application_name="tests")
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        database = runner.run(_open_database(dsn))
        yield lambda: runner.run(tenant_rows.ensure_tenant(database, f"tenant-{next(_numbers)}"))
        runner.run(database.pool.close())


@pytest.fixture
def tenant(add_tenant: Callable[[], TenantId]) -> TenantId:
    """A tenant of this test's own."""
    return add_tenant()


@pytest.fixture
def other_tenant(add_tenant: Callable[[], TenantId]) -> TenantId:
    """A second one, whose business the rows of the first are not."""
    return add_tenant()


@pytest.fixture
def connect() -> Iterator[Callable[[str], Connection]]:
    """Opens connections, each statement a transaction of its own unless begun otherwise; all end with the test."""
    with ExitStack() as opened:

        def connect_to(dsn: str) -> Connection:
            connection = opened.enter_context(psycopg.connect(dsn, autocommit=True))
            connection.execute("SET statement_timeout = '20s'")  # who waits in vain for a lock fails instead
            return connection

        yield connect_to


@pytest.fixture
def app_connection(admin_dsn: str, tenant: TenantId, connect: Callable[[str], Connection]) -> Connection:
    """What an app of the tenant has: logged in as mirrord_app, its tenant set."""
    return connect(app_dsn(admin_dsn, tenant))


@pytest.fixture
def daemon_connection(admin_dsn: str, tenant: TenantId, connect: Callable[[str], Connection]) -> Connection:
    """What mirrord's own transactions of the tenant have."""
    daemon_info = conninfo_to_dict(daemon_dsn(admin_dsn))
    options = f"{daemon_info['options']} -c mirrord.tenant={tenant} -c mirrord.cascade=off"
    return connect(make_conninfo("", **{**daemon_info, "options": options}))


def _administered(cluster: EmbeddedPostgres) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(cluster.dsn(database="postgres"), autocommit=True)


def _create_database(cluster: EmbeddedPostgres, template: str) -> str:
    name = f"test_{next(_numbers)}"
    database_name = sql.Identifier(name)
    with _administered(cluster) as connection:
        # Copying files costs less than half of logging each of their pages.
        copied = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        connection.execute(copied.format(database_name, sql.Identifier(template)))
        connection.execute(sql.SQL("ALTER DATABASE {} SET search_path = mirrord, public").format(database_name))
        connection.execute(sql.SQL("REVOKE CREATE, TEMPORARY ON DATABASE {} FROM PUBLIC").format(database_name))
    return cluster.dsn(database=name)


def _drop_database(cluster: EmbeddedPostgres, dsn: str) -> None:
    name = sql.Identifier(str(conninfo_to_dict(dsn)["dbname"]))
    with _administered(cluster) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


async def _open_database(dsn: str) -> Database:
    return await Database(dsn, size=1, checked=True).__aenter__()
