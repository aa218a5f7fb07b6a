"""A tenant's rows at one moment, for exports and backups; and a backup's rows stored in a tenant that has none."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import psycopg
from psycopg import IsolationLevel, sql

from mirrord.db import tenant_rows
from mirrord.db.database import Connection, Database, apply_server_settings, set_tenant, translate_errors
from mirrord.db.migrate import load_schema_number
from mirrord.domain.entry import NO_TEXT, Digest, EntryId, Kind, Place, Row, TenantId
from mirrord.errors import Refused

_NEW_LIMIT = "transaction_timeout"  # which servers before 17 do not know
_NO_LIMITS = ("idle_in_transaction_session_timeout = 0", f"{_NEW_LIMIT} = 0")


@asynccontextmanager
async def open_snapshot(database: Database, tenant: TenantId) -> AsyncIterator[Connection]:
    """
    A separate connection in one read-only transaction that sees one moment.

    It locks no row and has no time limit, so that files may be written meanwhile.
    """
    with translate_errors():
        # Statements that are prepared would stay in the session of a pooler.
        async with await Connection.connect(database.dsn, autocommit=True, prepare_threshold=None) as connection:
            await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
            async with connection.transaction():
                # for queries of all rows of a tenant, not of one
                await _apply_settings(connection, (*_NO_LIMITS, "plan_cache_mode = auto"))
                await set_tenant(connection, tenant)
                yield connection


_FETCH_ROWS = 5_000  # rows per fetch

_LIVING = """
SELECT id, kind, parent_id, coalesce(name, ''), index, name_key IS NOT NULL, version, digest, ahead,
       CASE WHEN name_key IS NULL THEN title END, coalesce(octet_length(markdown), 0),
       CASE WHEN name_key IS NULL THEN created_at END
  FROM mirrord.page WHERE tenant_id = %(tenant)s AND deleted_at IS NULL
UNION ALL
SELECT id, 'attachment', parent_id, name, false, name_key IS NOT NULL, version, digest, '{}', NULL, size,
       CASE WHEN name_key IS NULL THEN created_at END
  FROM mirrord.attachment WHERE tenant_id = %(tenant)s AND deleted_at IS NULL
UNION ALL
SELECT id, 'record', NULL, kind || '/' || key, false, true, version, digest, ahead, NULL,
       coalesce(octet_length(text), 0), NULL
  FROM mirrord.record WHERE tenant_id = %(tenant)s AND deleted_at IS NULL"""


@dataclass(frozen=True, slots=True)
class LiveEntry:
    """A live entry. size: of its text or bytes in the row. created_at: None if it has a place."""

    row: Row
    size: int
    created_at: datetime | None


async def load_live_entries(connection: Connection, tenant: TenantId) -> AsyncIterator[LiveEntry]:
    """All live entries; titles only of entries without a place. Call it inside a snapshot."""
    parents: dict[EntryId | None, EntryId | None] = {None: None}  # one object each: there may be 100,000 children
    async with connection.cursor(name="everything") as cursor:
        cursor.itersize = _FETCH_ROWS
        await cursor.execute(_LIVING, {"tenant": tenant})
        async for entry, kind, parent, name, index, placed, version, digest, ahead, title, size, made_at in cursor:
            file_digest = NO_TEXT if kind == Kind.FOLDER else Digest(digest) if digest is not None else None
            place = Place(parents.setdefault(parent, parent), name, index)
            row = Row(EntryId(entry), Kind(kind), place, placed, version, file_digest, False, frozenset(ahead), title)
            yield LiveEntry(row, size, made_at)


async def load_moment(connection: Connection, tenant: TenantId) -> tuple[int, datetime]:
    """The seq of the tenant's change feed in this snapshot, and its time by Postgres' clock."""
    cursor = await connection.execute(
        "SELECT seq, now() FROM mirrord.tenant_clock WHERE tenant_id = %s",
        (tenant,),
    )
    row = await cursor.fetchone()
    assert row is not None
    return row[0], row[1]


async def load_first_parts(connection: Connection, tenant: TenantId, digests: Sequence[Digest]) -> dict[Digest, bytes]:
    """The first parts of blobs; the whole of those with one part."""
    cursor = await connection.execute(
        "SELECT digest, bytes FROM mirrord.blob WHERE tenant_id = %s AND digest = ANY (%s) AND part = 0",
        (tenant, list(digests)),
    )
    return {Digest(digest): data for digest, data in await cursor.fetchall()}


async def load_parts(connection: Connection, tenant: TenantId, digest: Digest) -> AsyncIterator[bytes]:
    """The parts of a blob; none if it is not stored."""
    async with connection.cursor(name="parts") as cursor:
        cursor.itersize = 1
        await cursor.execute(
            "SELECT bytes FROM mirrord.blob WHERE tenant_id = %s AND digest = %s ORDER BY part", (tenant, digest)
        )
        async for (data,) in cursor:
            yield data


_IS_FILLED = "MR002"
# Output that does not depend on the settings of a server or role.
_FORMATS = ("TimeZone = 'UTC'", "DateStyle = 'ISO, MDY'", "bytea_output = 'hex'", "extra_float_digits = 3")

_COLUMNS = """
SELECT attname FROM pg_attribute
 WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attname <> 'tenant_id'
 ORDER BY attnum"""
_KEYS = """
SELECT attname FROM pg_index, unnest(indkey) WITH ORDINALITY AS key (number, place), pg_attribute
 WHERE indrelid = %s::regclass AND indisprimary AND attrelid = indrelid AND attnum = number AND attname <> 'tenant_id'
 ORDER BY place"""
_TENANT_STATE = """
SELECT name, created_at::text, clock_timestamp()::text, seq, dialect
  FROM mirrord.tenant, mirrord.tenant_clock WHERE id = %(tenant)s AND tenant_id = %(tenant)s"""
_DIGESTS = """
SELECT digest FROM mirrord.page WHERE tenant_id = %(tenant)s AND deleted_at IS NULL AND digest IS NOT NULL
UNION SELECT digest FROM mirrord.attachment WHERE tenant_id = %(tenant)s AND deleted_at IS NULL
UNION SELECT digest FROM mirrord.record WHERE tenant_id = %(tenant)s AND deleted_at IS NULL AND digest IS NOT NULL"""


@dataclass(frozen=True, slots=True)
class TenantSnapshot:
    """A tenant's state in a snapshot. Times in Postgres' text form; the other values as in a manifest."""

    schema: int
    name: str
    tenant_created_at: str
    created_at: str
    seq: int
    dialect: str


async def load_snapshot(connection: Connection, tenant: TenantId) -> TenantSnapshot:
    """The tenant's state in this snapshot. Also sets the connection to the output formats of a backup."""
    await _apply_settings(connection, (*_FORMATS, "statement_timeout = 0"))
    row = await (await connection.execute(_TENANT_STATE, {"tenant": tenant})).fetchone()
    assert row is not None
    return TenantSnapshot(await load_schema_number(connection), *row)


