"""Looking at the database: version, roles, schema, what keeps tenants apart (tried, and rolled back), latency."""

import time
from collections.abc import Sequence
from uuid import uuid4

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow

from mirrord.db import migrate, overview
from mirrord.db.connect import Connection, Database, administered, translated
from mirrord.db.walls import open_walls
from mirrord.domain.entry import MirrorId, TenantId
from mirrord.domain.health import Login, Server, Standing, Wall

PATIENCE = 5.0  # seconds for a notification
_ROLES = ("mirrord_owner", "mirrord_definer", "mirrord_daemon", "mirrord_app")
_OF_NO_TENANT = ("migration", "epoch")


async def look(dsn: str) -> Server:
    """What can be asked of any server, with a schema or without. Raises Unavailable, UserError."""
    async with administered(dsn) as connection:
        before = time.time()
        theirs = float(await _value(connection, "SELECT extract(epoch FROM clock_timestamp())"))
        roles = await (
            await connection.execute(
                "SELECT rolname, rolsuper OR rolbypassrls FROM pg_catalog.pg_roles WHERE rolname = ANY (%s)",
                (list(_ROLES),),
            )
        ).fetchall()
        missing = tuple(name for name in _ROLES if name not in {str(known) for known, _ in roles})
        schema = await migrate.schema_number(connection)
        return Server(
            version=connection.info.server_version,
            skew=theirs - (before + time.time()) / 2,
            schema=schema,
            newest_schema=migrate.migrations()[-1].number,
            missing_roles=missing,
            mighty_roles=tuple(str(name) for name, is_mighty in roles if is_mighty),
            unguarded=tuple(await _unguarded(connection)),
            login=await _login(connection),
            open_walls=tuple(await open_walls(connection)) if schema and not missing else (),
        )


async def _login(connection: Connection) -> Login:
    name, is_superuser = await _row(
        connection, "SELECT rolname, rolsuper FROM pg_catalog.pg_roles WHERE rolname = session_user"
    )
    return Login(str(name), is_superuser=bool(is_superuser))


async def _value(connection: Connection, query: str, *values: object) -> str:
    return str((await _row(connection, query, *values))[0])


async def _row(connection: Connection, query: str, *values: object) -> TupleRow:
    row = await (await connection.execute(query.encode(), values)).fetchone()
    assert row is not None
    return row


async def _unguarded(connection: Connection) -> list[str]:
    """Tables with rows of tenants in which row-level security does not hold everybody."""
    cursor = await connection.execute(
        "SELECT c.relname FROM pg_catalog.pg_class AS c WHERE c.relnamespace = to_regnamespace('mirrord') "
        "AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> ALL (%s) "
        "AND NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY 1",
        (list(_OF_NO_TENANT),),
    )
    return [str(name) for (name,) in await cursor.fetchall()]


async def try_wall(database: Database) -> Wall:
    """Try to cross from one new tenant to another in every way that must fail. Rolled back: nothing stays."""
    one, other = uuid4(), uuid4()
    leaks: list[str] = []
    async with database.autocommit() as connection, connection.transaction(force_rollback=True):
        for tenant in (one, other):
            name = f"doctor-{tenant.hex}"
            await connection.execute("INSERT INTO mirrord.tenant (id, name) VALUES (%s, %s)", (tenant, name))
            await connection.execute("INSERT INTO mirrord.tenant_clock (tenant_id) VALUES (%s)", (tenant,))
        await _set(connection, "mirrord.tenant", str(one))
        await connection.execute("INSERT INTO mirrord.page (name, markdown) VALUES ('A page', 'text')")
        leaks += await _leaks(connection, one, other, "mirrord itself")
        as_app = await _may_be_app(connection)
        if as_app:
            await connection.execute("SET LOCAL ROLE mirrord_app")
            leaks += await _leaks(connection, one, other, "an app")
    return Wall(tuple(leaks), as_app)


async def _leaks(connection: Connection, one: object, other: object, who: str) -> list[str]:
    """Ways on which the page of *one* is reached from *other*, as sentences."""
    await _set(connection, "mirrord.tenant", str(other))
    found = []
    if await _reaches(connection, "SELECT id FROM mirrord.page WHERE tenant_id = %s", one):
        found.append(f"As {who} one tenant reads another's pages.")
    if await _reaches(connection, "UPDATE mirrord.page SET title = 'x' WHERE tenant_id = %s RETURNING id", one):
        found.append(f"As {who} one tenant changes another's pages.")
    if await _reaches(connection, "INSERT INTO mirrord.page (tenant_id, name) VALUES (%s, 'x') RETURNING id", one):
        found.append(f"As {who} one tenant adds pages to another.")
    await _set(connection, "mirrord.tenant", "")
    if await _reaches(connection, "SELECT count(*) FROM mirrord.page"):
        found.append(f"As {who} a forgotten tenant is no error.")
    return found


async def _reaches(connection: Connection, statement: str, *values: object) -> bool:
    """Whether *statement* gives a row; refused, it gives none."""
    try:
        async with connection.transaction():
            return await (await connection.execute(statement.encode(), values)).fetchone() is not None
    except psycopg.errors.InsufficientPrivilege:
        return False


async def _may_be_app(connection: Connection) -> bool:
    may = "SELECT pg_catalog.pg_has_role(session_user, 'mirrord_app', 'MEMBER')"
    return await _value(connection, may) == "True"


async def _set(connection: Connection, name: str, value: str) -> None:
    await connection.execute(sql.SQL("SET LOCAL {} = {}").format(sql.SQL(name), sql.Literal(value)))


async def bell(database: Database) -> float | None:
    """Seconds from a commit to the notification of it, on a channel of our own; None: it did not come."""
    channel = sql.Identifier(f"mirrord_doctor_{uuid4().hex[:16]}")
    with translated():
        async with await AsyncConnection.connect(database.dsn, autocommit=True) as listener:
            await listener.execute(sql.SQL("LISTEN {}").format(channel))
            began = time.monotonic()
            async with database.connection() as connection:
                await connection.execute(sql.SQL("NOTIFY {}").format(channel))
            async for _ in listener.notifies(timeout=PATIENCE, stop_after=1):
                return time.monotonic() - began
    return None


async def standing(
    database: Database, name: str, tenant: TenantId, mirror: MirrorId | None, *, is_leased: bool | None
) -> Standing:
    """How *tenant* stands. mirror: the one whose changes are looked for; None: there is none here."""
    async with database.transaction(tenant) as connection:
        counts = await overview.counts(connection, tenant)
        oldest = await _oldest(connection, tenant, mirror) if mirror is not None else None
    return Standing(name, is_leased, counts.problems, counts.halts, counts.conflicts, oldest)


async def _oldest(connection: Connection, tenant: TenantId, mirror: MirrorId) -> float | None:
    """Seconds since the page was written that is the first this mirror has not acknowledged."""
    asked: Sequence[object] = (tenant, tenant, mirror)
    cursor = await connection.execute(
        "SELECT entry_id FROM mirrord.entry_feed WHERE tenant_id = %s AND kind = 'page' "
        "AND seq > (SELECT ack_seq FROM mirrord.mirror WHERE tenant_id = %s AND id = %s) ORDER BY seq LIMIT 1",
        asked,
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
