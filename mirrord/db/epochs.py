"""The epoch of the database, and the mirror's acknowledged work: evidence of a rewind (docs/design/sync.md)."""

from dataclasses import dataclass

from mirrord.db.connect import Connection, Database, Lease
from mirrord.domain.entry import Digest, EntryId, MirrorId, TenantId

_EPOCH = (
    "SELECT e.system, e.id, (SELECT system_identifier FROM pg_control_system()), "
    "left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM mirrord.epoch AS e"
)


@dataclass(frozen=True, slots=True)
class NewestPage:
    """The page changed last, in that version. digest None: a folder, or not rendered yet."""

    entry: EntryId
    version: int
    digest: Digest | None


async def load_epoch(connection: Connection) -> str:
    """
    The cluster, its timeline and the database's own number as one text: another text means another history.

    Transaction ids of another cluster are meaningless here, so clocks discard them.
    """
    row = await (await connection.execute(_EPOCH)).fetchone()
    assert row is not None
    stored_system, number, system, timeline = row
    if stored_system != system:
        await connection.execute("UPDATE mirrord.tenant_clock SET xid = NULL")
        await connection.execute("UPDATE mirrord.epoch SET system = %s", (system,))
    return f"{system} {timeline} {number}"


async def load_acknowledged_rounds(connection: Connection, tenant: TenantId, mirror: MirrorId) -> int:
    """The number of rounds acknowledged in the mirror's row; 0 without a row."""
    cursor = await connection.execute(
        "SELECT acks FROM mirrord.mirror WHERE tenant_id = %s AND id = %s", (tenant, mirror)
    )
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


_NEWEST = """
SELECT id, version, digest FROM mirrord.page WHERE tenant_id = %(tenant)s AND id = (
    SELECT entry_id FROM mirrord.entry_feed WHERE tenant_id = %(tenant)s AND kind = 'page'
     ORDER BY seq DESC, entry_id DESC LIMIT 1)"""


async def load_newest_page(connection: Connection, tenant: TenantId) -> NewestPage | None:
    """The page changed last; None: no page yet. Needs the tenant set."""
    row = await (await connection.execute(_NEWEST, {"tenant": tenant})).fetchone()
    return NewestPage(EntryId(row[0]), row[1], Digest(row[2]) if row[2] is not None else None) if row else None


async def is_in_history(connection: Connection, tenant: TenantId, page: NewestPage) -> bool:
    """Whether the page had that text in that version. A text not rendered then may be rendered since."""
    cursor = await connection.execute(
        "SELECT FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s AND version = %s "
        "AND (%s::bytea IS NULL OR digest = %s)",
        (tenant, page.entry, page.version, page.digest, page.digest),
    )
    return await cursor.fetchone() is not None


async def store_acknowledged_rounds(database: Database, lease: Lease, acks: int) -> bool:
    """Store the number of acknowledged rounds in the mirror's row. False: the lease is lost."""
    async with database.connection() as connection:
        cursor = await connection.execute(
            "UPDATE mirrord.mirror SET acks = %s WHERE id = %s AND token = %s AND expires_at > clock_timestamp() "
            "RETURNING id",
            (acks, lease.mirror, lease.token),
        )
        return await cursor.fetchone() is not None
