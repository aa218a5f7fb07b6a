"""
A daemon whose lease is lost writes neither rows nor files, whatever it was about to do (docs/design/sync.md, Lease).
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mirrord import app
from mirrord.config import Config
from mirrord.db import mirror_leases
from mirrord.db.content.entry_states import LoadedEntries
from mirrord.db.database import Database, Lease
from mirrord.db.tenant_rows import ensure_tenant
from mirrord.documents.derivation_schedule import follow_batch
from mirrord.documents.document_derivation import Deriver, PageRate, Workers
from mirrord.domain.entry import MirrorId, TenantId, new_id
from mirrord.domain.measures import Work
from mirrord.errors import Fenced, Locked
from mirrord.sync import handshake as root_module
from mirrord.sync.decisions import guard
from mirrord.sync.engine import Engine
from mirrord.sync.engine_parts import IMPORT_ENTRIES
from mirrord.sync.lone_edits import read_feed
from mirrord.sync.observation import mirror_handles as sides_module
from mirrord.sync.observation.look_result import LookResult
from mirrord.sync.observation.observe import Dirty
from mirrord.telemetry.engine_reports import Pulses, States
from tests.support.editors import save
from tests.support.entries import add_page, change, delete, value
from tests.support.rows import Connection
from tests.support.trees import tree

WRITTEN = (
    "page",
    "page_revision",
    "attachment",
    "mirror_base",
    "problem",
    "halt",
    "conflict",
    "page_link",
    "link_name",
)
SAID, ROW = "SELECT state FROM mirrord.mirror", "SELECT xmin::text FROM mirrord.mirror"


@pytest.fixture
async def engine(database: Database, tenant: TenantId, tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine at work on a tree of its own in which everything is in sync."""
    opened = await app.open_mirror(database, Config(tmp_path / "mirror", tmp_path / "data"), "demo", tenant)
    for name in ("Edited", "Deleted", "By row", "Deleted row", "Moved", "Both"):
        save(opened.sides.tree.root / f"{name}.md", f"{name}, first\n")
    engine = Engine(opened.sides, is_adopting=opened.adopting)
    await engine.start()
    await _work(engine)
    yield engine
    opened.close()


def _edit(root: Path, _: Connection) -> None:
    save(root / "Edited.md", "Edited, second\n")


def _add(root: Path, _: Connection) -> None:
    save(root / "assets/new.png", b"new")


def _remove(root: Path, _: Connection) -> None:
    (root / "Deleted.md").unlink()


def _remove_many(root: Path, _: Connection) -> None:
    for file in root.glob("*.md"):
        file.unlink()


def _move(root: Path, _: Connection) -> None:
    (root / "Moved.md").rename(root / "Moved away.md")


def _damage(root: Path, _: Connection) -> None:
    (root / "Edited.md").write_bytes(b"\xff")


def _clash(root: Path, connection: Connection) -> None:
    save(root / "Both.md", "Both, by the file\n")
    change(connection, _page(connection, "Both"), markdown="Both, by the row\n")


def _write(_: Path, connection: Connection) -> None:
    change(connection, _page(connection, "By row"), markdown="By row, second\n")


def _title(_: Path, connection: Connection) -> None:
    change(connection, _page(connection, "By row"), title="Another")


def _rename(_: Path, connection: Connection) -> None:
    change(connection, _page(connection, "By row"), name="Renamed")


def _insert(_: Path, connection: Connection) -> None:
    add_page(connection, title="Made by an app", markdown="made\n")


def _delete(_: Path, connection: Connection) -> None:
    delete(connection, _page(connection, "Deleted row"))


async def _fence(engine: Engine, _: object = None) -> None:
    """Another daemon takes the mirror over, and this one does not know."""
    async with engine.sides.database.connection() as connection:
        await connection.execute("UPDATE mirrord.mirror SET token = token + 1 WHERE id = %s", (engine.sides.mirror,))


async def _lose_amid_a_pass(engine: Engine, patched: pytest.MonkeyPatch) -> None:
    """The daemon finds out, between the beginning of a pass and its first write, that it holds no lease."""
    take = engine.intake.take_chunk

    async def lose_and_read(*arguments: Any) -> list[LoadedEntries]:
        engine.sides.lease = None
        return await read_feed(*arguments)

    async def lose_and_take() -> tuple[Dirty, LookResult | None]:
        engine.sides.lease = None
        return await take()

    patched.setattr(engine.intake, "take_chunk", lose_and_take)
    patched.setattr("mirrord.sync.engine.read_feed", lose_and_read)


