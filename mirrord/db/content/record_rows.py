"""Rows of records: their statements, reading them, the text of each, and segments to be compared with their pages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from mirrord.db.content.altered_rows import (
    ALTERED_AGAIN,
    ALTERED_RECORD,
    ALTERED_RECORD_MOVE,
    ALTERED_RECORD_TEXT,
    altered_sql,
    check_omitted,
)
from mirrord.db.content.entry_tables import UPSERT_MOVED, UPSERT_SAVED, WHERE_EXPECTED
from mirrord.db.database import Connection
from mirrord.domain.entry import Digest, EntryId, TenantId, digest_of
from mirrord.domain.place import RecordFormat, record_sort_of
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.record_text import Data, read_record, write_record
from mirrord.research.collections.collection_rules import GROUP_KINDS
from mirrord.research.collections.collection_yaml import read_group


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
    VALUES (%(tenant)s, %(entry)s, {_KIND_AND_KEY}, %(text)s, %(data)s, %(digest)s)
    ON CONFLICT (tenant_id, id) DO NOTHING RETURNING version, {ALTERED_RECORD})
{UPSERT_SAVED}"""
# A row deleted without triggers may still have its history: the new row continues it.
REINSERT = INSERT.replace("data, digest)", "data, digest, version)").replace(
    "%(data)s, %(digest)s",
    "%(data)s, %(digest)s, (SELECT coalesce(max(version), 0) + 1 FROM mirrord.record_revision "
    "WHERE tenant_id = %(tenant)s AND record_id = %(entry)s)",
)
UPDATE = f"""
WITH written AS (UPDATE mirrord.record SET {_SET_CONTENT} {WHERE_EXPECTED}, {ALTERED_RECORD})
{UPSERT_SAVED}"""
REVIVE = f"""
WITH written AS (
    UPDATE mirrord.record SET {_SET_CONTENT}, deleted_at = NULL, (kind, key) = ROW ({_KIND_AND_KEY})
    {WHERE_EXPECTED}, {ALTERED_RECORD})
{UPSERT_SAVED}"""
MOVE = f"""
WITH written AS (
    UPDATE mirrord.record SET (kind, key) = ROW ({_KIND_AND_KEY}) {WHERE_EXPECTED}, {ALTERED_RECORD_MOVE})
{UPSERT_MOVED}"""
REWRITE = f"UPDATE mirrord.record SET {_SET_CONTENT} {WHERE_EXPECTED}, {ALTERED_RECORD_TEXT}"
# Of a text that an app wrote itself: triggers of apps that alter texts wait for writes of `text`.
_STORE_DATA = f"""
UPDATE mirrord.record SET digest = %(digest)s, data = %(data)s, ahead = '{{}}'
{WHERE_EXPECTED}, {altered_sql({"text": "%(text)s"}, "record")}"""
_REREAD = "UPDATE mirrord.record SET ahead = '{text}', data = NULL WHERE tenant_id = %(tenant)s AND id = %(entry)s"


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


@dataclass(frozen=True, slots=True)
class NamedText:
    """A living record by its place name, `kind/key`, and its text. text None: it is not rendered yet."""

    entry: EntryId
    name: str
    text: str | None


_LIVING = """
SELECT id, kind || '/' || key, text FROM mirrord.record WHERE tenant_id = %(tenant)s AND deleted_at IS NULL AND """


async def load_living(connection: Connection, tenant: TenantId, entries: Iterable[EntryId]) -> list[NamedText]:
    """The living records among *entries*."""
    return await _load_named(connection, "id = ANY (%(ids)s)", {"tenant": tenant, "ids": list(entries)})


async def load_living_categories(connection: Connection, tenant: TenantId, keys: Iterable[str]) -> list[NamedText]:
    """The living categories with one of these names, in small letters."""
    condition = "kind = 'category' AND key_slot = ANY (%(keys)s)"
    return await _load_named(connection, condition, {"tenant": tenant, "keys": list(keys)})


async def _load_named(connection: Connection, condition: str, values: dict[str, object]) -> list[NamedText]:
    rows = await (await connection.execute(f"{_LIVING}{condition}".encode(), values)).fetchall()
    return [NamedText(EntryId(entry), name, text) for entry, name, text in rows]


async def store_text(
    connection: Connection, tenant: TenantId, record: RecordRow, digest: Digest, body: RecordText
) -> bool:
    """
    Store what was derived from *record*, as an app wrote it. False: it changed, or a trigger of an app altered the
    text.

    Raises:
        Damaged: a trigger alters a text that is not even written: no digest would stay right.
        OmittedByTrigger: a trigger returned NULL.
    """
    values = {"tenant": tenant, "entry": record.entry, "expected": record.version} | content_values(digest, body)
    is_text_new = body.text != record.text
    version, is_altered = await _write_text(connection, REWRITE if is_text_new else _STORE_DATA, values)
    if is_altered and not is_text_new:
        raise Damaged(ALTERED_AGAIN)
    if version is None:
        await check_omitted(connection, "record", tenant, record.entry, record.version)
    return version is not None and not is_altered


async def _write_text(connection: Connection, statement: str, values: dict[str, Any]) -> tuple[int | None, bool]:
    """Run *statement*; the version of the record, None: it changed, and whether a trigger altered its text."""
    row = await (await connection.execute(statement.encode(), values)).fetchone()
    is_altered = row is not None and "text" in (row[1] or ())
    if is_altered:
        await connection.execute(_REREAD, values)
    return (row[0] if row is not None else None), is_altered


