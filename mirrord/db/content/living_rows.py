"""Everything of a tenant that is not deleted, at one moment; texts and bytes are read apart."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from psycopg import AsyncConnection, IsolationLevel

from mirrord.db.database import Connection, Database, set_tenant, translate_errors
from mirrord.domain.entry import NO_TEXT, Digest, EntryId, Kind, Place, Row, TenantId


@asynccontextmanager
async def open_snapshot(database: Database, tenant: TenantId) -> AsyncIterator[Connection]:
    """
    A separate connection in one read-only transaction that sees one moment.

    It locks no row and has no time limit, so that files may be written meanwhile.
    """
    with translate_errors():
        async with await AsyncConnection.connect(database.dsn, autocommit=True) as connection:
            await connection.execute("SET idle_in_transaction_session_timeout = 0")
            await connection.execute("SET plan_cache_mode = auto")  # for queries of all rows of a tenant, not of one
            await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
            async with connection.transaction():
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
