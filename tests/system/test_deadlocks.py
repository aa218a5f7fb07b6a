"""An app and mirrord may wait for each other's rows: mirrord gives way, and tries again."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg
import pytest

from tests.support.entries import add_page, place, value
from tests.support.harness import eventually
from tests.support.rows import Connection

_WAITS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid = %s"


def _rename(connection: Connection, page: UUID, name: str) -> None:
    connection.execute("UPDATE mirrord.page SET name = %s WHERE id = %s", (name, page))


def test_an_app_that_writes_rows_in_another_order_than_mirrord_is_not_made_to_fail(
    app_connection: Connection, daemon_connection: Connection, admin_dsn: str
) -> None:
    first, other = (add_page(app_connection, name=name, markdown="text\n") for name in ("One", "Other"))
    for page, name in ((first, "One"), (other, "Other")):
        place(daemon_connection, page, name)
    with (
        psycopg.connect(admin_dsn, autocommit=True) as watching,
        ThreadPoolExecutor(1) as beside,
        app_connection.transaction(),
    ):
        _rename(app_connection, first, "First of the app's")
        daemon_connection.execute("BEGIN")
        _rename(daemon_connection, other, "Second of mirrord's")
        written = beside.submit(_rename, app_connection, other, "Second of the app's")
        eventually(lambda: value(watching, _WAITS, app_connection.info.backend_pid), "the app to wait", pause=0.01)
        with pytest.raises(psycopg.errors.LockNotAvailable):
            _rename(daemon_connection, first, "First of mirrord's")
        daemon_connection.execute("ROLLBACK")
        written.result(10)
    names = "SELECT array_agg(name ORDER BY name) FROM mirrord.page"
    assert value(app_connection, names) == ["First of the app's", "Second of the app's"]
