"""The change feed: exact in commit order whatever runs at once, one bump and one bell a transaction."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.types.json import Jsonb

from mirrord.db import mirror_leases
from mirrord.db.content import entry_comparison, entry_states
from mirrord.db.content.entry_writes import PageValues, StatementBuilder, run_statements
from mirrord.db.database import Database, app_dsn
from mirrord.domain.entry import Base, EntryId, Kind, MirrorId, Place, TenantId, digest_of
from tests.support.entries import add, add_attachment, add_folder, add_page, change, delete, row_of, value
from tests.support.harness import eventually
from tests.support.rows import Connection

NO_MIRROR = MirrorId(UUID(int=0))  # has no bases, so that every entry differs from them
WRITERS, TRANSACTIONS = 4, 25
ATTEMPTS = 50  # to be the next transaction of a server
_PLANT_NEXT_NUMBER = """
UPDATE mirrord.tenant_clock SET xid = (pg_current_xact_id()::text::bigint + 1)::text::xid8 RETURNING xid::text"""


def feed(connection: Connection) -> dict[UUID, int]:
    """The seq at which each entry changed last."""
    return dict(connection.execute("SELECT entry_id, seq FROM mirrord.entry_feed").fetchall())


def clock(connection: Connection) -> int:
    seq: int = value(connection, "SELECT seq FROM mirrord.tenant_clock")
    return seq


async def follow(database: Database, tenant: TenantId, is_done: Callable[[], bool]) -> list[UUID]:
    """Read the feed as the daemon does until *is_done*, and once more; every entry as often as it was read."""
    read: list[UUID] = []
    cursor = 0
    while True:
        last = is_done()
        async with database.transaction(tenant) as connection:
            changed, cursor, has_more = await entry_states.load_changed_entries(
                connection, tenant, NO_MIRROR, cursor, limit=7
            )
        read += changed.entries
        if last and not has_more:
            return read


def write_pages(connection: Connection) -> list[UUID]:
    """Many small transactions, some of which are taken back; the pages that were kept."""
    committed = []
    for number in range(TRANSACTIONS):
        connection.execute("BEGIN")
        pages = [add_page(connection) for _ in range(number % 3 + 1)]
        connection.execute("ROLLBACK" if number % 5 == 4 else "COMMIT")
        committed += pages if number % 5 != 4 else []
    return committed


@pytest.fixture
def writers(admin_dsn: str, tenant: TenantId, connect: Callable[[str], Connection]) -> list[Connection]:
    return [connect(app_dsn(admin_dsn, tenant)) for _ in range(WRITERS)]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(WRITERS) as executor:
        yield executor


async def test_nothing_is_skipped_or_read_twice_while_many_write(
    database: Database,
    tenant: TenantId,
    writers: list[Connection],
    app_connection: Connection,
    pool: ThreadPoolExecutor,
) -> None:
    app_connection.execute("BEGIN")
    late_page = add_page(app_connection)  # written first, committed last: what a serial number would lose
    running: list[Future[list[UUID]]] = [pool.submit(write_pages, writer) for writer in writers]

    def done() -> bool:
        if all(future.done() for future in running):
            app_connection.execute("COMMIT")
            return True
        return False

    read = await follow(database, tenant, done)
    written = [late_page, *(page for future in running for page in future.result())]
    assert sorted(read) == sorted(written)


def test_seqs_are_the_order_of_commits_without_gaps(
    writers: list[Connection], app_connection: Connection, pool: ThreadPoolExecutor
) -> None:
    committed = list(pool.map(write_pages, writers))
    seqs = feed(app_connection)
    for pages in committed:
        own_seqs = [seqs[page] for page in pages]
        assert own_seqs == sorted(own_seqs)
    transactions = WRITERS * (TRANSACTIONS - TRANSACTIONS // 5)
    assert set(seqs.values()) == set(range(1, transactions + 1))
    assert clock(app_connection) == transactions


def test_what_commits_last_has_the_last_seq_although_it_began_first(
    writers: list[Connection], app_connection: Connection
) -> None:
    slow, quick = writers[:2]
    slow.execute("BEGIN")
    first_written = add_page(slow)
    second_written = add_page(quick)
    slow.execute("COMMIT")
    seqs = feed(app_connection)
    assert (seqs[second_written], seqs[first_written]) == (1, 2)


def test_one_transaction_takes_one_seq_whatever_it_writes(app_connection: Connection) -> None:
    with app_connection.transaction():
        folder = add_folder(app_connection)
        page = add_page(app_connection, parent_id=folder)
        change(app_connection, page, title="New")
        picture = add_attachment(app_connection, parent_id=page)
        with app_connection.transaction():  # a savepoint
            record = add(app_connection, "record", kind="category", key="red", data=Jsonb({}))
        app_connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        later = add_page(app_connection)
    assert feed(app_connection) == dict.fromkeys((folder, page, picture, record, later), 1)


def test_every_change_brings_an_entry_to_the_end_of_the_feed(app_connection: Connection) -> None:
    page, other = add_page(app_connection), add_page(app_connection)
    change(app_connection, page, title="New")
    delete(app_connection, other)
    delete(app_connection, page)
    change(app_connection, page, deleted_at=None)
    assert feed(app_connection) == {other: 4, page: 6}


def test_a_transaction_that_fails_leaves_no_trace(app_connection: Connection) -> None:
    app_connection.execute("BEGIN")
    add_page(app_connection)
    app_connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert clock(app_connection) == 1
    app_connection.execute("ROLLBACK")
    assert (clock(app_connection), feed(app_connection)) == (0, {})


def test_a_savepoint_that_is_taken_back_takes_its_seq_along(app_connection: Connection) -> None:
    app_connection.execute("BEGIN")
    app_connection.execute("SAVEPOINT here")
    lost = add_page(app_connection)
    app_connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
    app_connection.execute("ROLLBACK TO here")
    page = add_page(app_connection)
    app_connection.execute("COMMIT")
    assert feed(app_connection) == {page: 1}
    assert lost != page


async def test_a_seq_is_never_split_between_two_readings(
    database: Database, tenant: TenantId, app_connection: Connection
) -> None:
    with app_connection.transaction():
        together = {add_page(app_connection) for _ in range(20)}
    alone = add_page(app_connection)
    async with database.transaction(tenant) as connection:
        changed, seq, has_more = await entry_states.load_changed_entries(connection, tenant, NO_MIRROR, 0, limit=3)
        assert (set(changed.entries), seq, has_more) == (together, 1, True)
        changed, seq, has_more = await entry_states.load_changed_entries(connection, tenant, NO_MIRROR, seq, limit=3)
        assert (set(changed.entries), seq, has_more) == ({alone}, 2, False)
        assert await entry_states.load_changed_entries(connection, tenant, NO_MIRROR, 2, limit=3) == (
            entry_states.LoadedEntries(),
            2,
            False,
        )


def test_the_clock_is_written_once_however_many_rows_change(app_connection: Connection) -> None:
    """Once a row would be quadratic: every version of the clock's row is walked over by the next."""
    app_connection.execute("BEGIN")
    app_connection.execute("INSERT INTO mirrord.page (title) SELECT 'Page' FROM generate_series(1, 2000)")
    app_connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
    written = value(app_connection, "SELECT pg_stat_get_xact_tuples_updated('mirrord.tenant_clock'::regclass)")
    app_connection.execute("COMMIT")
    assert written == 1
    assert set(feed(app_connection).values()) == {1}


