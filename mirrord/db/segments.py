"""Segments and the pages they are of: what is to be held against each other, by whole keys."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from mirrord.db import records
from mirrord.db.connect import Connection
from mirrord.db.records import RecordText
from mirrord.domain.entry import EntryId, TenantId, digest_of


@dataclass(frozen=True, slots=True)
class Unanchored:
    """
    A page and its segments, of which one changed since they were held against each other.

    text: the record's. old: the page as it was then; None: that is not known.
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
_OLD = "SELECT markdown FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s AND version = %s"


async def load_unanchored(connection: Connection, tenant: TenantId, entries: Sequence[EntryId]) -> list[Unanchored]:
    """Those of *entries*, pages and records of segments, that are to be held against each other."""
    keys = [key for (key,) in await (await connection.execute(_KEYS, (tenant, list(entries)))).fetchall()]
    asked = sorted({*keys, *map(str, entries)})
    found = await (await connection.execute(_RECORDS, (tenant, asked))).fetchall()
    own = {EntryId(UUID(key)): (EntryId(record), version, text) for key, record, version, text in found}
    if not own:
        return []
    pages = await (await connection.execute(_PAGES, (tenant, list(own)))).fetchall()
    anchors = await (await connection.execute(_ANCHORS, (tenant, list(own)))).fetchall()
    known = {page: (page_version, record_version) for page, page_version, record_version in anchors}
    due = []
    for page, version, markdown in pages:
        record, record_version, text = own[page]
        before = known.get(page)
        if before != (version, record_version):
            same = before is not None and before[0] == version
            old = markdown if same else await _old(connection, tenant, page, before and before[0])
            due.append(Unanchored(page, version, markdown, old, record, record_version, text))
    return due


async def _old(connection: Connection, tenant: TenantId, page: EntryId, version: int | None) -> str | None:
    if version is None:
        return None
    row = await (await connection.execute(_OLD, (tenant, page, version))).fetchone()
    return row[0] if row else None


_ANCHOR = """
INSERT INTO mirrord.segment_anchor (tenant_id, page_id, page_version, record_version) VALUES (%s, %s, %s, %s)
ON CONFLICT (tenant_id, page_id) DO UPDATE
   SET page_version = EXCLUDED.page_version, record_version = EXCLUDED.record_version"""


async def store(
    connection: Connection, tenant: TenantId, anchored: Iterable[tuple[Unanchored, RecordText | None]]
) -> None:
    """
    What became of segments; None: the record says it already. Each is written over the version it was made from.

    A record that changed meanwhile is in the feed again.
    """
    for one, body in anchored:
        version: int | None = one.record_version
        if body is not None:
            values = {"tenant": tenant, "entry": one.record, "expected": one.record_version}
            values |= records.columns(digest_of(body.text.encode()), body)
            row = await (await connection.execute(records.REWRITE, values)).fetchone()
            version = row[0] if row else None
        if version is not None:
            await connection.execute(_ANCHOR, (tenant, one.page, one.page_version, version))
