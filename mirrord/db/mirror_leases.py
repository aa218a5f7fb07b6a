"""Mirrors as rows: the lease with its fencing token, the database's epoch and what it remembers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from uuid import UUID

from mirrord.db.array_texts import array_of
from mirrord.db.database import Connection, Database, Lease
from mirrord.domain.entry import Digest, EntryId, MirrorId, TenantId
from mirrord.errors import Refused

LEASE_SECONDS = 15  # seconds until a lease expires without renewal, by Postgres' clock
RENEWAL_SECONDS = 5.0  # seconds between renewals


MirrorFacts = tuple[MirrorId, str | None, str | None, bool]  # mirror, host, root, whether its lease is held


async def load_mirrors(database: Database, tenant: TenantId) -> list[MirrorFacts]:
    """Every tree mirror of *tenant*."""
    async with database.autocommit() as connection:
        return (await load_mirrors_of(connection, [tenant]))[tenant]


async def load_mirrors_of(connection: Connection, tenants: Sequence[TenantId]) -> dict[TenantId, list[MirrorFacts]]:
    """Every tree mirror of each of *tenants*."""
    cursor = await connection.execute(
        "SELECT tenant_id, id, host, root, expires_at > clock_timestamp() AND holder IS NOT NULL FROM mirrord.mirror "
        "WHERE tenant_id = ANY (%s) AND kind = 'tree' ORDER BY created_at",
        (list(tenants),),
    )
    mirrors: dict[TenantId, list[MirrorFacts]] = {tenant: [] for tenant in tenants}
    for tenant, mirror, host, root, leased in await cursor.fetchall():
        mirrors[tenant].append((MirrorId(mirror), host, root, leased))
    return mirrors


async def record_mirror(database: Database, tenant: TenantId, mirror: MirrorId, host: str, root: str) -> None:
    """Store host and root of *mirror*; another mirror recorded there loses its root."""
    async with database.connection() as connection:
        await _record_mirror(connection, tenant, mirror, host, root)


async def _record_mirror(connection: Connection, tenant: TenantId, mirror: MirrorId, host: str, root: str) -> None:
    await connection.execute(
        "UPDATE mirrord.mirror SET root = NULL WHERE tenant_id = %s AND host = %s AND root = %s AND id <> %s",
        (tenant, host, root, mirror),
    )
    await connection.execute(
        "INSERT INTO mirrord.mirror (tenant_id, id, host, root) VALUES (%s, %s, %s, %s) "
        "ON CONFLICT (tenant_id, id) DO UPDATE SET host = EXCLUDED.host, root = EXCLUDED.root",
        (tenant, mirror, host, root),
    )


async def acquire_lease(
    database: Database,
    tenant: TenantId,
    mirror: MirrorId,
    holder: str,
    *,
    root_locked: bool,
    place: tuple[str, str] | None = None,
) -> Lease:
    """
    Acquire the lease with a new token, which fences the previous holder.

    root_locked: the caller holds the flock of the root named in this row, so an earlier holder there is dead and
    its lease need not expire first. place: host and root, recorded in the same transaction.
    Raises Refused while another daemon holds it; then nothing is recorded.
    """
    async with database.connection() as connection, connection.pipeline():
        if place is not None:
            await _record_mirror(connection, tenant, mirror, *place)
        cursor = await connection.execute(
            "UPDATE mirrord.mirror SET token = token + 1, holder = %s, state = NULL, "
            "expires_at = statement_timestamp() + make_interval(secs => %s) "
            "WHERE tenant_id = %s AND id = %s AND (expires_at < statement_timestamp() OR holder IS NULL OR %s) "
            "RETURNING token",
            (holder, LEASE_SECONDS, tenant, mirror, root_locked),
        )
        row = await cursor.fetchone()
        if row is None:
            raise Refused(
                f"Mirror {mirror} is held by another daemon; it is free {LEASE_SECONDS} s after that one stops."
            )
    return Lease(mirror, row[0])


async def was_released_for(database: Database, tenant: TenantId, mirror: MirrorId, limit: timedelta) -> bool:
    """Whether the lease of *mirror* was free for longer than *limit*; False for a new one. Call before acquire()."""
    async with database.connection() as connection:
        cursor = await connection.execute(
            "SELECT expires_at < clock_timestamp() - %s::interval FROM mirrord.mirror WHERE tenant_id = %s AND id = %s",
            (limit, tenant, mirror),
        )
        row = await cursor.fetchone()
        return bool(row and row[0])


_HELD = "unnest(%s::uuid[], %s::bigint[]"
_RENEW_LEASES = f"""
UPDATE mirrord.mirror AS m
   SET expires_at = statement_timestamp() + make_interval(secs => %s), state = coalesce(held.state, m.state),
       ack_seq = greatest(m.ack_seq, held.seq)
  FROM {_HELD}, %s::jsonb[], %s::bigint[]) AS held (id, token, state, seq)
 WHERE m.id = held.id AND m.token = held.token""".encode()
_LOAD_HELD = f"""
SELECT m.id FROM mirrord.mirror AS m JOIN {_HELD}) AS held (id, token) ON m.id = held.id AND m.token = held.token
""".encode()


async def renew_leases(
    database: Database,
    leases: list[Lease],
    states: Mapping[MirrorId, str] = MappingProxyType({}),
    acknowledged: Mapping[MirrorId, int] = MappingProxyType({}),
) -> set[MirrorId]:
    """
    Extend *leases* in one statement for all tenants. Returns the mirrors whose lease is still held.

    states: the changed states of mirrors, as JSON. acknowledged: the seq up to which a mirror has every change.
    """
    if not leases:
        return set()
    reporting = states.keys() | acknowledged.keys()
    ordered = sorted(leases, key=lambda lease: lease.mirror not in reporting)
    keys = array_of([lease.mirror for lease in ordered]), array_of([lease.token for lease in ordered])
    # These arrays end with the last mirror that has news: unnest() fills them up with NULL.
    first = [lease.mirror for lease in ordered[: len(reporting)]]
    news = ([values_by_mirror.get(mirror) for mirror in first] for values_by_mirror in (states, acknowledged))
    async with database.autocommit(urgent=True) as connection:
        cursor = await connection.execute(_RENEW_LEASES, (LEASE_SECONDS, *keys, *news))
        if cursor.rowcount == len(leases):
            return {lease.mirror for lease in leases}
        return {MirrorId(mirror) for (mirror,) in await (await connection.execute(_LOAD_HELD, keys)).fetchall()}


async def store_state(database: Database, lease: Lease, state: str) -> None:
    """Store a mirror's state, as JSON, between two renewals; no effect if the lease is lost."""
    async with database.autocommit() as connection:
        await connection.execute(
            "UPDATE mirrord.mirror SET state = %s::jsonb WHERE id = %s AND token = %s",
            (state, lease.mirror, lease.token),
        )