def test_tenants_have_clocks_of_their_own_and_do_not_wait_for_each_other(
    admin_dsn: str, other_tenant: TenantId, app_connection: Connection, connect: Callable[[str], Connection]
) -> None:
    other = connect(app_dsn(admin_dsn, other_tenant))
    app_connection.execute("BEGIN")
    add_page(app_connection)
    app_connection.execute("SET CONSTRAINTS ALL IMMEDIATE")  # holds the clock now
    add_page(other)
    app_connection.execute("COMMIT")
    assert (clock(app_connection), clock(other)) == (1, 1)


def bell(connection: Connection, tenant: TenantId) -> sql.Identifier:
    """The channel of a tenant; from now on *connection* hears it."""
    channel = sql.Identifier(value(connection, "SELECT mirrord.channel(%s)", tenant))
    connection.execute(sql.SQL("LISTEN {}").format(channel))
    return channel


def rung(listener: Connection, ringer: Connection, channel: sql.Identifier) -> list[str]:
    """The payloads heard up to now: those before one that is sent last."""
    end = str(uuid4())
    ringer.execute(sql.SQL("NOTIFY {}, {}").format(channel, sql.Literal(end)))
    heard: list[str] = []

    def has_ended() -> bool:
        heard.extend(note.payload for note in listener.notifies(timeout=0.05))
        return end in heard

    eventually(has_ended, "the last note")
    return heard[:-1]


def test_the_bell_rings_once_a_transaction_and_says_its_number_only(
    app_connection: Connection, writers: list[Connection], tenant: TenantId
) -> None:
    channel = bell(writers[0], tenant)
    with app_connection.transaction():
        for _ in range(3):
            add_page(app_connection)
    add_page(app_connection)
    assert rung(writers[0], app_connection, channel) == ["1", "2"]


