"""
LISTEN and NOTIFY: which tenants' rows may have changed, and the ticker that notifies outside of writing
transactions.

NOTIFY makes commits wait for each other. With very many commits, transactions omit it (by the database's setting
`mirrord.notify`), and one daemon polls the clocks and notifies for all changed tenants, at most 20 times a second.
Listeners notice no difference.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal

from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from mirrord.db.database import Connection, admin_connection, daemon_dsn, translate_errors
from mirrord.domain.entry import TenantId

PING_SECONDS = 10.0  # seconds without a notification before the connection is tested
MAX_SEQ_DIGITS = 19  # digits; a bigint has at most so many
STOP_CHECK_SECONDS = 1.0  # seconds between checks of *stop*


UNDO_PAYLOAD = "undo"  # of the notification that undo_change_set() sends
ROWS = "rows"  # among Wakes: what every notification with the number of a change wakes
BOUND_PAYLOAD = "bound"  # of the notification that a trigger of a binding sends: a row of an app changed, none of ours

# What a notification wakes, by the first word of its payload; the rest, such as the id of a binding, may be empty.
Wakes = Mapping[str, Callable[[TenantId, str], None]]


def channel_of(tenant: TenantId) -> str:
    """The channel of a tenant; the SQL function mirrord.channel() has the same."""
    return f"mirrord_{tenant.hex[:16]}"


async def notified_tenants(
    dsn: str,
    tenants: Sequence[TenantId],
    stop: asyncio.Event,
    wakes: Wakes,
) -> AsyncIterator[tuple[TenantId | None, int | None]]:
    """
    Yield the tenant of each notification of changed rows, and the number of the change (None: unknown).

    The first tenant is None, once listening: earlier notifications are lost. The tenants that ever changed follow, with
    the numbers of their last changes.

    wakes: called for notifications with their payloads, and where one that an undo was asked for may have been lost.
    Ends within a second after *stop* is set. Raises Unavailable when the connection breaks.
    """
    channels = {channel_of(tenant): tenant for tenant in tenants}
    with translate_errors():
        async with await Connection.connect(daemon_dsn(dsn), autocommit=True) as connection:
            commands = [sql.SQL("LISTEN {}").format(sql.Identifier(channel)) for channel in channels]
            await connection.execute(sql.SQL("; ").join(commands))
            yield None, None
            for changed, seq in (await _load_clocks(connection, tenants)).items():
                if (wake := wakes.get(UNDO_PAYLOAD)) is not None:
                    wake(changed, "")
                yield changed, seq
            silent_seconds = 0.0
            while not stop.is_set():
                async for notification in connection.notifies(timeout=0):  # includes those received with a result
                    tenant = channels.get(notification.channel)
                    word, _, subject = notification.payload.partition(" ")
                    if tenant is not None and word in wakes:
                        wakes[word](tenant, subject)
                    if word != BOUND_PAYLOAD:
                        yield tenant, _seq_of(notification.payload)
                silent_seconds = 0.0 if await _is_readable(connection) else silent_seconds + STOP_CHECK_SECONDS
                if silent_seconds >= PING_SECONDS:
                    await connection.execute("SELECT 1")
                    silent_seconds = 0.0


async def _load_clocks(connection: Connection, tenants: Sequence[TenantId]) -> dict[TenantId, int]:
    """The number of the last change of each of *tenants* that ever changed."""
    query = "SELECT tenant_id, seq FROM mirrord.tenant_clock WHERE tenant_id = ANY ({}) AND seq > 0"
    # The values are in the text, because a cluster makes no plan for all values, which this connection would ask for.
    cursor = await connection.execute(sql.SQL(query).format(sql.Literal(list(tenants))))
    return {TenantId(tenant): seq for tenant, seq in await cursor.fetchall()}


def _seq_of(payload: str) -> int | None:
    """The number in a notification; None: an app's, or that of an older mirrord."""
    return int(payload) if payload.isascii() and payload.isdecimal() and len(payload) < MAX_SEQ_DIGITS else None


