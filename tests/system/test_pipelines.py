"""Transactions that are sent together: what they promise is what the driver's own do."""

import asyncio
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from psycopg.pq.abc import PGconn

from mirrord.db.database import POOL_TIMEOUT_SECONDS, Connection, Database, set_parents
from mirrord.db.transactions import CommandQueue, joined_statements, pipelined_transaction, unsent_statements
from mirrord.domain.entry import TenantId
from mirrord.errors import TooSlow
from tests.support import rows

ADD = "INSERT INTO mirrord.page (tenant_id, id, name, markdown) VALUES (%s, %s, %s, 'text')"
SLEEP = "SELECT pg_sleep(60)"
PREPARED_AFTER = 2  # executions of a statement, after which the next one prepares it


async def add(connection: Connection, tenant: TenantId, entry: UUID, name: str) -> None:
    await connection.execute(ADD, (tenant, entry, name))


def names(app: rows.Connection) -> list[str]:
    return [name for (name,) in app.execute("SELECT name FROM mirrord.page ORDER BY name").fetchall()]


@contextmanager
def sent_messages(connection: PGconn, file: Path) -> Iterator[list[str]]:
    """The names of the messages that the block sends, known after it."""
    names: list[str] = []
    with file.open("w+") as messages:
        connection.trace(messages.fileno())
        try:
            yield names
        finally:
            connection.untrace()
        messages.seek(0)
        fields = [line.split("\t") for line in messages]
    names += [message[3].strip() for message in fields if message[1] == "F"]


async def one_is_left(database: Database, tenant: TenantId) -> None:
    """Whatever happened before, the next transaction has a connection that is in none."""
    async with database.transaction(tenant) as connection:
        row = await (await connection.execute("SELECT current_setting('mirrord.tenant')")).fetchone()
        assert row == (str(tenant),)


async def test_what_is_asked_for_in_a_transaction_is_kept(
    database: Database, tenant: TenantId, app_connection: rows.Connection
) -> None:
    async with database.transaction(tenant) as connection:
        await add(connection, tenant, uuid4(), "A")
        await add(connection, tenant, uuid4(), "B")
        assert names(app_connection) == []
    assert names(app_connection) == ["A", "B"]
    await one_is_left(database, tenant)


@pytest.mark.parametrize("fetches", [0, 1, 2])
async def test_a_transaction_takes_one_round_trip_and_one_for_each_fetch(
    database: Database, tenant: TenantId, tmp_path: Path, fetches: int
) -> None:
    async with Database(database.dsn, size=1) as alone:
        await one_is_left(alone, tenant)
        async with alone.autocommit() as connection:
            traced = connection.pgconn
        with sent_messages(traced, tmp_path / "messages") as sent:
            async with alone.transaction(tenant) as connection:
                for _ in range(fetches):
                    await (await connection.execute("SELECT 1")).fetchone()
    assert sent.count("Sync") == 1
    assert sent.count("Flush") in (fetches, fetches + 1)  # one more where leaving the pipeline finds no answer yet


async def test_statements_that_are_joined_take_those_along_that_were_not_sent(
    database: Database, tenant: TenantId, tmp_path: Path
) -> None:
    async with database.transaction(tenant) as connection:
        await (await connection.execute("SELECT 1")).fetchone()  # so nothing waits for its answer
        with sent_messages(connection.pgconn, tmp_path / "messages") as sent:
            with unsent_statements(connection):
                await connection.execute("SET LOCAL statement_timeout = '20s'")
            async with joined_statements(connection):
                timeout = await connection.execute("SHOW statement_timeout")
                answer = await connection.execute("SELECT 2")
    assert [await timeout.fetchone(), await answer.fetchone()] == [("20s",), (2,)]
    assert (sent.count("Execute"), sent.count("Sync")) == (3, 1)


async def test_statements_can_be_joined_while_others_wait_for_their_answers(
    database: Database, tenant: TenantId
) -> None:
    async with asyncio.timeout(60), database.transaction(tenant) as connection:
        sent = await connection.execute("SELECT 1")
        with unsent_statements(connection):
            unsent = await connection.execute("SELECT 2")
        async with joined_statements(connection):
            joined = await connection.execute("SELECT 3")
        assert [await cursor.fetchone() for cursor in (sent, unsent, joined)] == [(1,), (2,), (3,)]


async def test_the_settings_of_a_transaction_are_not_prepared(database: Database, tenant: TenantId) -> None:
    async with Database(database.dsn, size=1) as alone:
        for _ in range(PREPARED_AFTER + 1):
            async with alone.transaction(tenant) as connection:
                await set_parents(connection, [1])
                await connection.execute("SELECT 1")
        async with alone.autocommit() as connection:
            prepared = await (await connection.execute("SELECT statement FROM pg_prepared_statements")).fetchall()
    assert prepared == [("SELECT 1",)]


async def test_a_transaction_that_asks_for_nothing_leaves_nothing_open(database: Database, tenant: TenantId) -> None:
    async with database.transaction(tenant) as connection:
        pass
    assert connection.info.transaction_status is TransactionStatus.IDLE
    await one_is_left(database, tenant)


async def add_twice(database: Database, tenant: TenantId, *, fetch: bool) -> None:
    entry = uuid4()
    async with database.transaction(tenant) as connection:
        await add(connection, tenant, entry, "A")
        await add(connection, tenant, entry, "B")
        if fetch:
            await (await connection.execute("SELECT 1")).fetchone()