def test_the_bell_is_silent_where_it_is_turned_off_and_after_a_rollback(
    app_connection: Connection, writers: list[Connection], tenant: TenantId
) -> None:
    channel = bell(writers[0], tenant)
    app_connection.execute("BEGIN")
    add_page(app_connection)
    app_connection.execute("ROLLBACK")
    app_connection.execute("SET mirrord.notify = 'off'")
    page = add_page(app_connection)
    assert rung(writers[0], app_connection, channel) == []
    assert feed(app_connection) == {page: 1}


def test_the_bells_name_is_what_apps_are_told(app_connection: Connection, tenant: TenantId) -> None:
    assert value(app_connection, "SELECT mirrord.channel(%s)", tenant) == f"mirrord_{tenant.hex[:16]}"


async def follow_one(database: Database, tenant: TenantId) -> set[UUID]:
    return set(await follow(database, tenant, lambda: True))


@pytest.mark.parametrize("rows", [10_000, pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
async def test_a_bulk_update_is_one_seq_that_is_read_at_once(
    database: Database, tenant: TenantId, app_connection: Connection, rows: int
) -> None:
    app_connection.execute("SET statement_timeout = 0")
    query = "INSERT INTO mirrord.page (title) SELECT 'Page ' || n FROM generate_series(1, %s) AS n"
    app_connection.execute(query, [rows])
    app_connection.execute("UPDATE mirrord.page SET title = title || ' new'")
    assert set(feed(app_connection).values()) == {2}
    assert len(await follow_one(database, tenant)) == rows


def test_nobody_may_truncate(app_connection: Connection, daemon_connection: Connection, admin_dsn: str) -> None:
    page = add_page(app_connection)
    for connection in (app_connection, daemon_connection):
        for table in ("page", "page_revision", "entry_feed", "tenant_clock", "mirror_base"):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(sql.SQL("TRUNCATE mirrord.{} CASCADE").format(sql.Identifier(table)))
    with psycopg.connect(admin_dsn) as admin, pytest.raises(errors.InsufficientPrivilege):
        admin.execute("TRUNCATE mirrord.page CASCADE")
    assert row_of(app_connection, page)["id"] == page


async def test_what_happened_behind_the_triggers_is_found_by_the_full_compare(
    database: Database, tenant: TenantId, app_connection: Connection, admin_dsn: str
) -> None:
    """The feed says nothing of it: no trigger ran."""
    mirror = MirrorId(uuid4())
    writer = StatementBuilder(tenant, mirror)
    await mirror_leases.record_mirror(database, tenant, mirror, "host", f"/{mirror}")
    bases = [Base(EntryId(uuid4()), Kind.PAGE, f"{n}.md", Place(None, n), 0, digest_of(b"x"), None) for n in "abc"]
    async with database.transaction(tenant) as connection:
        await run_statements(
            connection, [writer.insert(base, base.place, base.place.name, PageValues("x")) for base in bases]
        )
    lost, changed, same = (base.entry for base in bases)
    async with database.transaction(tenant) as connection:
        assert await entry_comparison.load_differing(connection, tenant, mirror) == []
    before = feed(app_connection)
    with psycopg.connect(admin_dsn) as admin:
        admin.execute("SET session_replication_role = replica")
        admin.execute("DELETE FROM mirrord.page WHERE id = %s", [lost])
        text, digest = "by nobody\n", digest_of(b"by nobody\n")
        admin.execute("UPDATE mirrord.page SET markdown = %s, digest = %s WHERE id = %s", [text, digest, changed])
    assert feed(app_connection) == before
    async with database.transaction(tenant) as connection:
        assert set(await entry_comparison.load_differing(connection, tenant, mirror)) == {lost, changed}
    assert same not in (lost, changed)


def test_a_clock_with_the_number_of_a_transaction_of_another_server_takes_the_next_seq(
    fresh_dsn: str, connect: Callable[[str], Connection]
) -> None:
    superuser = connect(fresh_dsn)
    superuser.execute("INSERT INTO mirrord.tenant (name) VALUES ('moved')")
    tenant = TenantId(value(superuser, "SELECT id FROM mirrord.tenant"))
    superuser.execute("INSERT INTO mirrord.tenant_clock (tenant_id) VALUES (%s)", [tenant])
    app = connect(app_dsn(fresh_dsn, tenant))
    for number in range(ATTEMPTS):
        planted = value(superuser, _PLANT_NEXT_NUMBER)
        with app.transaction():
            page = add_page(app)
            is_equal = value(app, "SELECT pg_current_xact_id()::text") == planted
        assert (feed(app)[page], clock(app)) == (number + 1, number + 1)
        if is_equal:
            return
    raise AssertionError("no transaction got the planted number")
