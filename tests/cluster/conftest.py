"""One cluster at a time: a coordinator and two workers need as much memory as all other servers of a test run."""

import asyncio
import fcntl
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from mirrord.db.database import Database
from mirrord.db.migrate import migrate
from mirrord.db.tenant_rows import ensure_tenant
from tests.support.citus_nodes import CitusCluster, citus_directory, is_citus_built, served_cluster
from tests.support.memory import run_directory

_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """
    Put the tests of a cluster first: they wait for each other, so one worker plays them while others do the rest.

    Without Citus there is no cluster to test.
    """
    directory = Path(__file__).parent
    items.sort(key=lambda item: directory not in item.path.parents)
    if is_citus_built():
        return
    reason = f"Citus is not built in {citus_directory()}; `.ci/run` builds it"
    for item in items:
        if directory in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="module")
def citus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CitusCluster]:
    """A cluster of two workers, without a schema."""
    with ((run_directory() or tmp_path_factory.getbasetemp()) / "citus.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with served_cluster(tmp_path_factory.mktemp("citus")) as cluster:
            yield cluster


@pytest.fixture(scope="module")
def migrated(citus: CitusCluster) -> str:
    """A superuser's connection string to a migrated database of the cluster."""
    dsn = citus.create_database("migrated")
    assert asyncio.run(migrate(dsn)) == ["schema"]
    return dsn


@pytest.fixture(scope="module")
def tenants(citus: CitusCluster, migrated: str) -> Callable[[], UUID]:
    """Adds tenants to the migrated database."""

    async def add() -> UUID:
        async with Database(migrated, size=1) as database:
            return await ensure_tenant(database, f"tenant-{next(_numbers)}")

    return lambda: asyncio.run(add())


@pytest.fixture
def superuser(migrated: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Sees all rows: what tests compare with."""
    with psycopg.connect(migrated, autocommit=True) as connection:
        yield connection