async def _is_readable(connection: Connection) -> bool:
    """Whether the server sends data within PATIENCE. The driver's own wait wakes up continually."""
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection.fileno(), readable.set)
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(readable.wait(), STOP_CHECK_SECONDS)
    finally:
        loop.remove_reader(connection.fileno())
    return readable.is_set()


Notify = Literal["commit", "ticker"]

TICK_SECONDS = 0.05  # seconds between polls of the clocks while they change
IDLE_TICK_SECONDS = 0.25  # seconds between polls once they have been unchanged for STILL seconds
IDLE_AFTER_SECONDS = 5.0
ELECTION_SECONDS = 1.0  # seconds between attempts of a daemon to become the ticker
_LOCK = 0x6D6972726F722E74  # advisory lock of the ticker; one per database


async def set_notify(dsn: str, notify: Notify) -> str | None:
    """
    Set *notify* for new connections to the database. Returns a sentence if this role may not, else None.

    A setting not made by mirrord (`off`) stays unchanged while *notify* is "commit", and on a cluster, where only the
    ticker may notify.
    """
    async with admin_connection(dsn) as connection:
        return await _change_setting(connection, notify)


async def _change_setting(connection: Connection, notify: Notify) -> str | None:
    cursor = await connection.execute(
        "SELECT current_setting('mirrord.notify', true), current_database(), current_setting('mirrord.cluster', true)"
    )
    row = await cursor.fetchone()
    assert row is not None
    current, database, cluster = row
    if cluster == "on" or (current == "ticker") == (notify == "ticker"):
        return None
    change = sql.SQL("SET mirrord.notify = 'ticker'" if notify == "ticker" else "RESET mirrord.notify")
    statement = sql.SQL("ALTER DATABASE {} ").format(sql.Identifier(database)) + change
    try:
        await connection.execute(statement)
    except InsufficientPrivilege:
        return (
            f'notify = "{notify}" needs a statement that only a superuser may run, once: '
            f"{statement.as_string(connection)}; until then notifications are sent as before."
        )
    return None


async def run_ticker(dsn: str, stop: asyncio.Event) -> None:
    """
    Notify for every tenant whose clock changed, unless another daemon does.

    Ends when *stop* is set. Raises Unavailable when the connection breaks.
    """
    with translate_errors():
        async with await Connection.connect(daemon_dsn(dsn), autocommit=True) as connection:
            while not stop.is_set() and not await _is_elected(connection):
                await _sleep(stop, ELECTION_SECONDS)
            await _notify_changes(connection, stop)


async def _notify_changes(connection: Connection, stop: asyncio.Event) -> None:
    seen_clocks: dict[TenantId, int] = {}  # empty at first: earlier changes may not have been notified
    idle_seconds = 0.0
    while not stop.is_set():
        cursor = await connection.execute("SELECT tenant_id, seq FROM mirrord.tenant_clock")
        clocks: dict[TenantId, int] = dict(await cursor.fetchall())
        changed = [tenant for tenant, seq in clocks.items() if seen_clocks.get(tenant) != seq]
        if changed:
            await connection.execute(
                "SELECT pg_notify(mirrord.channel(tenant), seq::text) "
                "FROM unnest(%s::uuid[], %s::bigint[]) AS t (tenant, seq)",
                (changed, [clocks[tenant] for tenant in changed]),
            )
        seen_clocks, idle_seconds = clocks, 0.0 if changed else idle_seconds + TICK_SECONDS
        await _sleep(stop, TICK_SECONDS if idle_seconds < IDLE_AFTER_SECONDS else IDLE_TICK_SECONDS)


async def _is_elected(connection: Connection) -> bool:
    cursor = await connection.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,))
    row = await cursor.fetchone()
    return bool(row and row[0])


async def _sleep(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
