"""A daemon whose Postgres is a Citus cluster, and an app that names its tenant as apps have to there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import class_row

from tests.support.citus_nodes import CitusCluster
from tests.support.commands import Near
from tests.support.entries import value
from tests.support.rows import WALK_SQL, Page


class TenantConnection(psycopg.Connection[tuple[Any, ...]]):
    """An app's connection: each transaction begins with the tenant. A statement by itself is a transaction."""

    tenant: UUID

    @contextmanager
    def transaction(self, *arguments: Any, **options: Any) -> Iterator[psycopg.Transaction]:
        """A transaction of the tenant."""
        with super().transaction(*arguments, **options) as transaction:
            super().execute(f"SET LOCAL mirrord.tenant = '{self.tenant}'".encode())
            yield transaction

    def execute(self, query: Any, *arguments: Any, **options: Any) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run one statement, in a transaction of its own unless one is open."""
        if self.info.transaction_status != TransactionStatus.IDLE:
            return super().execute(query, *arguments, **options)
        with self.transaction():
            return super().execute(query, *arguments, **options)


class ClusterMirrord(Near):
    """A daemon on the database of a cluster."""

    def __init__(self, directory: Path, cluster: CitusCluster, database: str, *, tenant: str = "demo") -> None:
        """*database*: has Citus on every node, and no schema yet."""
        super().__init__(directory, tenant=tenant, dsn=cluster.dsn(database=database))
        self._app_login = cluster.dsn("mirrord_app", database)

    @property
    def tenant_id(self) -> UUID:
        """The id of its tenant, which exists once the daemon has been ready."""
        with psycopg.connect(self.dsn or "") as connection:
            tenant_id: UUID = value(connection, "SELECT id FROM mirrord.tenant WHERE name = %s", self.tenant)
        return tenant_id

    @property
    def app(self) -> TenantConnection:
        """An app's connection to the coordinator."""
        if self._app is None or self._app.closed or self._app.broken:
            self._app = TenantConnection.connect(self._app_login, autocommit=True, connect_timeout=30)
            self._app.tenant = self.tenant_id
        assert isinstance(self._app, TenantConnection)
        return self._app

    def page(self, path: str) -> Page | None:
        """The living row of a page by its path in the tree; None: there is none."""
        app, names = self.app, path.removesuffix(".md").removesuffix("/_index").split("/")
        pages = f"(SELECT * FROM mirrord.page WHERE tenant_id = '{app.tenant}') AS page"
        query = WALK_SQL.replace("mirrord.page", pages)
        with app.transaction(), app.cursor(row_factory=class_row(Page)) as cursor:
            return cursor.execute(query.encode(), {"names": names}).fetchone()