async def load_table_names(connection: Connection) -> list[str]:
    """The tables that a backup contains, in an order in which they can be restored."""
    row = await (await connection.execute("SELECT mirrord.kept_tables()")).fetchone()
    assert row is not None
    return list(row[0])


async def load_columns(connection: Connection, table: str) -> list[str]:
    """The columns of a table except for the tenant and generated columns."""
    cursor = await connection.execute(_COLUMNS, (f"mirrord.{table}",))
    return [name for (name,) in await cursor.fetchall()]


async def count_rows(connection: Connection, tenant: TenantId, table: str) -> int:
    """The number of rows that the tenant has in a table."""
    query = sql.SQL("SELECT count(*) FROM {} WHERE tenant_id = %s").format(sql.Identifier("mirrord", table))
    row = await (await connection.execute(query, (tenant,))).fetchone()
    assert row is not None
    return int(row[0])


async def dump_rows(
    connection: Connection, tenant: TenantId, table: str, columns: Sequence[str]
) -> AsyncIterator[tuple[str, bytes]]:
    """
    Every row of a table in key order, as (key, JSON object in one line).

    Every value is Postgres' text form, or null: so each type is restored unchanged.
    """
    cursor = await connection.execute(_KEYS, (f"mirrord.{table}",))
    keys = [sql.Identifier(name) for (name,) in await cursor.fetchall()]
    query = sql.SQL(
        "COPY (SELECT concat_ws('/', {keys}), json_object(ARRAY[{names}], ARRAY[{values}])::text FROM {table} "
        "WHERE tenant_id = {tenant} ORDER BY {keys}) TO STDOUT (FORMAT binary)"
    ).format(
        keys=sql.SQL(", ").join(keys),
        names=sql.SQL(", ").join(map(sql.Literal, columns)),
        values=sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier(name)) for name in columns),
        table=sql.Identifier("mirrord", table),
        tenant=sql.Literal(tenant),
    )
    async with connection.cursor() as reader, reader.copy(query) as copy:
        copy.set_types(["text", "text"])
        async for key, line in copy.rows():
            yield key, line.encode()


