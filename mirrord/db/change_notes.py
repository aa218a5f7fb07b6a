"""Changes of pages and records that are no event yet, as the notes of triggers and the versions around them tell."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from mirrord.db.database import Connection
from mirrord.domain.entry import FILE_ACTOR, EntryId, MirrorId, TenantId
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_properties import read_values
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.frontmatter.record_text import Data

BATCH_CHANGES = 300  # changes per batch


@dataclass(frozen=True, slots=True)
class ChangeNote:
    """
    A note that an entry changed. child: the page that made it a folder; a UUID of zeros: none.

    is_from_file: a command may have written an event of this change.
    """

    entry: EntryId
    version: int
    child: UUID
    kind: str
    was_folder: bool
    is_folder: bool
    is_from_file: bool
    actor: Mapping[str, str]
    changed_at: datetime

    @property
    def key(self) -> tuple[EntryId, int, UUID]:
        """The primary key of the note."""
        return self.entry, self.version, self.child


@dataclass(frozen=True, slots=True)
class PageVersion:
    """A version of a page. name None: it had no place."""

    parent: EntryId | None
    name: str | None
    is_deleted: bool
    frontmatter: Mapping[str, Any]
    digest: bytes | None
    is_page: bool
    index: bool


@dataclass(frozen=True, slots=True)
class RecordVersion:
    """A version of a record. data None: it cannot be parsed."""

    kind: str
    key: str
    is_deleted: bool
    data: Data | None
    digest: bytes | None


@dataclass(frozen=True, slots=True)
class ChangedPage:
    """Two versions of a page. was None: it was new. segments: their number."""

    note: ChangeNote
    before: PageVersion | None
    after: PageVersion
    segments: int


@dataclass(frozen=True, slots=True)
class ChangedRecord:
    """Two versions of a record."""

    note: ChangeNote
    before: RecordVersion | None
    after: RecordVersion


@dataclass(frozen=True, slots=True)
class FolderPage:
    """A page or folder inside another folder. version: its last one at a certain time."""

    entry: EntryId
    is_folder: bool
    version: PageVersion


@dataclass(frozen=True, slots=True)
class Ancestor:
    """An ancestor page or folder. type: of its front matter."""

    parent: EntryId | None
    name: str
    type: object


# Changes whose event files this mirror reads; also those of mirrors that no longer exist.
_OF_THIS_MIRROR = """
(o.mirror_id IS NULL OR o.mirror_id = %(mirror)s OR NOT EXISTS (
    SELECT FROM mirrord.mirror AS m WHERE m.tenant_id = %(tenant)s AND m.id = o.mirror_id))"""
_BY_FILE = f"""
(coalesce(c.updated_by, now.actor) = '{{"kind": "{FILE_ACTOR.kind}", "name": "{FILE_ACTOR.name}"}}'
 OR coalesce(c.updated_by, now.actor) ->> 'channel' = 'file')"""


# A version is complete when it is placed and rendered, or when there is a later one. The first of many notes are found
# in the order of an index, and each LATERAL with a LIMIT reads one row by its key: joined freely, Postgres read every
# page and version of the tenant for each batch.
_PAGES = f"""
WITH due AS MATERIALIZED (
    SELECT o.entry_id, o.version, o.child, o.kind, o.was_folder, o.is_folder, o.noted_at, {_BY_FILE} AS is_by_file,
           coalesce(c.updated_by, now.actor) AS actor, coalesce(c.updated_at, now.created_at) AS changed_at, p.index
      FROM mirrord.event_outbox AS o
     CROSS JOIN LATERAL (
         SELECT p.version, p.ahead, p.name_key, p.deleted_at, p.index FROM mirrord.page AS p
          WHERE p.tenant_id = %(tenant)s AND p.id = o.entry_id LIMIT 1) AS p
     CROSS JOIN LATERAL (
         SELECT r.actor, r.created_at FROM mirrord.page_revision AS r
          WHERE r.tenant_id = %(tenant)s AND r.page_id = o.entry_id AND r.version = o.version LIMIT 1) AS now
      LEFT JOIN LATERAL (
         SELECT c.updated_by, c.updated_at FROM mirrord.page AS c
          WHERE c.tenant_id = %(tenant)s AND c.id = o.child LIMIT 1) AS c ON true
     WHERE o.tenant_id = %(tenant)s AND o.kind = 'page' AND ({_OF_THIS_MIRROR} OR NOT {_BY_FILE})
       AND (p.version > o.version OR p.ahead = '{{}}' AND (p.name_key IS NOT NULL OR p.deleted_at IS NOT NULL))
     ORDER BY o.noted_at, o.entry_id, o.version, o.child LIMIT {BATCH_CHANGES} FOR UPDATE OF o SKIP LOCKED)
