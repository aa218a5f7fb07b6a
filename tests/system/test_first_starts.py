"""The first start of many tenants: what each asks Postgres for, and that nothing is overlooked because of it."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from mirrord.daemon.running_mirror import Watching
from mirrord.db import mirror_leases
from mirrord.db.database import Database
from mirrord.db.tenant_rows import ensure_tenants
from mirrord.domain.entry import MirrorId, TenantId, new_id
from mirrord.errors import Refused, UserError
from mirrord.mirror.heartbeat import FLUSH_SUFFIX, REQUESTS_DIRECTORY, list_requests
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY
from tests.support.commands import Near
from tests.support.harness import eventually
from tests.support.statement_log import StatementLog, list_names

NAMES = [f"tenant-{number}" for number in range(5)]
PAGES = 3
MAX_TRANSACTIONS = 11  # of a tenant until its pages, documents, links and events are there
_DONE = "SELECT count(*) FROM mirrord.page WHERE content IS NOT NULL"


def test_the_first_start_of_a_tenant_asks_postgres_only_for_what_can_be_there(tmp_path: Path) -> None:
    with Near(tmp_path) as mirrord:
        for name in NAMES:
            (mirrord.mirror / name).mkdir(parents=True)
            for page in range(PAGES):
                (mirrord.mirror / name / f"Page {page}.md").write_text(f"# Page {page}\n\nSee [[Page 0]].\n")
        mirrord.start()
        mirrord.stop()  # leaves a Postgres with the schema, whose log can be read from the beginning
        mirrord.postgres.start()
        log = StatementLog(mirrord)
        mirrord.start(*(word for name in NAMES for word in ("--tenant", name)))
        mirrord.wait_ready()
        with psycopg.connect(mirrord.postgres.dsn(), autocommit=True) as rows:
            eventually(lambda: rows.execute(_DONE).fetchone() == (len(NAMES) * PAGES,), "every document")
        sent = log.sent_until_rest()
    transactions = sent.by_name()["SET LOCAL mirrord.tenant"] / (len(NAMES) + 1)  # one is that of the harness
    assert transactions <= MAX_TRANSACTIONS, "\n".join(list_names(sent))


async def test_tenants_are_created_together_and_known_ones_stay(fresh_dsn: str) -> None:
    async with Database(fresh_dsn) as database:
        earlier_tenants = await ensure_tenants(database, ["known"])
        tenants = await ensure_tenants(database, ["new-2", "known", "new-1"])
        assert list(tenants) == ["new-2", "known", "new-1"]
        assert tenants["known"] == earlier_tenants["known"]
        assert await ensure_tenants(database, list(tenants)) == tenants
    with psycopg.connect(fresh_dsn) as rows:
        clocks = rows.execute(
            "SELECT tenant_id FROM mirrord.tenant_clock WHERE tenant_id = ANY (%s)", [[*tenants.values()]]
        )
        assert len(clocks.fetchall()) == len(tenants)


async def test_two_daemons_that_create_the_same_tenants_agree(fresh_dsn: str) -> None:
    async with Database(fresh_dsn) as first_database, Database(fresh_dsn) as second_database:
        first, second = await asyncio.gather(
            ensure_tenants(first_database, NAMES), ensure_tenants(second_database, NAMES[::-1])
        )
    assert first == second


async def test_no_tenant_is_created_if_one_name_is_bad(fresh_dsn: str) -> None:
    async with Database(fresh_dsn) as database:
        with pytest.raises(UserError):
            await ensure_tenants(database, ["good-name", "Bad Name"])
    with psycopg.connect(fresh_dsn) as rows:
        assert rows.execute("SELECT count(*) FROM mirrord.tenant WHERE name = 'good-name'").fetchone() == (0,)


async def test_a_refused_lease_leaves_the_place_of_its_holder(fresh_dsn: str) -> None:
    mirror = MirrorId(new_id())
    async with Database(fresh_dsn) as database:
        tenant = (await ensure_tenants(database, ["leased"]))["leased"]
        await mirror_leases.acquire_lease(database, tenant, mirror, "holder", root_locked=True, place=("host", "/root"))
        with pytest.raises(Refused):
            await mirror_leases.acquire_lease(
                database, tenant, mirror, "another", root_locked=False, place=("other", "/elsewhere")
            )
        assert await places_of(database, tenant) == [(mirror, "host", "/root")]


async def places_of(database: Database, tenant: TenantId) -> list[tuple[object, ...]]:
    return [(mirror, host, root) for mirror, host, root, _ in await mirror_leases.load_mirrors(database, tenant)]


async def test_a_request_waits_until_the_trees_are_open(tmp_path: Path) -> None:
    is_open, stop = asyncio.Event(), asyncio.Event()
    request = tmp_path / STATE_DIRECTORY / REQUESTS_DIRECTORY / f"one{FLUSH_SUFFIX}"
    request.parent.mkdir(parents=True)
    request.touch()
    watching = Watching(tmp_path, {}, {}, stop, is_open.is_set)
    watching.answer_requests()
    await asyncio.sleep(0)
    assert list_requests(tmp_path) == [request]
    is_open.set()
    watching.answer_requests()
    await asyncio.to_thread(eventually, lambda: not list_requests(tmp_path), "a request that is answered")
    stop.set()
