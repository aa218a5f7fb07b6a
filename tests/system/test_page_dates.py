"""The view page_dates: dates of front matter where there are some, else the times of the row."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from mirrord.db.database import app_dsn
from mirrord.domain.entry import TenantId
from tests.support.rows import Connection

DATES = (
    "SELECT d.created, d.updated, p.created_at, p.updated_at FROM page_dates AS d JOIN page AS p USING (tenant_id, id)"
)


def dates_of(app: Connection, front_matter: dict[str, Any]) -> tuple[Any, ...]:
    """The dates of a new page with this front matter in the view, and the times of its row."""
    app.execute("SET TIME ZONE 'UTC'")
    insert = "INSERT INTO page (name, frontmatter) VALUES (gen_random_uuid()::text, %s) RETURNING id"
    page = app.execute(insert, [Jsonb(front_matter)]).fetchone()
    dates = app.execute(f"{DATES} WHERE d.id = %s".encode(), page).fetchone()
    assert dates is not None
    return dates


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2019-04-01", datetime(2019, 4, 1, tzinfo=UTC)),
        ("2019-04-01T14:30", datetime(2019, 4, 1, 14, 30, tzinfo=UTC)),
        ("2019-04-01 14:30:05.5", datetime(2019, 4, 1, 14, 30, 5, 500_000, tzinfo=UTC)),
        ("2019-04-01T14:30:00+02:00", datetime(2019, 4, 1, 12, 30, tzinfo=UTC)),
        ("2019-04-01T14:30:00Z", datetime(2019, 4, 1, 14, 30, tzinfo=UTC)),
    ],
)
def test_dates_of_front_matter_stand_before_those_of_the_row(
    app_connection: Connection, written: str, moment: datetime
) -> None:
    created, updated, _, _ = dates_of(app_connection, {"created": written, "updated": written})
    assert (created, updated) == (moment, moment)


@pytest.mark.parametrize(
    "value", ["2019-02-30", "2019-13-01", "2019-04-01T25:00", "2019", "soon", "infinity", "now", "", 20190401, None, []]
)
def test_what_is_no_date_leaves_the_times_of_the_row(app_connection: Connection, value: object) -> None:
    created, updated, created_at, updated_at = dates_of(app_connection, {"created": value, "updated": value})
    assert (created, updated) == (created_at, updated_at)


def test_a_page_was_not_changed_in_the_future(app_connection: Connection) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    _, updated, _, updated_at = dates_of(app_connection, {"updated": tomorrow})
    assert updated == updated_at


def test_pages_of_other_tenants_are_not_in_the_view(
    app_connection: Connection, admin_dsn: str, other_tenant: TenantId, connect: Callable[[str], Connection]
) -> None:
    dates_of(app_connection, {"created": "2019-04-01"})
    dates_of(connect(app_dsn(admin_dsn, other_tenant)), {"created": "2020-04-01"})
    created = app_connection.execute("SELECT created FROM page_dates").fetchall()
    assert created == [(datetime(2019, 4, 1, tzinfo=UTC),)]