SELECT o.entry_id, o.version, o.child, o.kind, o.was_folder, o.is_folder, o.is_by_file, o.actor, o.changed_at,
       was.version IS NOT NULL, was.parent_id, was.name, was.deleted, was.frontmatter, was.digest,
       was.markdown IS NOT NULL, o.index, CASE WHEN was.frontmatter IS NULL THEN was.markdown END,
       now.parent_id, now.name, now.deleted, now.frontmatter, now.digest, now.markdown IS NOT NULL, o.index,
       CASE WHEN now.frontmatter IS NULL THEN now.markdown END,
       CASE WHEN now.deleted THEN (
           SELECT count(*) FROM mirrord.record AS r, jsonb_object_keys(r.data)
            WHERE r.tenant_id = %(tenant)s AND r.kind = 'segment' AND r.key = o.entry_id::text) ELSE 0 END
  FROM due AS o
  JOIN mirrord.page_revision AS now
    ON now.tenant_id = %(tenant)s AND now.page_id = o.entry_id AND now.version = o.version
  LEFT JOIN LATERAL (
      SELECT r.* FROM mirrord.page_revision AS r
       WHERE r.tenant_id = %(tenant)s AND r.page_id = o.entry_id AND r.version < o.version
       ORDER BY r.version DESC LIMIT 1) AS was ON true
 ORDER BY o.noted_at, o.entry_id, o.version, o.child"""
_RECORDS = f"""
WITH due AS MATERIALIZED (
    SELECT o.entry_id, o.version, o.child, o.kind, o.was_folder, o.is_folder, o.noted_at, {_BY_FILE} AS is_by_file,
           now.actor, now.created_at
      FROM mirrord.event_outbox AS o
     CROSS JOIN LATERAL (
         SELECT p.version, p.ahead FROM mirrord.record AS p
          WHERE p.tenant_id = %(tenant)s AND p.id = o.entry_id LIMIT 1) AS p
     CROSS JOIN LATERAL (
         SELECT r.actor, r.created_at FROM mirrord.record_revision AS r
          WHERE r.tenant_id = %(tenant)s AND r.record_id = o.entry_id AND r.version = o.version LIMIT 1) AS now
     WHERE o.tenant_id = %(tenant)s AND o.kind = 'record' AND ({_OF_THIS_MIRROR} OR NOT {_BY_FILE})
       AND (p.version > o.version OR p.ahead = '{{}}')
     ORDER BY o.noted_at, o.entry_id, o.version, o.child LIMIT {BATCH_CHANGES} FOR UPDATE OF o SKIP LOCKED)
SELECT o.entry_id, o.version, o.child, o.kind, o.was_folder, o.is_folder, o.is_by_file, o.actor, o.created_at,
       was.version IS NOT NULL, was.kind, was.key, was.deleted, was.data, was.digest,
       now.kind, now.key, now.deleted, now.data, now.digest
  FROM due AS o
  JOIN mirrord.record_revision AS now
    ON now.tenant_id = %(tenant)s AND now.record_id = o.entry_id AND now.version = o.version
  LEFT JOIN LATERAL (
      SELECT r.* FROM mirrord.record_revision AS r
       WHERE r.tenant_id = %(tenant)s AND r.record_id = o.entry_id AND r.version < o.version
       ORDER BY r.version DESC LIMIT 1) AS was ON true
 ORDER BY o.noted_at, o.entry_id, o.version, o.child"""
_RECORDS = _RECORDS.replace("coalesce(c.updated_by, now.actor)", "now.actor")
_ABOVE = """
WITH RECURSIVE above AS (
    SELECT id, parent_id, name, frontmatter -> 'type' AS type FROM mirrord.page
     WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)s)
    UNION
    SELECT p.id, p.parent_id, p.name, p.frontmatter -> 'type' FROM above AS a
      JOIN mirrord.page AS p ON p.tenant_id = %(tenant)s AND p.id = a.parent_id)
SELECT id, parent_id, coalesce(name, ''), type FROM above"""


# Strictly earlier: what was placed in the same transaction has a note of its own.
_BELOW = """
WITH RECURSIVE below AS (
    SELECT %(folder)s::uuid AS id
    UNION
    SELECT p.id FROM below AS b
      JOIN mirrord.page AS p ON p.tenant_id = %(tenant)s AND p.parent_id = b.id
     WHERE b.id = (SELECT r.parent_id FROM mirrord.page_revision AS r
                    WHERE r.tenant_id = %(tenant)s AND r.page_id = p.id AND r.created_at < %(time)s
                    ORDER BY r.version DESC LIMIT 1))
