"""A daemon that stands still, as a stopped process and a paused machine do, must not make apps stand still."""

from uuid import UUID

import pytest

from mirrord.db import database as connect
from mirrord.db.database import Database
from mirrord.domain.entry import TenantId
from mirrord.errors import Unavailable
from tests.support.entries import add_page, change, value
from tests.support.rows import Connection


async def test_a_daemon_frozen_amid_a_transaction_holds_up_no_app_for_longer_than_its_timeout(
    admin_dsn: str, tenant: TenantId, app_connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "TRANSACTION_TIMEOUT_SECONDS", 1)
    page = add_page(app_connection)
    with pytest.raises(Unavailable):
        await freeze_with_a_lock(admin_dsn, tenant, page, app_connection)
    assert value(app_connection, "SELECT markdown FROM mirrord.page WHERE id = %s", page) == "by the app\n"


async def freeze_with_a_lock(dsn: str, tenant: TenantId, page: UUID, app: Connection) -> None:
    """The daemon's event loop stands while the app's statement waits for the lock that the daemon holds."""
    async with Database(dsn) as database, database.transaction(tenant) as connection:
        locked = await connection.execute("SELECT id FROM mirrord.page WHERE id = %s FOR UPDATE", (page,))
        assert await locked.fetchone() == (page,)
        change(app, page, markdown="by the app\n")
        await connection.execute("SELECT 1")
