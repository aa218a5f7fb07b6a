"""Probes the database: version, roles, schema, separation of tenants (tried and rolled back), latency."""

import time
from collections.abc import Sequence
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from mirrord.db import cluster, migrate, tenant_rows
from mirrord.db.database import Connection, Database, admin_connection, daemon_dsn, set_local, translate_errors
from mirrord.db.migrate import load_open_walls
from mirrord.domain.entry import MirrorId, TenantId
from mirrord.domain.health_facts import Login, Server, TenantIsolation, TenantStatus

NOTIFICATION_SECONDS = 5.0  # seconds for a notification
_ROLES = ("mirrord_owner", "mirrord_definer", "mirrord_daemon", "mirrord_app")
_TABLES_WITHOUT_TENANT = ("migration", "epoch", "engine_process")


async def probe_server(dsn: str) -> Server:
    """Facts about any server, with or without a schema. Raises Unavailable, UserError."""
    async with admin_connection(dsn) as connection:
        before = time.time()
        server_time = float(await _load_value(connection, "SELECT extract(epoch FROM clock_timestamp())"))
        roles = await (
            await connection.execute(
                "SELECT rolname, rolsuper OR rolbypassrls FROM pg_catalog.pg_roles WHERE rolname = ANY (%s)",
                (list(_ROLES),),
            )
        ).fetchall()
        missing = tuple(name for name in _ROLES if name not in {str(existing) for existing, _ in roles})
        schema = await migrate.load_schema_number(connection)
        return Server(
            version=connection.info.server_version,
            skew_seconds=server_time - (before + time.time()) / 2,
            schema=schema,
            newest_schema=migrate.newest_number(),
            missing_roles=missing,
            bypassing_roles=tuple(str(name) for name, is_mighty in roles if is_mighty),
            unprotected_tables=tuple(await _unguarded_tables(connection)),
            login=await _load_login(connection),
            excess_app_rights=await _load_excess_rights(connection) if schema and not missing else (),
        )


async def _load_excess_rights(connection: Connection) -> tuple[str, ...]:
    return (*await load_open_walls(connection), *await cluster.load_open_nodes(connection))


async def _load_login(connection: Connection) -> Login:
    name, is_superuser = await _load_row(
        connection, "SELECT rolname, rolsuper FROM pg_catalog.pg_roles WHERE rolname = session_user"
    )
    return Login(str(name), is_superuser=bool(is_superuser))


async def _load_value(connection: Connection, query: str, *values: object) -> str:
    return str((await _load_row(connection, query, *values))[0])


async def _load_row(connection: Connection, query: str, *values: object) -> TupleRow:
    row = await (await connection.execute(query.encode(), values)).fetchone()
    assert row is not None
    return row


async def _unguarded_tables(connection: Connection) -> list[str]:
    """Tables with rows of tenants whose row-level security is not forced for every role."""
    cursor = await connection.execute(
        "SELECT c.relname FROM pg_catalog.pg_class AS c WHERE c.relnamespace = to_regnamespace('mirrord') "
        "AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> ALL (%s) "
        "AND NOT (c.relrowsecurity AND (c.relforcerowsecurity "
        "OR coalesce(current_setting('mirrord.cluster', true), '') = 'on')) ORDER BY 1",
        (list(_TABLES_WITHOUT_TENANT),),
    )
    return [str(name) for (name,) in await cursor.fetchall()]


async def try_isolation(database: Database) -> TenantIsolation:
    """Try every forbidden access from one new tenant to another. Rolled back: nothing stays."""
    first, second = uuid4(), uuid4()
    leaks: list[str] = []
    async with database.autocommit() as connection, connection.transaction(force_rollback=True):
        for tenant in (first, second):
            name = f"doctor-{tenant.hex}"
            await connection.execute("INSERT INTO mirrord.tenant (id, name) VALUES (%s, %s)", (tenant, name))
            await connection.execute("INSERT INTO mirrord.tenant_clock (tenant_id) VALUES (%s)", (tenant,))
        await set_local(connection, "mirrord.tenant", str(first))
        await connection.execute("INSERT INTO mirrord.page (name, markdown) VALUES ('A page', 'text')")
        leaks += await _find_leaks(connection, first, second, "mirrord itself")
        # A transaction on a cluster reaches each node as one role.
        as_app = not connection.is_cluster and await _may_be_app(connection)
        if as_app:
            await connection.execute("SET LOCAL ROLE mirrord_app")
            leaks += await _find_leaks(connection, first, second, "an app")
    return TenantIsolation(tuple(leaks), as_app)