SELECT p.id, p.kind = 'folder' OR p.index OR EXISTS (
           SELECT FROM mirrord.page AS c
            WHERE c.tenant_id = %(tenant)s AND c.parent_id = p.id AND c.deleted_at IS NULL),
       r.parent_id, r.name, r.deleted, r.frontmatter, r.digest, r.markdown IS NOT NULL, p.index,
       CASE WHEN r.frontmatter IS NULL THEN r.markdown END
  FROM below AS b
  JOIN mirrord.page AS p ON p.tenant_id = %(tenant)s AND p.id = b.id AND p.id <> %(folder)s
  CROSS JOIN LATERAL (
      SELECT r.* FROM mirrord.page_revision AS r
       WHERE r.tenant_id = %(tenant)s AND r.page_id = p.id AND r.created_at < %(time)s
       ORDER BY r.version DESC LIMIT 1) AS r
 WHERE NOT r.deleted
 ORDER BY p.id"""
_CURRENT = """
SELECT id, parent_id, name, deleted_at IS NOT NULL, frontmatter, digest, kind = 'page', index, NULL FROM mirrord.page
 WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)s)"""


async def load_changed_pages(connection: Connection, tenant: TenantId, mirror: MirrorId) -> list[ChangedPage]:
    """Changed pages, the earliest first, locked until this transaction ends."""
    rows = await connection.execute(_PAGES.encode(), {"tenant": tenant, "mirror": mirror})
    return [_changed_page(*row) for row in await rows.fetchall()]


async def load_changed_records(connection: Connection, tenant: TenantId, mirror: MirrorId) -> list[ChangedRecord]:
    """Changed records, the earliest first, locked until this transaction ends."""
    rows = await connection.execute(_RECORDS.encode(), {"tenant": tenant, "mirror": mirror})
    return [_changed_record(*row) for row in await rows.fetchall()]


async def load_ancestors(connection: Connection, tenant: TenantId, ids: Collection[EntryId]) -> dict[EntryId, Ancestor]:
    """The pages *ids* and their ancestors."""
    rows = await connection.execute(_ABOVE, {"tenant": tenant, "ids": list(ids)})
    return {EntryId(entry): Ancestor(*row) for entry, *row in await rows.fetchall()}


async def load_folder_pages(
    connection: Connection, tenant: TenantId, folder: EntryId, time: datetime
) -> list[FolderPage]:
    """Everything that was in *folder* just before *time* and is still there, at any depth."""
    rows = await connection.execute(_BELOW, {"tenant": tenant, "folder": folder, "time": time})
    return [FolderPage(EntryId(row[0]), row[1], _page_version(*row[2:])) for row in await rows.fetchall()]


def _changed_page(*row: Any) -> ChangedPage:
    note, was, now, segments = ChangeNote(*row[:9]), _page_version(*row[10:18]), _page_version(*row[18:26]), row[26]
    if note.child.int:  # the version did not change
        return ChangedPage(note, now, now, segments)
    return ChangedPage(note, was if row[9] else None, now, segments)


def _page_version(parent: UUID | None, name: str | None, deleted: bool, *columns: Any) -> PageVersion:
    frontmatter, digest, is_page, index, markdown = columns
    facts = frontmatter if isinstance(frontmatter, dict) else _parse_frontmatter(markdown)
    return PageVersion(EntryId(parent) if parent else None, name, deleted, facts, digest, is_page, index)


def _parse_frontmatter(markdown: str | None) -> Mapping[str, Any]:
    """The front matter of an app's text that changed again before it was rendered."""
    try:
        return read_values(PageText(markdown)) if markdown else {}
    except Damaged:
        return {}


def _changed_record(*row: Any) -> ChangedRecord:
    was = RecordVersion(*row[10:15]) if row[9] else None
    return ChangedRecord(ChangeNote(*row[:9]), was, RecordVersion(*row[15:20]))


async def load_current_pages(
    connection: Connection, tenant: TenantId, pages: Collection[EntryId]
) -> dict[EntryId, PageVersion]:
    """The current versions of pages."""
    rows = await connection.execute(_CURRENT, {"tenant": tenant, "ids": list(pages)})
    return {EntryId(entry): _page_version(*row) for entry, *row in await rows.fetchall()}
