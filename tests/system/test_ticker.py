"""`notify = "ticker"`: transactions ring no bell, one daemon does, and those who listen notice no difference."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mirrord.db.database import Database, app_dsn
from mirrord.db.notify_channel import TICK_SECONDS, run_ticker, set_notify
from mirrord.db.tenant_rows import ensure_tenant
from mirrord.domain.entry import TenantId
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import add_page, value
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Connection
from tests.system.test_feed import bell, rung

_TICKER = (
    "SELECT pid FROM pg_locks JOIN pg_database d ON d.oid = database "
    "WHERE locktype = 'advisory' AND granted AND datname = current_database()"
)


@pytest.fixture
async def own_tenant(fresh_dsn: str) -> TenantId:
    """The only tenant of a database of its own."""
    async with Database(fresh_dsn, size=1) as opened:
        return await ensure_tenant(opened, "ticks")


async def heard(listener: Connection) -> list[str]:
    """The numbers of changes until one is heard and nothing more came for a moment."""
    return await asyncio.to_thread(lambda: [note.payload for note in listener.notifies(timeout=60, stop_after=1)])


async def test_the_setting_silences_transactions_and_can_be_taken_back(
    fresh_dsn: str, own_tenant: TenantId, connect: Callable[[str], Connection]
) -> None:
    listener = connect(app_dsn(fresh_dsn, own_tenant))
    channel = bell(listener, own_tenant)
    assert await set_notify(fresh_dsn, "ticker") is None
    silent = connect(app_dsn(fresh_dsn, own_tenant))
    add_page(silent)
    assert rung(listener, silent, channel) == []
    assert await set_notify(fresh_dsn, "commit") is None
    loud = connect(app_dsn(fresh_dsn, own_tenant))
    add_page(loud)
    assert rung(listener, loud, channel) == ["2"]


async def test_who_may_not_set_it_is_told_the_statement(fresh_dsn: str, own_tenant: TenantId) -> None:
    sentence = await set_notify(app_dsn(fresh_dsn, own_tenant), "ticker")
    assert sentence is not None
    assert "SET mirrord.notify = 'ticker'" in sentence


async def test_a_daemon_rings_for_a_transaction_that_did_not_and_another_takes_over(
    fresh_dsn: str, own_tenant: TenantId, connect: Callable[[str], Connection]
) -> None:
    stop, admin = asyncio.Event(), connect(fresh_dsn)
    listener, app = connect(app_dsn(fresh_dsn, own_tenant)), connect(app_dsn(fresh_dsn, own_tenant))
    bell(listener, own_tenant)
    app.execute("SET mirrord.notify = 'ticker'")
    first = asyncio.create_task(run_ticker(fresh_dsn, stop))
    assert await heard(listener) == ["0"]  # whatever was before
    second = asyncio.create_task(run_ticker(fresh_dsn, stop))
    add_page(app)
    assert await heard(listener) == ["1"]
    admin.execute("SELECT pg_terminate_backend(%s)", [value(admin, _TICKER)])
    assert isinstance((await asyncio.gather(first, return_exceptions=True))[0], Exception)
    assert await heard(listener) == ["1"]
    add_page(app)
    assert await heard(listener) == ["2"]
    stop.set()
    await second


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    (tmp_path / "mirrord.toml").write_text('notify = "ticker"\n')
    with Near(tmp_path, tenant="ticks", dsn=fresh_dsn) as started:
        started.up()
        yield started


def test_a_daemon_in_ticker_mode_syncs_and_rings_seldom(mirrord: Mirrord, connect: Callable[[str], Connection]) -> None:
    tenant = TenantId(value(mirrord.app, "SELECT id FROM mirrord.tenant"))
    listener = connect(mirrord.app_dsn)
    channel = bell(listener, tenant)
    save(mirrord.file("Page.md"), "one\n")
    eventually(lambda: mirrord.page("Page.md"), "the row")
    mirrord.flush()
    rung(listener, mirrord.app, channel)
    began = time.monotonic()
    for number in range(60):
        mirrord.app.execute("UPDATE mirrord.page SET markdown = %s WHERE name = 'Page'", [f"{number}\n"])
    eventually(lambda: mirrord.text("Page.md") == "59\n", "the last text")
    mirrord.flush()
    rings = rung(listener, mirrord.app, channel)
    assert 1 <= len(rings) <= (time.monotonic() - began) / TICK_SECONDS + 1  # one may be of a change before
