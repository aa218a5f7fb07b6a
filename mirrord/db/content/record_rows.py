"""Rows of records: their statements for writes, and reading them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from mirrord.db.content.entry_tables import UPSERT_MOVED, UPSERT_SAVED, WHERE_EXPECTED
from mirrord.db.database import Connection
from mirrord.domain.entry import Digest, EntryId, TenantId
from mirrord.markdown.frontmatter.record_text import Data


@dataclass(frozen=True, slots=True)
class RecordText:
    """A record's text with its parsed data. data None: it cannot be parsed."""

    text: str
    data: Data | None


# A place's name is `kind/key`.
_KIND_AND_KEY = "split_part(%(name)s, '/', 1), split_part(%(name)s, '/', 2)"
_SET_CONTENT = "text = %(text)s, digest = %(digest)s, data = %(data)s, ahead = '{}'"

INSERT = f"""
WITH written AS (
    INSERT INTO mirrord.record (tenant_id, id, kind, key, text, data, digest)
    SELECT %(tenant)s, %(entry)s, {_KIND_AND_KEY}, %(text)s, %(data)s, %(digest)s
    ON CONFLICT (tenant_id, id) DO NOTHING RETURNING version)
{UPSERT_SAVED}"""
# A row deleted without triggers may still have its history: the new row continues it.
REINSERT = INSERT.replace("data, digest)", "data, digest, version)").replace(
    "%(data)s, %(digest)s",
    "%(data)s, %(digest)s, (SELECT coalesce(max(version), 0) + 1 FROM mirrord.record_revision "
    "WHERE tenant_id = %(tenant)s AND record_id = %(entry)s)",
)
UPDATE = f"""
WITH written AS (UPDATE mirrord.record SET {_SET_CONTENT} {WHERE_EXPECTED})
{UPSERT_SAVED}"""
REVIVE = f"""
WITH written AS (
    UPDATE mirrord.record SET {_SET_CONTENT}, deleted_at = NULL, (kind, key) = ROW ({_KIND_AND_KEY})
    {WHERE_EXPECTED})
{UPSERT_SAVED}"""
MOVE = f"""
WITH written AS (UPDATE mirrord.record SET (kind, key) = ROW ({_KIND_AND_KEY}) {WHERE_EXPECTED})
{UPSERT_MOVED}"""
REWRITE = f"UPDATE mirrord.record SET {_SET_CONTENT} {WHERE_EXPECTED}"


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A record as written by apps. data: JSON in Postgres' form. is_unrendered: *text* does not contain it yet."""

    entry: EntryId
    kind: str
    version: int
    text: str | None
    data: str | None
    is_unrendered: bool


def content_values(digest: Digest, body: RecordText) -> dict[str, Any]:
    """Parameters of the statements above."""
    data = Jsonb(body.data) if body.data is not None else None
    return {"digest": digest, "text": body.text, "data": data}


async def load_records(connection: Connection, tenant: TenantId, entries: Iterable[EntryId]) -> list[RecordRow]:
    """The records among *entries*."""
    cursor = await connection.execute(
        "SELECT id, kind, version, text, data::text, ahead <> '{}' OR digest IS NULL FROM mirrord.record "
        "WHERE tenant_id = %s AND id = ANY (%s)",
        (tenant, list(entries)),
    )
    return [RecordRow(EntryId(entry), *columns) for entry, *columns in await cursor.fetchall()]


async def store_text(
    connection: Connection, tenant: TenantId, entry: EntryId, version: int, digest: Digest, body: RecordText
) -> bool:
    """Store the text rendered from an app's *version*. False: the version has changed."""
    values = {"tenant": tenant, "entry": entry, "expected": version} | content_values(digest, body)
    return await (await connection.execute(REWRITE, values)).fetchone() is not None


async def load_texts(
    connection: Connection, tenant: TenantId, entries: Sequence[EntryId]
) -> dict[EntryId, tuple[int, str | None]]:
    """(version, text) of the records among *entries*."""
    return {record.entry: (record.version, record.text) for record in await load_records(connection, tenant, entries)}


async def load_text_of_digest(connection: Connection, tenant: TenantId, entry: EntryId, digest: Digest) -> str | None:
    """A text in the record's history by its digest; None if no revision has it."""
    cursor = await connection.execute(
        "SELECT text FROM mirrord.record_revision WHERE tenant_id = %s AND record_id = %s AND digest = %s LIMIT 1",
        (tenant, entry, digest),
    )
    row = await cursor.fetchone()
    return row[0] if row else None


async def find_by_keys(connection: Connection, tenant: TenantId, keys: Iterable[str]) -> list[EntryId]:
    """Records of any kind with one of *keys*; the oldest deletion first, live ones last."""
    cursor = await connection.execute(
        "SELECT id FROM mirrord.record WHERE tenant_id = %s AND key = ANY (%s) ORDER BY deleted_at NULLS LAST",
        (tenant, list(keys)),
    )
    return [EntryId(row[0]) for row in await cursor.fetchall()]