async def _find_leaks(connection: Connection, owner: object, intruder: object, role: str) -> list[str]:
    """Sentences about the ways in which *intruder* reaches the page of *owner*."""
    await set_local(connection, "mirrord.tenant", str(intruder))
    leaks = []
    if await _reaches(connection, "SELECT id FROM mirrord.page WHERE tenant_id = %s", owner):
        leaks.append(f"As {role} one tenant reads another's pages.")
    if await _reaches(connection, "UPDATE mirrord.page SET title = 'x' WHERE tenant_id = %s RETURNING id", owner):
        leaks.append(f"As {role} one tenant changes another's pages.")
    if await _reaches(connection, "INSERT INTO mirrord.page (tenant_id, name) VALUES (%s, 'x') RETURNING id", owner):
        leaks.append(f"As {role} one tenant adds pages to another.")
    await set_local(connection, "mirrord.tenant", "")
    if await _reaches(connection, "SELECT count(*) FROM mirrord.page"):
        leaks.append(f"As {role} a forgotten tenant is no error.")
    return leaks


async def _reaches(connection: Connection, statement: str, *values: object) -> bool:
    """Whether *statement* returns a row; False if Postgres refuses it."""
    try:
        async with connection.transaction():
            return await (await connection.execute(statement.encode(), values)).fetchone() is not None
    except psycopg.errors.InsufficientPrivilege:
        return False


async def _may_be_app(connection: Connection) -> bool:
    query = "SELECT pg_catalog.pg_has_role(session_user, 'mirrord_app', 'MEMBER')"
    return await _load_value(connection, query) == "True"


async def measure_notification(database: Database, listening_dsn: str) -> float | None:
    """Seconds from a commit to its notification, on a private channel; None: it did not arrive."""
    channel = sql.Identifier(f"mirrord_doctor_{uuid4().hex[:16]}")
    with translate_errors():
        async with await Connection.connect(daemon_dsn(listening_dsn), autocommit=True) as listener:
            await listener.execute(sql.SQL("LISTEN {}").format(channel))
            started = time.monotonic()
            async with database.connection() as connection:
                await connection.execute(sql.SQL("NOTIFY {}").format(channel))
            async for _ in listener.notifies(timeout=NOTIFICATION_SECONDS, stop_after=1):
                return time.monotonic() - started
    return None


async def load_standing(
    database: Database, name: str, tenant: TenantId, mirror: MirrorId | None, *, is_leased: bool | None
) -> TenantStatus:
    """The condition of *tenant*. mirror: its mirror here, whose pending changes are checked; None: none here."""
    async with database.transaction(tenant) as connection:
        counts = await tenant_rows.load_counts(connection, tenant)
        oldest = await _oldest_pending_seconds(connection, tenant, mirror) if mirror is not None else None
    return TenantStatus(name, is_leased, counts.problems, counts.halts, counts.conflicts, oldest)


async def _oldest_pending_seconds(connection: Connection, tenant: TenantId, mirror: MirrorId) -> float | None:
    """Seconds since the write of the first page that this mirror has not acknowledged."""
    values: Sequence[object] = (tenant, tenant, mirror)
    cursor = await connection.execute(
        "SELECT entry_id FROM mirrord.entry_feed WHERE tenant_id = %s AND kind = 'page' "
        "AND seq > (SELECT ack_seq FROM mirrord.mirror WHERE tenant_id = %s AND id = %s) ORDER BY seq LIMIT 1",
        values,
    )
    first = await cursor.fetchone()
    if first is None:
        return None
    cursor = await connection.execute(
        "SELECT extract(epoch FROM clock_timestamp() - updated_at) FROM mirrord.page WHERE tenant_id = %s AND id = %s",
        (tenant, first[0]),
    )
    row = await cursor.fetchone()
    return float(row[0]) if row else None
