"""Engine processes that share the tenants of a pool: who lives, and who has claimed which tenant."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mirrord.db.database import Database
from mirrord.domain.entry import TenantId

EXPIRY_SECONDS = 8  # seconds without a renewal after which a process counts as ended, by Postgres' clock
RENEWAL_SECONDS = 2.0  # seconds between renewals


@dataclass(frozen=True, slots=True)
class PoolMember:
    """One engine process. pool: the name of what it shares; name: its own, the same after a restart."""

    pool: str
    name: str


@dataclass(frozen=True, slots=True)
class PoolState:
    """
    A pool at one moment.

    living: names of processes that renewed their rows lately. ended: those that did not, and did not leave.
    claims: the process of each claimed tenant, of ended ones too.
    """

    living: frozenset[str]
    ended: frozenset[str]
    claims: dict[TenantId, str]


async def renew_membership(database: Database, member: PoolMember) -> PoolState:
    """Renew the row of *member*, made if it is missing; returns the pool as of then."""
    async with database.connection(urgent=True) as connection:
        await connection.execute(
            "INSERT INTO mirrord.engine_process (pool, name, expires_at) "
            "VALUES (%s, %s, clock_timestamp() + make_interval(secs => %s)) "
            "ON CONFLICT (pool, name) DO UPDATE SET expires_at = EXCLUDED.expires_at",
            (member.pool, member.name, EXPIRY_SECONDS),
        )
        processes = await connection.execute(
            "SELECT name, expires_at > clock_timestamp() FROM mirrord.engine_process WHERE pool = %s", (member.pool,)
        )
        is_living: dict[str, bool] = dict(await processes.fetchall())
        claims = await connection.execute(
            "SELECT tenant_id, process FROM mirrord.tenant_claim WHERE pool = %s", (member.pool,)
        )
        claimed = {TenantId(tenant): process for tenant, process in await claims.fetchall()}
    return PoolState(
        frozenset(name for name, living in is_living.items() if living),
        frozenset(name for name, living in is_living.items() if not living),
        claimed,
    )


async def claim_tenants(database: Database, member: PoolMember, tenants: Sequence[TenantId]) -> frozenset[TenantId]:
    """Claim those of *tenants* that no living process of the pool has. Returns what *member* got."""
    async with database.autocommit() as connection:
        cursor = await connection.execute(
            "INSERT INTO mirrord.tenant_claim AS c (tenant_id, pool, process) "
            "SELECT tenant, %(pool)s, %(name)s FROM unnest(%(tenants)s::uuid[]) AS t (tenant) ORDER BY tenant "
            "ON CONFLICT (tenant_id, pool) DO UPDATE SET process = EXCLUDED.process "
            "WHERE NOT EXISTS (SELECT FROM mirrord.engine_process AS p WHERE p.pool = c.pool "
            "AND p.name = c.process AND p.expires_at > clock_timestamp()) RETURNING tenant_id",
            {"pool": member.pool, "name": member.name, "tenants": list(tenants)},
        )
        return frozenset(TenantId(row[0]) for row in await cursor.fetchall())


async def release_claims(database: Database, member: PoolMember, tenants: Collection[TenantId]) -> None:
    """Release claims of *member*; those that another process has by now stay."""
    async with database.autocommit() as connection:
        await connection.execute(
            "DELETE FROM mirrord.tenant_claim WHERE pool = %s AND process = %s AND tenant_id = ANY (%s)",
            (member.pool, member.name, list(tenants)),
        )


async def leave_pool(database: Database, member: PoolMember) -> None:
    """Remove *member* and its claims, so that others need not wait for its expiry."""
    async with database.connection() as connection:
        await connection.execute(
            "DELETE FROM mirrord.tenant_claim WHERE pool = %s AND process = %s", (member.pool, member.name)
        )
        await connection.execute(
            "DELETE FROM mirrord.engine_process WHERE pool = %s AND name = %s", (member.pool, member.name)
        )
