"""Transactions that may wait long for a lock are never all of them, and none of a tenant that just waited in vain."""

import asyncio
from contextlib import ExitStack
from uuid import uuid4

import psycopg
import pytest

from mirrord.db import transactions
from mirrord.db.database import Database
from mirrord.db.transactions import LOCK_TIMEOUT_MS, SHORT_LOCK_TIMEOUT_MS, LockWaits
from mirrord.domain.entry import TenantId

CONNECTIONS = 8


def new_tenant() -> TenantId:
    return TenantId(uuid4())


def wait_in_vain(waits: LockWaits, tenant: TenantId) -> int:
    """How long it was allowed to."""
    with pytest.raises(psycopg.errors.LockNotAvailable, match=r"\d+") as caught, waits.limit_wait(tenant) as allowed:
        raise psycopg.errors.LockNotAvailable(str(allowed))
    return int(str(caught.value))


def test_half_of_the_connections_may_wait_long() -> None:
    waits = LockWaits(CONNECTIONS)
    with ExitStack() as together:
        allowed = [together.enter_context(waits.limit_wait(new_tenant())) for _ in range(CONNECTIONS)]
    assert sorted(allowed) == [SHORT_LOCK_TIMEOUT_MS] * 4 + [LOCK_TIMEOUT_MS] * 4
    with waits.limit_wait(new_tenant()) as again:
        assert again == LOCK_TIMEOUT_MS


def test_a_lone_connection_may_wait_long() -> None:
    with LockWaits(1).limit_wait(new_tenant()) as allowed:
        assert allowed == LOCK_TIMEOUT_MS


def test_who_waited_in_vain_waits_shortly_for_some_time_and_nobody_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    waits, held_tenant = LockWaits(CONNECTIONS), new_tenant()
    assert wait_in_vain(waits, held_tenant) == LOCK_TIMEOUT_MS
    assert wait_in_vain(waits, held_tenant) == SHORT_LOCK_TIMEOUT_MS
    with waits.limit_wait(new_tenant()) as other:
        assert other == LOCK_TIMEOUT_MS
    monkeypatch.setattr(transactions, "SHORT_WAITS_SECONDS", 0.0)
    assert wait_in_vain(waits, held_tenant) == LOCK_TIMEOUT_MS


def test_what_fails_otherwise_says_nothing_of_locks() -> None:
    waits, tenant = LockWaits(CONNECTIONS), new_tenant()
    with pytest.raises(psycopg.errors.UniqueViolation), waits.limit_wait(tenant):
        raise psycopg.errors.UniqueViolation
    with waits.limit_wait(tenant) as allowed:
        assert allowed == LOCK_TIMEOUT_MS


async def test_transactions_that_wait_for_a_connection_count_as_none_that_wait_for_a_lock(admin_dsn: str) -> None:
    async with Database(admin_dsn, size=1) as database:
        allowed = await asyncio.gather(*(_allowed_wait(database) for _ in range(6)))
    assert allowed == [f"{LOCK_TIMEOUT_MS}ms"] * 6


async def _allowed_wait(database: Database) -> str:
    async with database.transaction(new_tenant()) as connection:
        row = await (await connection.execute("SHOW lock_timeout")).fetchone()
    assert row is not None
    return str(row[0])
