"""What Postgres knows of tenants before their trees are opened, asked for all of them together."""

from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.db.content.dialect_rows import load_tenant_dialects
from mirrord.db.database import Database
from mirrord.db.mirror_leases import MirrorFacts, load_mirrors_of
from mirrord.domain.dialect import TenantDialect
from mirrord.domain.entry import TenantId


@dataclass(frozen=True, slots=True)
class TenantPast:
    """What is known of a tenant before its tree is opened: its mirrors, the number of its last change, its dialect."""

    mirrors: Sequence[MirrorFacts]
    seq: int
    spoken: TenantDialect

    @property
    def is_empty(self) -> bool:
        """Whether no mirror and no change was ever there."""
        return not self.mirrors and self.seq == 0


async def load_pasts(database: Database, tenants: Sequence[TenantId]) -> dict[TenantId, TenantPast]:
    """The past of each of *tenants*, in three statements for all of them."""
    async with database.connection() as connection:
        mirrors = await load_mirrors_of(connection, tenants)
        query = "SELECT tenant_id, seq FROM mirrord.tenant_clock WHERE tenant_id = ANY (%s)"
        seqs: dict[TenantId, int] = dict(await (await connection.execute(query, (list(tenants),))).fetchall())
        dialects = await load_tenant_dialects(connection, tenants)
    return {tenant: TenantPast(mirrors[tenant], seqs.get(tenant, 0), dialects[tenant]) for tenant in tenants}
