"""
`notify = "ticker"`: bells are rung from here, not in the transactions that write.

NOTIFY makes commits wait for each other. Where there are very many, transactions leave it out (the database's setting
`mirrord.notify` says so), and one daemon looks at the clocks and rings for all tenants that changed, at most 20 times a
second. Those who listen notice no difference.
"""

import asyncio
from contextlib import suppress
from typing import Literal

from psycopg import AsyncConnection, sql
from psycopg.errors import InsufficientPrivilege

from mirrord.db.connect import Connection, administered, daemon_dsn, translated
from mirrord.domain.entry import TenantId

Notify = Literal["commit", "ticker"]

TICK = 0.05  # seconds between two looks at the clocks, while they move
IDLE_TICK = 0.25  # seconds, when they stood still for STILL
STILL = 5.0
ELECTION = 1.0  # seconds until a daemon asks again whether the one that ticks is gone
_LOCK = 0x6D6972726F722E74  # held by whoever ticks; one a database


async def choose(dsn: str, notify: Notify) -> str | None:
    """
    Make *notify* the database's way, for connections made from now on; a sentence if this role may not.

    A setting that mirrord did not make (`off`) stays as it is while *notify* is "commit".
    """
    async with administered(dsn) as connection:
        return await _choose(connection, notify)


async def _choose(connection: Connection, notify: Notify) -> str | None:
    cursor = await connection.execute("SELECT current_setting('mirrord.notify', true), current_database()")
    row = await cursor.fetchone()
    assert row is not None
    now, name = row
    if (now == "ticker") == (notify == "ticker"):
        return None
    change = sql.SQL("SET mirrord.notify = 'ticker'" if notify == "ticker" else "RESET mirrord.notify")
    statement = sql.SQL("ALTER DATABASE {} ").format(sql.Identifier(name)) + change
    try:
        await connection.execute(statement)
    except InsufficientPrivilege:
        return (
            f'notify = "{notify}" needs a statement that only a superuser may run, once: '
            f"{statement.as_string(connection)}; until then notifications are sent as before."
        )
    return None


async def tick(dsn: str, stop: asyncio.Event) -> None:
    """
    Ring for every tenant whose clock moved, unless another daemon does.

    Ends when *stop* is set. Raises Unavailable when the connection breaks.
    """
    with translated():
        async with await AsyncConnection.connect(daemon_dsn(dsn), autocommit=True) as connection:
            while not stop.is_set() and not await _elected(connection):
                await _sleep(stop, ELECTION)
            await _ring_changes(connection, stop)


async def _ring_changes(connection: Connection, stop: asyncio.Event) -> None:
    known: dict[TenantId, int] = {}  # empty at first: nobody may have rung for what happened before
    still = 0.0
    while not stop.is_set():
        cursor = await connection.execute("SELECT tenant_id, seq FROM mirrord.tenant_clock")
        clocks: dict[TenantId, int] = dict(await cursor.fetchall())
        changed = [tenant for tenant, seq in clocks.items() if known.get(tenant) != seq]
        if changed:
            await connection.execute(
                "SELECT pg_notify(mirrord.channel(tenant), tenant::text) FROM unnest(%s::uuid[]) AS t (tenant)",
                (changed,),
            )
        known, still = clocks, 0.0 if changed else still + TICK
        await _sleep(stop, TICK if still < STILL else IDLE_TICK)


async def _elected(connection: Connection) -> bool:
    cursor = await connection.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,))
    row = await cursor.fetchone()
    return bool(row and row[0])


async def _sleep(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
