"""The end of texts of earlier versions: days that pass at once, and the purge as the daemon does it."""

from uuid import UUID

import psycopg

from mirrord.db.content.history_purge import RemovedBatch, begin_removal, remove_batch
from mirrord.db.database import Database
from mirrord.domain.entry import EntryId, TenantId
from mirrord.domain.history_rule import HistoryRule
from tests.support.rows import Connection

_TIMES = {
    "page_revision": ("created_at",),
    "record_revision": ("created_at",),
    "attachment_revision": ("created_at",),
    "change_set": ("started_at", "applied_at"),
    "approval": ("requested_at",),
}


def connect_clock(dsn: str) -> Connection:
    """An administrator's connection without triggers, for let_days_pass()."""
    connection = psycopg.connect(dsn, autocommit=True)
    connection.execute("SET session_replication_role = replica")
    return connection


def let_days_pass(clock: Connection, tenant: UUID, days: int) -> None:
    """Make every time of a tenant's versions, change sets and requests so many days earlier."""
    for table, columns in _TIMES.items():
        moved = ", ".join(f"{column} = {column} - make_interval(days => %(days)s)" for column in columns)
        query = f"UPDATE mirrord.{table} SET {moved} WHERE tenant_id = %(tenant)s"
        clock.execute(query.encode(), {"days": days, "tenant": tenant})


async def purge_texts(database: Database, tenant: TenantId, rule: HistoryRule) -> list[RemovedBatch]:
    """Remove what is past its time, batch by batch."""
    async with database.transaction(tenant) as connection:
        run = await begin_removal(connection, tenant, rule)
    batches: list[RemovedBatch] = []
    for table in ("page", "record") if run is not None else ():
        after: EntryId | None = EntryId(UUID(int=0))
        while run is not None and after is not None:
            async with database.transaction(tenant) as connection:
                batches.append(await remove_batch(connection, tenant, run, table, after))
            after = batches[-1].next_after
    return batches
