"""Apps of many tenants hold transactions open: edits of another tenant take no longer than without."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from mirrord.daemon.daemon import MAX_CONNECTIONS
from mirrord.db.database import app_dsn
from mirrord.db.transactions import LOCK_TIMEOUT_MS
from mirrord.domain.entry import TenantId
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Connection

HELD = [f"held-{number}" for number in range(MAX_CONNECTIONS + 2)]
PAGES, EDITS, EDITS_PER_SECOND = 12, 24, 8
SLOW_SECONDS = LOCK_TIMEOUT_MS / 1000 / 2  # longer only if somebody waited for a lock, or the machine stood still
NOISE = 2  # edits that may be slow because the machine is
ATTEMPTS = 3  # a wait for an app comes each time, a busy moment of the machine does not

_TITLES = "UPDATE mirrord.page SET title = title || ', held'"
_NEW = "INSERT INTO mirrord.page (title, markdown) SELECT 'New ' || n, 'text' FROM generate_series(1, 2000) AS n"
HOLDS = {
    "the rows": [_TITLES],
    "the clock": ["SET CONSTRAINTS ALL IMMEDIATE", f"{_TITLES} WHERE name = 'P0'"],
    "new rows": [_NEW],
    "what was read": ["SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SELECT id FROM mirrord.page FOR UPDATE"],
}
QUICK = "the clock"  # in every run of the tests; it takes all that a tenant writes


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    with Near(tmp_path, tenant="free", dsn=fresh_dsn) as started:
        for tenant in ("free", *HELD):
            for number in range(PAGES):
                save(started.mirror / tenant / f"P{number}.md", f"# Page {number}\n")
        started.start(*(word for tenant in HELD for word in ("--tenant", tenant)))
        started.wait_ready()
        started.flush()
        yield started


@contextmanager
def held(dsn: str, statements: list[str]) -> Iterator[list[Connection]]:
    """A transaction of an app of each held tenant, which is undone in the end."""
    with psycopg.connect(dsn) as administered, ExitStack() as opened:
        rows = administered.execute("SELECT name, id FROM mirrord.tenant").fetchall()
        tenants = {name: TenantId(tenant) for name, tenant in rows}
        apps = [opened.enter_context(psycopg.connect(app_dsn(dsn, tenants[name]))) for name in HELD]
        for app in apps:
            opened.callback(app.rollback)
            for statement in statements:
                app.execute(statement.encode())
        yield apps


def edit_everywhere(mirrord: Mirrord) -> list[float]:
    """Seconds that edits of the free tenant take, of files and rows in turns; files of the others change meanwhile."""
    began, durations = time.monotonic(), []
    for number in range(EDITS):
        path, text = f"P{number % PAGES}.md", f"# Page {number % PAGES}\n\nEdit {number} after {began}.\n"
        for tenant in HELD:
            save(mirrord.mirror / tenant / path, text)
        durations.append(seconds_of_edit(mirrord, path, text, by_row=bool(number % 2)))
        time.sleep(max(0.0, began + number / EDITS_PER_SECOND - time.monotonic()))  # a person's own pace
    return durations


def seconds_of_edit(mirrord: Mirrord, path: str, text: str, *, by_row: bool) -> float:
    name = path.removesuffix(".md")
    began = time.perf_counter()
    if by_row:
        mirrord.app.execute("UPDATE mirrord.page SET markdown = %s WHERE name = %s", [text, name])
        eventually(lambda: mirrord.text(path) == text, f"the row of {path} in its file")
    else:
        save(mirrord.file(path), text)
        query = "SELECT FROM mirrord.page WHERE name = %s AND markdown = %s"
        eventually(lambda: mirrord.app.execute(query, [name, text]).rowcount, f"the file {path} in its row")
    return time.perf_counter() - began


def slow(durations: list[float]) -> list[float]:
    return [seconds for seconds in durations if seconds > SLOW_SECONDS]


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "hold", [pytest.param(name, marks=[] if name == QUICK else [pytest.mark.slow]) for name in HOLDS]
)
def test_a_tenant_does_not_wait_for_transactions_of_the_apps_of_others(mirrord: Mirrord, hold: str) -> None:
    slow_edits = [find_slow_edits(mirrord, hold)]
    while is_held_up(*slow_edits[-1]) and len(slow_edits) < ATTEMPTS:
        slow_edits.append(find_slow_edits(mirrord, hold))
    assert not is_held_up(*slow_edits[-1]), slow_edits


def find_slow_edits(mirrord: Mirrord, hold: str) -> tuple[list[float], list[float]]:
    """Seconds of slow edits without and beside transactions that are held."""
    without = edit_everywhere(mirrord)
    assert mirrord.dsn is not None
    with held(mirrord.dsn, HOLDS[hold]) as apps:
        beside = edit_everywhere(mirrord)
        assert all(app.info.transaction_status == TransactionStatus.INTRANS for app in apps)
    return slow(without), slow(beside)


def is_held_up(without: list[float], beside: list[float]) -> bool:
    return len(beside) > len(without) + NOISE


LEASE_ENDS = """
SELECT m.expires_at FROM mirrord.mirror AS m JOIN mirrord.tenant AS t ON t.id = m.tenant_id
 WHERE t.name = %s AND m.holder IS NOT NULL"""
LOCK_MIRROR = """
SELECT m.id FROM mirrord.mirror AS m JOIN mirrord.tenant AS t ON t.id = m.tenant_id
 WHERE t.name = %s FOR UPDATE OF m"""


def test_the_lease_of_an_open_tree_is_renewed_while_another_tree_cannot_be_opened(
    fresh_dsn: str, tmp_path: Path
) -> None:
    with Near(tmp_path, tenant="free", dsn=fresh_dsn) as mirrord:
        for tenant in ("free", "held"):
            save(mirrord.mirror / tenant / "Page.md", "# Page\n")
        mirrord.start("--tenant", "held")
        mirrord.wait_ready()
        mirrord.stop()
        with psycopg.connect(fresh_dsn) as app, psycopg.connect(fresh_dsn, autocommit=True) as observer:
            app.execute(LOCK_MIRROR, ["held"])
            mirrord.start("--tenant", "held")
            first = eventually(lambda: lease_end(observer, "free"), "the lease of the tree that is open", 60.0)
            eventually(lambda: (lease_end(observer, "free") or first) > first, "a later end of that lease", 60.0)
            assert lease_end(observer, "held") is None
        mirrord.wait_ready()


def lease_end(observer: Connection, tenant: str) -> datetime | None:
    """When the lease of a tenant's mirror ends; None: it has none."""
    row = observer.execute(LEASE_ENDS, [tenant]).fetchone()
    return row[0] if row else None
