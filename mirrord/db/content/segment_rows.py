"""Segments and their pages: which must be compared, by whole keys."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from mirrord.db.content import record_rows
from mirrord.db.content.record_rows import RecordText
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, TenantId, digest_of


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


_KEYS = """
SELECT key FROM mirrord.record WHERE tenant_id = %s AND id = ANY (%s) AND kind = 'segment' AND deleted_at IS NULL"""
_RECORDS = """
SELECT key, id, version, text FROM mirrord.record WHERE tenant_id = %s AND key = ANY (%s) AND kind = 'segment'
   AND deleted_at IS NULL AND ahead = '{}' AND digest IS NOT NULL AND data IS NOT NULL"""
_PAGES = """
SELECT id, version, markdown FROM mirrord.page WHERE tenant_id = %s AND id = ANY (%s)
   AND deleted_at IS NULL AND ahead = '{}' AND digest IS NOT NULL AND markdown IS NOT NULL"""
_ANCHORS = """
SELECT page_id, page_version, record_version FROM mirrord.segment_anchor WHERE tenant_id = %s AND page_id = ANY (%s)"""
_OLD_TEXT = "SELECT markdown FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s AND version = %s"


async def load_unanchored(connection: Connection, tenant: TenantId, entries: Sequence[EntryId]) -> list[UnanchoredPage]:
    """The pages to be anchored among *entries*, which are pages and records of segments."""
    keys = [key for (key,) in await (await connection.execute(_KEYS, (tenant, list(entries)))).fetchall()]
    all_keys = sorted({*keys, *map(str, entries)})
    rows = await (await connection.execute(_RECORDS, (tenant, all_keys))).fetchall()
    segments = {EntryId(UUID(key)): (EntryId(record), version, text) for key, record, version, text in rows}
    if not segments:
        return []
    pages = await (await connection.execute(_PAGES, (tenant, list(segments)))).fetchall()
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
            values |= record_rows.content_values(digest_of(body.text.encode()), body)
            row = await (await connection.execute(record_rows.REWRITE, values)).fetchone()
            version = row[0] if row else None
        if version is not None:
            await connection.execute(_ANCHOR, (tenant, segment.page, segment.page_version, version))