@pytest.mark.parametrize("fetch", [True, False], ids=["seen within", "seen at its end"])
async def test_of_a_transaction_with_an_error_nothing_is_kept(
    database: Database, tenant: TenantId, app_connection: rows.Connection, fetch: bool
) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        await add_twice(database, tenant, fetch=fetch)
    assert names(app_connection) == []
    await one_is_left(database, tenant)


async def ask_for_too_long(database: Database, tenant: TenantId) -> None:
    async with database.transaction(tenant) as connection:
        await connection.execute("SET LOCAL statement_timeout = '10ms'")
        await (await connection.execute(SLEEP)).fetchone()


async def test_a_statement_that_takes_too_long_is_no_broken_connection(database: Database, tenant: TenantId) -> None:
    breaks = database.break_count
    with pytest.raises(TooSlow):
        await ask_for_too_long(database, tenant)
    await one_is_left(database, tenant)
    assert database.break_count == breaks


async def add_namesakes(database: Database, tenant: TenantId) -> None:
    async with database.transaction(tenant) as connection:
        await connection.execute("SET CONSTRAINTS mirrord.page_name_is_free DEFERRED")
        for _ in range(2):
            statement = "INSERT INTO mirrord.page (tenant_id, id, name, name_key) VALUES (%s, %s, 'A', 'a')"
            await connection.execute(statement, (tenant, uuid4()))


async def test_an_error_that_only_the_commit_finds_is_raised(
    database: Database, tenant: TenantId, app_connection: rows.Connection
) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        await add_namesakes(database, tenant)
    assert names(app_connection) == []
    await one_is_left(database, tenant)


async def leave(database: Database, tenant: TenantId, *, sent: bool) -> None:
    async with database.transaction(tenant) as connection:
        if sent:
            await add(connection, tenant, uuid4(), "A")
        raise KeyError


@pytest.mark.parametrize("sent", [True, False])
async def test_of_a_transaction_that_is_left_early_nothing_is_kept(
    database: Database, tenant: TenantId, app_connection: rows.Connection, sent: bool
) -> None:
    with pytest.raises(KeyError):
        await leave(database, tenant, sent=sent)
    assert names(app_connection) == []
    await one_is_left(database, tenant)


async def test_a_transaction_whose_task_is_cancelled_holds_nothing(
    database: Database, tenant: TenantId, app_connection: rows.Connection
) -> None:
    started = asyncio.Event()

    async def stand_still() -> None:
        async with database.transaction(tenant) as connection:
            await add(connection, tenant, uuid4(), "A")
            started.set()
            await (await connection.execute(SLEEP)).fetchone()

    task = asyncio.create_task(stand_still())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert names(app_connection) == []
    await one_is_left(database, tenant)


async def test_a_statement_commits_itself(database: Database) -> None:
    async with database.autocommit() as connection:
        await connection.execute("SELECT 1")
        assert connection.info.transaction_status is TransactionStatus.IDLE


async def add_tenant_twice(database: Database, name: str) -> None:
    async with database.connection() as connection:
        for _ in range(2):
            await connection.execute("INSERT INTO mirrord.tenant (id, name) VALUES (%s, %s)", (uuid4(), name))


async def test_of_a_transaction_without_a_tenant_with_an_error_nothing_is_kept(database: Database) -> None:
    name = f"t{uuid4().hex}"
    with pytest.raises(psycopg.errors.UniqueViolation):
        await add_tenant_twice(database, name)
    async with database.connection() as connection:
        cursor = await connection.execute("SELECT FROM mirrord.tenant WHERE name = %s", (name,))
        assert await cursor.fetchone() is None


def test_an_outbox_gives_all_it_has_as_one_command() -> None:
    executed: list[int] = []
    outbox = CommandQueue([lambda: executed.append(1), lambda: executed.append(2)])

    with outbox.hold():
        assert not outbox
    assert outbox
    outbox.popleft()()

    assert executed == [1, 2]
    assert not outbox


async def test_a_pipeline_raises_its_first_error_though_its_answer_comes_while_the_last_statements_are_sent(
    admin_dsn: str, connect: Callable[[str], rows.Connection]
) -> None:
    other = connect(admin_dsn)
    other.execute("SELECT pg_advisory_lock(7)")
    async with await psycopg.AsyncConnection.connect(admin_dsn, autocommit=True) as connection:

        async def fail_before_the_end() -> None:
            async with pipelined_transaction(connection) as outbox:
                await connection.execute("SELECT 1 / length(pg_advisory_xact_lock(7)::text)")

                def append(command: Callable[[], None]) -> None:
                    if command == connection.pgconn.pipeline_sync:
                        other.execute("SELECT pg_advisory_unlock(7)")
                        answers = select.poll()
                        answers.register(connection.fileno(), select.POLLIN)
                        assert answers.poll(20_000)
                    CommandQueue.append(outbox, command)

                outbox.append = append  # type: ignore[method-assign]

        with pytest.raises(psycopg.errors.DivisionByZero):
            await fail_before_the_end()


async def test_who_waits_for_a_connection_goes_on_waiting_while_others_get_it(
    database: Database, tenant: TenantId
) -> None:
    """Together longer than a pool waits: so it is when a daemon of many tenants starts."""
    async with Database(database.dsn, size=1) as alone:

        async def work() -> None:
            async with alone.transaction(tenant) as connection:
                await connection.execute("SELECT pg_sleep(%s)", (POOL_TIMEOUT_SECONDS / 10,))

        await asyncio.gather(*(work() for _ in range(15)))