async def load_texts(
    connection: Connection, tenant: TenantId, entries: Sequence[EntryId]
) -> dict[EntryId, tuple[int, str | None]]:
    """(version, text) of the records among *entries*."""
    return {record.entry: (record.version, record.text) for record in await load_records(connection, tenant, entries)}


async def load_text_of_digest(connection: Connection, tenant: TenantId, entry: EntryId, digest: Digest) -> str | None:
    """A text in the record's history by its digest; None if no revision has it."""
    cursor = await connection.execute(
        "SELECT text FROM mirrord.record_revision WHERE tenant_id = %s AND record_id = %s AND digest = %s "
        "AND text IS NOT NULL LIMIT 1",
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


@dataclass(frozen=True, slots=True)
class UnanchoredPage:
    """
    A page and its segments, at least one of which changed since they were anchored.

    text: the record's. old: the page's text at the last anchoring; None: unknown.
    """

    page: EntryId
    page_version: int
    markdown: str
    old: str | None
    record: EntryId
    record_version: int
    text: str


# The key of a record of segments is the id of its page: changed are both, each by itself.
_SEGMENT_RECORDS = """
SELECT key, id, version, text FROM mirrord.record WHERE tenant_id = %(t)s AND key = ANY (%(keys)s || ARRAY(
       SELECT key FROM mirrord.record
        WHERE tenant_id = %(t)s AND id = ANY (%(ids)s) AND kind = 'segment' AND deleted_at IS NULL))
   AND kind = 'segment'
   AND deleted_at IS NULL AND ahead = '{}' AND digest IS NOT NULL AND data IS NOT NULL"""
_SEGMENT_PAGES = """
SELECT id, version, markdown FROM mirrord.page WHERE tenant_id = %s AND id = ANY (%s)
   AND deleted_at IS NULL AND ahead = '{}' AND digest IS NOT NULL AND markdown IS NOT NULL"""
_ANCHORS = """
SELECT page_id, page_version, record_version FROM mirrord.segment_anchor WHERE tenant_id = %s AND page_id = ANY (%s)"""
_OLD_TEXT = "SELECT markdown FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s AND version = %s"


async def load_unanchored(connection: Connection, tenant: TenantId, entries: Sequence[EntryId]) -> list[UnanchoredPage]:
    """The pages to be anchored among *entries*, which are pages and records of segments."""
    values = {"t": tenant, "keys": list(map(str, entries)), "ids": list(entries)}
    rows = await (await connection.execute(_SEGMENT_RECORDS, values)).fetchall()
    segments = {EntryId(UUID(key)): (EntryId(record), version, text) for key, record, version, text in rows}
    if not segments:
        return []
    pages = await (await connection.execute(_SEGMENT_PAGES, (tenant, list(segments)))).fetchall()
    anchors = await (await connection.execute(_ANCHORS, (tenant, list(segments)))).fetchall()
    anchored = {page: (page_version, record_version) for page, page_version, record_version in anchors}
    due = []
    for page, version, markdown in pages:
        record, record_version, text = segments[page]
        anchor = anchored.get(page)
        if anchor != (version, record_version):
            same_page = anchor is not None and anchor[0] == version
            old = markdown if same_page else await _load_old_text(connection, tenant, page, anchor and anchor[0])
            due.append(UnanchoredPage(page, version, markdown, old, record, record_version, text))
    return due


async def _load_old_text(connection: Connection, tenant: TenantId, page: EntryId, version: int | None) -> str | None:
    if version is None:
        return None
    row = await (await connection.execute(_OLD_TEXT, (tenant, page, version))).fetchone()
    return row[0] if row else None


_ANCHOR = """
INSERT INTO mirrord.segment_anchor (tenant_id, page_id, page_version, record_version) VALUES (%s, %s, %s, %s)
ON CONFLICT (tenant_id, page_id) DO UPDATE
   SET page_version = EXCLUDED.page_version, record_version = EXCLUDED.record_version"""


async def store_anchored(
    connection: Connection, tenant: TenantId, anchored: Iterable[tuple[UnanchoredPage, RecordText | None]]
) -> None:
    """
    Store anchored segments, each over the version it was computed from; None: the record is up to date.

    A record that changed meanwhile appears in the feed again.
    """
    for segment, body in anchored:
        version: int | None = segment.record_version
        if body is not None:
            values = {"tenant": tenant, "entry": segment.record, "expected": segment.record_version}
            values |= content_values(digest_of(body.text.encode()), body)
            version, _ = await _write_text(connection, REWRITE, values)
        if version is not None:
            await connection.execute(_ANCHOR, (tenant, segment.page, segment.page_version, version))


def record_text(name: str, text: str) -> RecordText:
    """The body of the record called *name*; a text that cannot be read is kept, without data."""
    try:
        return RecordText(text, read_record(record_sort_of(name).form, text))
    except Damaged:
        return RecordText(text, None)


def render_record(name: str, row: RecordRow) -> RecordText:
    """The body after an app wrote data or text: the other one is derived. Raises Damaged if that is not possible."""
    if row.data is None and row.text is not None:
        return RecordText(row.text, read_record(record_sort_of(name).form, row.text))
    data = read_record(RecordFormat.JSON, row.data) if row.data is not None else {}
    return RecordText(write_record(record_sort_of(name).form, row.text, data), data)


def fault_in(name: str, text: str) -> str | None:
    """Why the text of the record called *name* cannot be read or understood; None: it can."""
    sort, key = record_sort_of(name), name.partition("/")[2]
    try:
        read_record(sort.form, text)
        if (kind := GROUP_KINDS.get(sort.kind)) is not None:
            read_group(kind, key, text)
    except Damaged as error:
        return str(error)
    return None
