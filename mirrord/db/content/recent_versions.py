"""Which entries changed between two moments, by whom, and in which versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mirrord.db.content.entry_tables import TABLES
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, TenantId

# an actor by name, or as lists print it: `agent notes`, `daemon mirrord for human ada`; people also say `notes agent`
IS_AUTHOR = """ARRAY[actor ->> 'name', concat_ws(' ', actor ->> 'kind', actor ->> 'name'),
    concat_ws(' ', actor ->> 'name', actor ->> 'kind'),
    concat_ws(' ', actor ->> 'kind', actor ->> 'name', 'for ' || (actor ->> 'for'))] && %(authors)s::text[]"""
_SINCE = """
SELECT {table}_id, array_agg(version), max(created_at),
       array_agg(DISTINCT concat_ws(' ', actor ->> 'kind', actor ->> 'name'))
  FROM mirrord.{table}_revision
 WHERE tenant_id = %(tenant)s AND created_at > %(since)s AND created_at <= %(until)s
   AND (%(authors)s::text[] IS NULL OR {is_author})
 GROUP BY {table}_id"""
AUTHORS_SEPARATOR = ", "  # between the authors of one entry
_END_OF_CHANGE_SET = " UNION ALL ".join(
    f"SELECT created_at FROM mirrord.{table}_revision WHERE tenant_id = %(tenant)s AND change_set = %(change_set)s"
    for table in TABLES
)


@dataclass(frozen=True, slots=True)
class RecentEntry:
    """An entry that changed. versions: those of the period. changed_at: of the last. actors: such as `agent notes`."""

    table: str
    entry: EntryId
    versions: Sequence[int]
    changed_at: datetime
    actors: Sequence[str]


@dataclass(frozen=True, slots=True)
class Period:
    """
    From a moment, which is not part of it, to another, which is.

    author: only versions of this one, or of several as a list prints them.
    """

    since: datetime
    until: datetime
    author: str | None = None


async def load_recent(connection: Connection, tenant: TenantId, period: Period) -> list[RecentEntry]:
    """The entries with versions in a period, the last changed first."""
    authors = [period.author, *period.author.split(AUTHORS_SEPARATOR)] if period.author is not None else None
    values = {"tenant": tenant, "since": period.since, "until": period.until, "authors": authors}
    recent: list[RecentEntry] = []
    for table in TABLES:
        rows = await (
            await connection.execute(_SINCE.format(table=table, is_author=IS_AUTHOR).encode(), values)
        ).fetchall()
        recent += [RecentEntry(table, EntryId(entry), *columns) for entry, *columns in rows]
    return sorted(recent, key=lambda entry: (entry.changed_at, entry.entry), reverse=True)


async def load_end_of_change_set(connection: Connection, tenant: TenantId, change_set: UUID) -> datetime | None:
    """When the last version of a change set was made; None: it has none."""
    query = f"SELECT max(created_at) FROM ({_END_OF_CHANGE_SET}) AS version"
    row = await (await connection.execute(query.encode(), {"tenant": tenant, "change_set": change_set})).fetchone()
    return row[0] if row is not None else None


async def load_clock(connection: Connection) -> datetime:
    """The time of this transaction: versions of later ones are later."""
    row = await (await connection.execute("SELECT now()")).fetchone()
    assert row is not None
    moment: datetime = row[0]
    return moment
