"""Is this the database we worked with? Its epoch, and what it remembers of a mirror's acknowledged work (SYNC 1.1)."""

from dataclasses import dataclass

from mirrord.db.connect import Connection, Database, Lease
from mirrord.domain.entry import Digest, EntryId, MirrorId, TenantId

_EPOCH = (
    "SELECT e.system, e.id, (SELECT system_identifier FROM pg_control_system()), "
    "left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM mirrord.epoch AS e"
)


@dataclass(frozen=True, slots=True)
class Newest:
    """The page that changed last, as its row was then. digest None: a folder, or not rendered yet."""

    entry: EntryId
    version: int
    digest: Digest | None


async def epoch(connection: Connection) -> str:
    """
    The cluster, its timeline and the database's own number as one text: another text means another past.

    Transaction ids of another cluster mean nothing here, so clocks that remember one forget it.
    """
    row = await (await connection.execute(_EPOCH)).fetchone()
    assert row is not None
    noted, number, system, timeline = row
    if noted != system:
        await connection.execute("UPDATE mirrord.tenant_clock SET xid = NULL")
        await connection.execute("UPDATE mirrord.epoch SET system = %s", (system,))
    return f"{system} {timeline} {number}"


async def acks_of(connection: Connection, tenant: TenantId, mirror: MirrorId) -> int:
    """How many rounds of work the mirror's row has acknowledged; 0 where there is no row."""
    cursor = await connection.execute(
        "SELECT acks FROM mirrord.mirror WHERE tenant_id = %s AND id = %s", (tenant, mirror)
    )
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


_NEWEST = """
SELECT id, version, digest FROM mirrord.page WHERE tenant_id = %(tenant)s AND id = (
    SELECT entry_id FROM mirrord.entry_feed WHERE tenant_id = %(tenant)s AND kind = 'page'
     ORDER BY seq DESC, entry_id DESC LIMIT 1)"""


async def newest(connection: Connection, tenant: TenantId) -> Newest | None:
    """The page changed last; None: there was none yet. Needs the tenant set."""
    row = await (await connection.execute(_NEWEST, {"tenant": tenant})).fetchone()
    return Newest(EntryId(row[0]), row[1], Digest(row[2]) if row[2] is not None else None) if row else None


async def is_in_history(connection: Connection, tenant: TenantId, known: Newest) -> bool:
    """Whether the page had that text in that version. A text that was still to be rendered may have come since."""
    cursor = await connection.execute(
        "SELECT FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s AND version = %s "
        "AND (%s::bytea IS NULL OR digest = %s)",
        (tenant, known.entry, known.version, known.digest, known.digest),
    )
    return await cursor.fetchone() is not None


async def acknowledge(database: Database, lease: Lease, acks: int) -> bool:
    """Note in the mirror's row how many rounds it has acknowledged; False: the lease is lost."""
    async with database.connection() as connection:
        cursor = await connection.execute(
            "UPDATE mirrord.mirror SET acks = %s WHERE id = %s AND token = %s AND expires_at > clock_timestamp() "
            "RETURNING id",
            (acks, lease.mirror, lease.token),
        )
        return await cursor.fetchone() is not None