async def dump_blobs(connection: Connection, tenant: TenantId) -> AsyncIterator[tuple[bytes, int, bytes]]:
    """Every part of the bytes of attachments, as (digest, part number, bytes)."""
    query = sql.SQL(
        "COPY (SELECT digest, part, bytes FROM mirrord.blob WHERE tenant_id = {} ORDER BY digest, part) "
        "TO STDOUT (FORMAT binary)"
    ).format(sql.Literal(tenant))
    async with connection.cursor() as reader, reader.copy(query) as copy:
        copy.set_types(["bytea", "int4", "bytea"])
        async for digest, part, data in copy.rows():
            yield digest, part, data


async def load_live_digests(connection: Connection, tenant: TenantId) -> set[bytes]:
    """The digests of the files of all live rows."""
    cursor = await connection.execute(_DIGESTS, {"tenant": tenant})
    return {digest for (digest,) in await cursor.fetchall()}


async def create_tenant(database: Database, name: str, tenant: TenantId, made_at: str) -> None:
    """Create a tenant with a given id unless it exists. Raises Refused if another tenant has the name or id."""
    tenant_ids = await tenant_rows.load_tenants(database)
    if tenant_ids.get(name) == tenant:
        return
    other_name = next((existing for existing, tenant_id in tenant_ids.items() if tenant_id == tenant), None)
    if other_name is not None:
        raise Refused(
            f"The tenant of this backup is here already, under the name {other_name}. Restore it --as a new one."
        )
    if name in tenant_ids:
        raise Refused(f"There is another tenant called {name} already. Restore it --as another name.")
    async with database.connection() as connection:
        statement = "INSERT INTO mirrord.tenant (id, name, created_at) VALUES (%s, %s, %s::timestamptz)"
        await connection.execute(statement, (tenant, name, made_at))
        await connection.execute("INSERT INTO mirrord.tenant_clock (tenant_id) VALUES (%s)", (tenant,))


@asynccontextmanager
async def restore_transaction(database: Database, tenant: TenantId, name: str) -> AsyncIterator[Connection]:
    """One transaction that stores rows unchanged in an empty tenant. Raises Refused if it has rows."""
    with translate_errors():
        async with await Connection.connect(database.dsn, autocommit=True) as connection:
            await apply_server_settings(connection)
            async with connection.transaction():
                await _apply_settings(connection, (*_FORMATS, *_NO_LIMITS, "statement_timeout = 0"))
                await set_tenant(connection, tenant)
                try:
                    await connection.execute("SELECT mirrord.begin_restore(%s)", (tenant,))
                except psycopg.Error as error:
                    if error.sqlstate == _IS_FILLED:
                        raise Refused(f"The tenant {name} has pages already. Restore it --as a new one.") from error
                    raise
                yield connection
            async with connection.transaction():
                await _apply_settings(connection, (*_NO_LIMITS, "statement_timeout = 0"))
                await connection.execute("SELECT mirrord.keep_statistics()")


async def store_rows(
    connection: Connection, tenant: TenantId, table: str, columns: Sequence[str], lines: Sequence[bytes]
) -> int:
    """Store rows as rows() yields them. Returns their number."""
    array = b"[" + b",".join(lines) + b"]"
    query = "SELECT mirrord.restore_rows(%s, %s, %s, %s::text::json)"
    row = await (await connection.execute(query, (tenant, table, list(columns), array.decode()))).fetchone()
    assert row is not None
    return int(row[0])


async def store_blob(connection: Connection, tenant: TenantId, digest: bytes, part: int, data: bytes) -> None:
    """Store one part of the bytes of an attachment."""
    statement = "INSERT INTO mirrord.blob (tenant_id, digest, part, bytes) VALUES (%s, %s, %s, %b)"
    await connection.execute(statement, (tenant, digest, part, data))


async def finish_restore(connection: Connection, tenant: TenantId, seq: int) -> None:
    """Finish: mirrors and apps see the rows after the commit. seq: of the tenant's clock in the backup."""
    row = await (await connection.execute("SELECT mirrord.end_restore(%s, %s)", (tenant, seq))).fetchone()
    if row is not None and row[0] is not None:
        await connection.execute("SELECT mirrord.skip_conflict_numbers(%s)", row)


async def _apply_settings(connection: Connection, settings: Sequence[str]) -> None:
    """Apply them to the current transaction: behind a pooler the session goes on to serve others."""
    for setting in settings:
        if not setting.startswith(_NEW_LIMIT) or connection.info.server_version >= 170000:
            await connection.execute(sql.SQL("SET LOCAL {}").format(sql.SQL(setting)))


def parse_tenant_id(text: str) -> TenantId:
    """Parse the tenant id of a manifest."""
    return TenantId(UUID(text))
