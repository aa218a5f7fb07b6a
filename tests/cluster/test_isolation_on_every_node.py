"""Tenants are apart on every node, also for an app that reaches a worker directly."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.support.citus_nodes import CitusCluster, Node
from tests.support.entries import value
from tests.support.rows import Connection

NODES = ("coordinator", "worker 1", "worker 2")


@pytest.fixture(params=range(len(NODES)), ids=NODES)
def node(request: pytest.FixtureRequest, citus: CitusCluster) -> Node:
    return citus.nodes[int(request.param)]


@pytest.fixture(scope="module")
def pair(citus: CitusCluster, tenants: Callable[[], UUID]) -> tuple[UUID, UUID]:
    """Two tenants on different workers, each with a page."""
    first = tenants()
    second = tenants()
    while _worker_of(citus, second) == _worker_of(citus, first):
        second = tenants()
    for tenant in (first, second):
        with app_of(citus.coordinator, tenant) as app:
            app.execute("INSERT INTO mirrord.page (tenant_id, title, markdown) VALUES (%s, 'Own', 'own')", [tenant])
    return first, second


@contextmanager
def app_of(node: Node, tenant: UUID | None) -> Iterator[Connection]:
    """An app's transaction on *node*."""
    with psycopg.connect(node.dsn("migrated", "mirrord_app")) as connection, connection.transaction():
        if tenant is not None:
            connection.execute(f"SET LOCAL mirrord.tenant = '{tenant}'".encode())
        yield connection


def _worker_of(citus: CitusCluster, tenant: UUID) -> object:
    with psycopg.connect(citus.dsn(database="migrated")) as connection:
        shard = "get_shard_id_for_distribution_column('mirrord.page', %s::uuid)"
        return value(connection, f"SELECT nodeport FROM citus_shards WHERE shardid = {shard}", tenant)


def test_an_app_reads_its_own_rows_only(node: Node, pair: tuple[UUID, UUID]) -> None:
    with app_of(node, pair[0]) as app:
        assert value(app, "SELECT count(*) FROM mirrord.page WHERE tenant_id = %s", pair[0]) == 1
        assert value(app, "SELECT count(*) FROM mirrord.page WHERE tenant_id = %s", pair[1]) == 0
        assert value(app, "SELECT count(*) FROM mirrord.page") == 1


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE mirrord.page SET title = 'taken' WHERE tenant_id = %s RETURNING id",
        "DELETE FROM mirrord.page WHERE tenant_id = %s RETURNING id",
        "SELECT id FROM mirrord.page_revision WHERE tenant_id = %s",
        "SELECT tenant_id FROM mirrord.entry_feed WHERE tenant_id = %s",
        "SELECT tenant_id FROM mirrord.tenant_clock WHERE tenant_id = %s",
    ],
)
def test_an_app_reaches_no_row_of_another_tenant(node: Node, pair: tuple[UUID, UUID], statement: str) -> None:
    statement = statement.replace("SELECT id FROM mirrord.page_revision", "SELECT page_id FROM mirrord.page_revision")
    with app_of(node, pair[0]) as app:
        assert app.execute(statement.encode(), [pair[1]]).fetchall() == []


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO mirrord.page (tenant_id, title) VALUES (%s, 'intruder')",
        "INSERT INTO mirrord.page (tenant_id, title) SELECT %s, 'intruder' FROM generate_series(1, 3)",
        "INSERT INTO mirrord.event (tenant_id, type) SELECT %s, 'Intruder' FROM generate_series(1, 3)",
    ],
)
def test_an_app_adds_no_row_to_another_tenant(
    node: Node, pair: tuple[UUID, UUID], statement: str, superuser: Connection
) -> None:
    before = _counts(superuser, pair[1])
    with pytest.raises(psycopg.Error), app_of(node, pair[0]) as app:
        app.execute(statement.encode(), [pair[1]])
    assert _counts(superuser, pair[1]) == before


def test_copy_adds_no_row_to_another_tenant(node: Node, pair: tuple[UUID, UUID], superuser: Connection) -> None:
    before = _counts(superuser, pair[1])
    with pytest.raises(psycopg.Error), app_of(node, pair[0]) as app:
        _copy_events(app, pair[1])
    assert _counts(superuser, pair[1]) == before


def test_a_forgotten_tenant_is_an_error(node: Node, pair: tuple[UUID, UUID]) -> None:
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"mirrord\.tenant is not set"),
        app_of(node, None) as app,
    ):
        app.execute("SELECT count(*) FROM mirrord.page WHERE tenant_id = %s", [pair[0]])


def _copy_events(app: Connection, tenant: UUID) -> None:
    with app.cursor() as cursor, cursor.copy("COPY mirrord.event (tenant_id, id, type) FROM STDIN") as copy:
        for _ in range(3):
            copy.write_row((tenant, uuid4(), "Intruder"))


def _counts(superuser: Connection, tenant: UUID) -> list[int]:
    return [
        value(superuser, f"SELECT count(*) FROM mirrord.{table} WHERE tenant_id = %s", tenant)
        for table in ("page", "event")
    ]