_RELEASE_LEASES = f"""
UPDATE mirrord.mirror AS m SET expires_at = statement_timestamp(), holder = NULL, state = NULL
  FROM {_HELD}) AS held (id, token) WHERE m.id = held.id AND m.token = held.token""".encode()


async def release_leases(database: Database, leases: list[Lease]) -> None:
    """Release *leases* in one statement for all tenants, so that the next daemon need not wait."""
    keys = array_of([lease.mirror for lease in leases]), array_of([lease.token for lease in leases])
    async with database.autocommit() as connection:
        await connection.execute(_RELEASE_LEASES, keys)


_EPOCH = """e.system, e.id, (SELECT system_identifier FROM pg_control_system()),
       left(pg_walfile_name(pg_current_wal_lsn()), 8)"""


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
    row = await (await connection.execute(f"SELECT {_EPOCH} FROM mirrord.epoch AS e".encode())).fetchone()
    assert row is not None
    return await _epoch_of(connection, *row)


async def _epoch_of(connection: Connection, stored_system: int, number: UUID, system: int, timeline: str) -> str:
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


@dataclass(frozen=True, slots=True)
class RowFacts:
    """What the database knows of a mirror's past: rounds it acknowledged, number of the tenant's last change, epoch."""

    acks: int
    seq: int
    epoch: str
    newest: NewestPage | None


# The epoch is that of the server to which the daemon is connected: on a cluster the rest is asked of another node.
_FACTS = f"""
WITH here (system, id, current_system, timeline) AS MATERIALIZED (SELECT {_EPOCH} FROM mirrord.epoch AS e)
SELECT here.*, coalesce((SELECT acks FROM mirrord.mirror WHERE tenant_id = %(tenant)s AND id = %(mirror)s), 0),
       coalesce((SELECT seq FROM mirrord.tenant_clock WHERE tenant_id = %(tenant)s), 0),
       newest.id, newest.version, newest.digest
  FROM here LEFT JOIN mirrord.page AS newest ON newest.tenant_id = %(tenant)s AND newest.id = (
    SELECT entry_id FROM mirrord.entry_feed WHERE tenant_id = %(tenant)s AND kind = 'page'
     ORDER BY seq DESC, entry_id DESC LIMIT 1)"""


async def load_facts(connection: Connection, tenant: TenantId, mirror: MirrorId) -> RowFacts:
    """What an acknowledgement is made from, in one statement. Needs the tenant set."""
    row = await (await connection.execute(_FACTS, {"tenant": tenant, "mirror": mirror})).fetchone()
    assert row is not None
    *epoch_facts, acks, seq, entry, version, digest = row
    newest = NewestPage(EntryId(entry), version, Digest(digest) if digest is not None else None) if entry else None
    return RowFacts(acks, seq, await _epoch_of(connection, *epoch_facts), newest)


async def has_bases(connection: Connection, tenant: TenantId, mirror: MirrorId) -> bool:
    """Whether *mirror* has the base of any entry."""
    cursor = await connection.execute(
        "SELECT FROM mirrord.mirror_base WHERE tenant_id = %s AND mirror_id = %s LIMIT 1", (tenant, mirror)
    )
    return await cursor.fetchone() is not None


async def is_in_history(connection: Connection, tenant: TenantId, page: NewestPage) -> bool:
    """Whether the page had that text in that version. A text not rendered then may be rendered since."""
    cursor = await connection.execute(
        "SELECT FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s AND version = %s "
        "AND (%s::bytea IS NULL OR digest = %s)",
        (tenant, page.entry, page.version, page.digest, page.digest),
    )
    return await cursor.fetchone() is not None


async def store_acknowledged_rounds(database: Database, tenant: TenantId, lease: Lease, acks: int) -> bool:
    """Store the number of acknowledged rounds in the mirror's row. False: the lease is lost."""
    async with database.autocommit() as connection:
        cursor = await connection.execute(
            # With the tenant a cluster asks one node; without, all, and commits in two phases.
            "UPDATE mirrord.mirror SET acks = %s WHERE tenant_id = %s AND id = %s AND token = %s "
            "AND expires_at > statement_timestamp() RETURNING id",
            (acks, tenant, lease.mirror, lease.token),
        )
        return await cursor.fetchone() is not None
