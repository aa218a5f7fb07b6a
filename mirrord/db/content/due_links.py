"""Links that are to be looked up, or looked up again, and what they mean then. Writes here send no notification."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mirrord.db.database import Connection
from mirrord.domain.dialect import Dialect, dialect_called
from mirrord.domain.entry import EntryId, TenantId
from mirrord.domain.link_meaning import LinkMeaning

LINKS_PER_BATCH = 500  # links resolved at once


@dataclass(frozen=True, slots=True)
class DueLink:
    """A link to be resolved. dialect: of the tenant's pages."""

    source: EntryId
    number: int
    kind: str
    target: str
    dialect: Dialect = Dialect.PLAIN


async def mark_links_due(
    connection: Connection, tenant: TenantId, keys: Iterable[str], sources: Iterable[EntryId]
) -> None:
    """Links to one of *keys*, and all links in *sources*, are to be looked up again."""
    for column, values in (("target_key", list(keys)), ("source_id", list(sources))):
        if values:
            statement = (
                f"UPDATE mirrord.page_link SET due = true WHERE tenant_id = %s AND {column} = ANY (%s) AND NOT due"
            )
            await connection.execute(statement.encode(), (tenant, values))


_DUE = """
SELECT source_id, number, kind, target, (SELECT dialect FROM mirrord.tenant WHERE id = %(t)s) FROM mirrord.page_link
 WHERE tenant_id = %(t)s AND due AND pending IS NULL"""


async def load_due_links(connection: Connection, tenant: TenantId) -> list[DueLink]:
    """The next links to resolve, at most LINKS_PER_BATCH of them."""
    values = {"t": tenant, "limit": LINKS_PER_BATCH}
    return await _load_due(connection, "ORDER BY source_id, number LIMIT %(limit)s", values)


async def load_touched_due_links(
    connection: Connection, tenant: TenantId, keys: Iterable[str], sources: Iterable[EntryId]
) -> list[DueLink]:
    """
    The links to resolve once more that have one of *keys*, or are on one of *sources*.

    A link without a key was never resolved: its text is new, and was written for the names of now.
    """
    touched = [("target_key", list(keys)), ("source_id", list(sources))]
    batches = [
        await _load_due(
            connection, f"AND target_key IS NOT NULL AND {column} = ANY (%(values)s)", {"t": tenant, "values": values}
        )
        for column, values in touched
        if values
    ]
    return list({(link.source, link.number): link for batch in batches for link in batch}.values())


async def _load_due(connection: Connection, condition: str, values: Mapping[str, Any]) -> list[DueLink]:
    cursor = await connection.execute(f"{_DUE} {condition}".encode(), values)
    return [
        DueLink(source, number, kind, target, dialect_called(dialect))
        for source, number, kind, target, dialect in await cursor.fetchall()
    ]


_STORE_TARGETS = """
UPDATE mirrord.page_link AS l SET target_id = found.id, ambiguous = found.ambiguous, target_key = found.key, due = false
  FROM unnest(%b::uuid[], %b::int[], %b::text[], %b::text[], %b::uuid[], %b::boolean[], %b::text[])
       AS found (source, number, kind, target, id, ambiguous, key)
 WHERE l.tenant_id = %s AND l.source_id = found.source AND l.number = found.number
   AND l.kind = found.kind AND l.target = found.target"""


async def store_targets(
    connection: Connection, tenant: TenantId, results: Iterable[tuple[DueLink, str | None, LinkMeaning]]
) -> None:
    """Store resolved links, as (link, key, target). A link that changed meanwhile stays due."""
    rows = [
        (link.source, link.number, link.kind, link.target, target.entry, target.ambiguous, key)
        for link, key, target in results
    ]
    if rows:
        await connection.execute(_STORE_TARGETS, (*map(list, zip(*rows, strict=True)), tenant))