@pytest.mark.parametrize(
    "happens", [_edit, _add, _remove, _remove_many, _move, _damage, _clash, _write, _title, _rename, _insert, _delete]
)
@pytest.mark.parametrize("lose", [_fence, _lose_amid_a_pass], ids=["not-known", "known"])
async def test_whatever_was_to_be_carried_over_waits_for_the_lease(
    engine: Engine,
    app_connection: Connection,
    happens: Callable[[Path, Connection], None],
    lose: Callable[[Engine, pytest.MonkeyPatch], Awaitable[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = engine.sides.tree.root
    happens(root, app_connection)
    with monkeypatch.context() as patched:
        patched.setattr(sides_module, "FRESH_LEASE_SECONDS", -1.0)  # the last renewal is too old to write files by
        await lose(engine, patched)
        before = _state(app_connection, root)
        await _work(engine)
        assert _state(app_connection, root) == before
    await app.take_lease(engine.sides, root_locked=True)
    await _work(engine)
    assert _state(app_connection, root) != before


async def test_on_a_full_disk_files_go_to_rows_and_rows_wait(
    engine: Engine, app_connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = engine.sides.tree.root
    listed = "SELECT sentence FROM mirrord.problem WHERE code = 'disk'"
    with monkeypatch.context() as patched:
        patched.setattr(root_module, "OWN_STATE_SECONDS", 0.0)
        patched.setattr(guard, "MIN_FREE_BYTES", 1 << 60)
        patched.setattr(guard, "MIN_FREE_SHARE", 2.0)
        await engine.root.is_sound()
        _write(root, app_connection)
        _edit(root, app_connection)
        await _work(engine, once=True)
        assert (root / "By row.md").read_text() == "By row, first\n"
        assert "MiB are free" in value(app_connection, listed)
        assert value(app_connection, "SELECT markdown FROM mirrord.page WHERE name = 'Edited'") == "Edited, second\n"
        patched.setattr(guard, "MIN_FREE_BYTES", 0)
        await engine.root.is_sound()
    await _work(engine)
    assert (root / "By row.md").read_text() == "By row, second\n"
    assert value(app_connection, listed) is None


async def test_documents_and_links_wait_for_the_lease_too(engine: Engine, app_connection: Connection) -> None:
    workers = Workers()
    try:
        for work in (
            Deriver(engine.sides, workers, PageRate()).derive_some,
            partial(follow_batch, engine.sides),
        ):
            await _fence(engine)
            await _assert_fenced(work, app_connection, engine.sides.tree.root)
            await app.take_lease(engine.sides, root_locked=True)
            await work()
    finally:
        workers.terminate()


@dataclass(frozen=True, slots=True)
class Alone:
    """An engine, and *beside* it the long work of other parts."""

    engine: Engine
    beside: list[Work] = field(default_factory=list)

    @property
    def works_beside_engine(self) -> bool:
        return bool(self.beside)

    def long_work(self) -> list[Work]:
        return [*self.engine.list_long_work(), *self.beside]


async def test_what_a_mirror_says_of_itself_is_fenced_and_written_only_when_it_is_news(
    engine: Engine, app_connection: Connection
) -> None:
    worked = Alone(engine)
    states, lease, database = States(), engine.sides.fence, engine.sides.database
    with states.new_states([worked]) as news:
        await mirror_leases.renew_leases(database, [lease], {lease.mirror: news[lease]})
    assert value(app_connection, SAID)["waits"] == 0
    with states.new_states([worked]) as news:
        assert news == {}
    await mirror_leases.renew_leases(database, [lease])
    assert value(app_connection, SAID)["waits"] == 0

    row = value(app_connection, ROW)
    await states.write_long_work(database, [worked])
    assert value(app_connection, ROW) == row  # nothing takes long
    engine.queue.mark([f"{number}.md" for number in range(IMPORT_ENTRIES)])
    await _fence(engine)
    row = value(app_connection, ROW)
    await states.write_long_work(database, [worked])
    await mirror_leases.renew_leases(database, [lease], {lease.mirror: "{}"})
    assert value(app_connection, ROW) == row
    await app.take_lease(engine.sides, root_locked=True)
    assert value(app_connection, SAID) is None
    await states.write_long_work(database, [worked])
    assert value(app_connection, SAID)["work"] == [{"what": "import", "done": 0, "total": IMPORT_ENTRIES}]


async def test_work_beside_an_engine_at_rest_is_told_while_it_lasts(engine: Engine) -> None:
    engine.pulse.step()
    worked, states, pulses = Alone(engine), States(), Pulses()
    for _ in range(2):  # the second time the mirror is known to be at rest
        with states.new_states([worked]):
            assert pulses.pulse_of(worked, derived=True)["work"] == []
    worked.beside.append(Work("command", 1, 2))
    assert pulses.pulse_of(worked, derived=True)["work"] == [{"what": "command", "done": 1, "total": 2}]
    with states.new_states([worked]) as news:
        assert '"command"' in news[engine.sides.fence]
    worked.beside.clear()
    assert pulses.pulse_of(worked, derived=True)["work"] == []
    with states.new_states([worked]) as news:
        assert '"command"' not in news[engine.sides.fence]


async def _assert_fenced(work: Callable[[], Awaitable[object]], connection: Connection, root: Path) -> None:
    before = _state(connection, root)
    with pytest.raises(Fenced):
        await work()
    assert _state(connection, root) == before


async def _work(engine: Engine, *, once: bool = False) -> None:
    """Until nothing is left to do, or it is fenced off. once: what waits for something need not be done."""
    stop = asyncio.Event()
    engine.request_scan()
    engine.notify()
    with contextlib.suppress(Fenced):
        while not engine.is_idle and engine.sides.lease is not None:
            await engine.work_once(stop)
            await engine.queue.wait(0.05)
            if once and not engine.intake.is_ready:
                break
    engine.handshake.is_owed = False


def _page(connection: Connection, name: str) -> UUID:
    page: UUID = value(connection, "SELECT id FROM mirrord.page WHERE name = %s", name)
    return page


def _state(connection: Connection, root: Path) -> tuple[list[object], dict[str, bytes]]:
    rows: list[object] = [
        row
        for table in WRITTEN
        for row in connection.execute(f"SELECT t::text FROM mirrord.{table} AS t ORDER BY 1".encode()).fetchall()
    ]
    return rows, tree(root)


async def test_a_renewal_tells_how_far_the_mirror_is_and_never_takes_it_back(
    engine: Engine, app_connection: Connection
) -> None:
    lease, database = engine.sides.fence, engine.sides.database
    for acknowledged in ({lease.mirror: 7}, {lease.mirror: 3}, {}):
        assert await mirror_leases.renew_leases(database, [lease], {}, acknowledged) == {lease.mirror}
        assert value(app_connection, "SELECT ack_seq FROM mirrord.mirror") == 7


async def test_a_round_is_acknowledged_in_the_row_of_its_own_tenant_only(
    engine: Engine, app_connection: Connection
) -> None:
    sides, rounds = engine.sides, "SELECT acks FROM mirrord.mirror"
    before = value(app_connection, rounds)
    stranger = TenantId(new_id())
    assert not await mirror_leases.store_acknowledged_rounds(sides.database, stranger, sides.fence, before + 1)
    assert value(app_connection, rounds) == before
    assert await mirror_leases.store_acknowledged_rounds(sides.database, sides.tenant, sides.fence, before + 1)
    assert value(app_connection, rounds) == before + 1


async def test_a_renewal_of_several_leases_gives_each_row_its_own_news(fresh_dsn: str) -> None:
    async with Database(fresh_dsn, size=2) as database:
        tenant = await ensure_tenant(database, "several")
        leases = [await _lease_of_new_mirror(database, tenant, f"/root {number}") for number in range(4)]
        silent, stated, advanced, lost = (lease.mirror for lease in leases)
        await mirror_leases.acquire_lease(database, tenant, lost, "another", root_locked=True)
        renewed = await mirror_leases.renew_leases(
            database, leases, {stated: '{"waits": 1}', lost: "{}"}, {advanced: 7}
        )
        assert renewed == {silent, stated, advanced}
        async with database.autocommit() as connection:
            cursor = await connection.execute("SELECT id, state, ack_seq FROM mirrord.mirror")
            rows = {mirror: (state, seq) for mirror, state, seq in await cursor.fetchall()}
        assert rows == {silent: (None, 0), stated: ({"waits": 1}, 0), advanced: (None, 7), lost: (None, 0)}


async def _lease_of_new_mirror(database: Database, tenant: TenantId, root: str) -> Lease:
    place = "host", root
    return await mirror_leases.acquire_lease(
        database, tenant, MirrorId(new_id()), "holder", root_locked=True, place=place
    )


async def test_a_renewal_does_not_wait_for_a_transaction_that_holds_the_lease(engine: Engine) -> None:
    """It may wait for an app; the renewal is one statement for all tenants, and would hold up each of them."""
    lease, database = engine.sides.fence, engine.sides.database
    async with database.transaction(engine.sides.tenant, lease) as connection:
        await (await connection.execute("SELECT 1")).fetchone()  # the transaction has begun on the server
        assert await mirror_leases.renew_leases(database, [lease]) == {lease.mirror}


async def test_who_takes_a_mirror_over_waits_for_a_transaction_that_holds_its_lease(engine: Engine) -> None:
    sides = engine.sides
    lease, database = sides.fence, sides.database
    async with database.transaction(sides.tenant, lease) as connection:
        await (await connection.execute("SELECT 1")).fetchone()  # the transaction has begun on the server
        with pytest.raises(Locked):
            await mirror_leases.acquire_lease(database, sides.tenant, sides.mirror, "another", root_locked=True)
    new_lease = await mirror_leases.acquire_lease(database, sides.tenant, sides.mirror, "another", root_locked=True)
    with pytest.raises(Fenced):
        async with database.transaction(sides.tenant, lease):
            pass
    assert await mirror_leases.renew_leases(database, [lease, new_lease]) == {lease.mirror}


async def test_leases_are_renewed_at_once_while_every_transaction_waits_for_its_turn(fresh_dsn: str) -> None:
    async with Database(fresh_dsn, size=3, keeps_urgent=True) as database, contextlib.AsyncExitStack() as busy:
        tenant = await ensure_tenant(database, "busy")
        mirror, place = MirrorId(new_id()), ("host", "/root")
        lease = await mirror_leases.acquire_lease(database, tenant, mirror, "holder", root_locked=True, place=place)
        for _ in range(2):
            await busy.enter_async_context(database.autocommit())
        assert await mirror_leases.renew_leases(database, [lease]) == {lease.mirror}
