"""Entries that came as copies of others: found by their bytes, and given up to the original."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from psycopg.types.json import Jsonb

from mirrord.db.content.entry_tables import table_of
from mirrord.db.database import Connection
from mirrord.domain.entry import EMPTY_DIGEST, FILE_ACTOR, Base, Digest, EntryId, Kind, MirrorId, TenantId

MAX_EARLIER_COPY_AGE = timedelta(minutes=1)  # of a copy of an earlier text: git makes and removes files within seconds

# Unchanged copies. A page may have been read while its file was being copied: its text was a prefix of the whole.
_UNCHANGED = """
SELECT base.digest, base.claimed, base.path, row.id
  FROM mirrord.mirror_base AS base
  JOIN mirrord.{table} AS row ON row.tenant_id = base.tenant_id AND row.id = base.entry_id
 WHERE base.tenant_id = %(tenant)s AND base.mirror_id = %(mirror)s AND base.entry_id = ANY (%(entries)s)
   AND base.path IS NOT NULL AND base.kind = %(kind)s AND base.version = row.version
   AND row.deleted_at IS NULL AND row.name_key IS NOT NULL
   AND NOT EXISTS (SELECT FROM mirrord.{table}_revision AS revision WHERE revision.tenant_id = %(tenant)s
                      AND revision.{table}_id = row.id AND (revision.actor <> %(file)s OR {changed}))
   FOR NO KEY UPDATE OF row"""
_CHANGED = {
    Kind.PAGE: "revision.text_removed_at IS NOT NULL OR NOT starts_with(row.markdown, revision.markdown)",
    Kind.ATTACHMENT: "revision.digest <> row.digest",
}
# An earlier text of a page that later arrived as another page: a tool restored an older state at another path.
_EARLIER = """
SELECT base.entry_id, min(revision.page_id::text)::uuid
  FROM mirrord.page_revision AS revision
  JOIN mirrord.mirror_base AS base ON base.tenant_id = revision.tenant_id AND base.digest = revision.digest
   AND base.entry_id <> revision.page_id AND base.mirror_id = %(mirror)s AND base.kind = 'page'
  JOIN mirrord.page AS row ON row.tenant_id = base.tenant_id AND row.id = base.entry_id AND row.deleted_at IS NULL
 WHERE revision.tenant_id = %(tenant)s AND revision.page_id = ANY (%(entries)s) AND revision.digest <> %(empty)s
   AND revision.created_at < row.created_at AND row.created_at > clock_timestamp() - %(age)s
 GROUP BY base.entry_id HAVING count(DISTINCT revision.page_id) = 1"""
_REPARENT_CHILDREN = """
UPDATE mirrord.{table} SET parent_id = %(entry)s WHERE tenant_id = %(tenant)s AND parent_id = %(copy)s"""
_SUCCEED_PAGE = """
UPDATE mirrord.page AS row SET parent_id = copy.parent_id, name = copy.name, name_key = copy.name_key,
    index = copy.index,
    title = CASE WHEN coalesce(row.frontmatter ? 'title', false) THEN row.title ELSE copy.name END
  FROM mirrord.page AS copy"""
_SUCCEED_ATTACHMENT = """
UPDATE mirrord.attachment AS row SET parent_id = copy.parent_id, name = copy.name, name_key = copy.name_key
  FROM mirrord.attachment AS copy"""
_WHERE_BOTH = """
 WHERE row.tenant_id = %(tenant)s AND row.id = %(entry)s AND row.version = %(expected)s AND row.deleted_at IS NULL
   AND copy.tenant_id = %(tenant)s AND copy.id = %(copy)s
RETURNING row.version"""
_DELETE_COPY = """
UPDATE mirrord.{table} SET deleted_at = statement_timestamp() WHERE tenant_id = %(tenant)s AND id = %(copy)s"""
_REPLACE_BASE = """
WITH copied AS (
    DELETE FROM mirrord.mirror_base
     WHERE tenant_id = %(tenant)s AND mirror_id = %(mirror)s AND entry_id = %(copy)s RETURNING *)
UPDATE mirrord.mirror_base AS base
   SET path = copied.path, parent_id = row.parent_id, name = row.name, index = copied.index, version = row.version
  FROM copied, mirrord.{table} AS row
 WHERE base.tenant_id = %(tenant)s AND base.mirror_id = %(mirror)s AND base.entry_id = %(entry)s
   AND row.tenant_id = %(tenant)s AND row.id = %(entry)s"""


@dataclass(frozen=True, slots=True)
class Copy:
    """An entry created from a copied file and unchanged since. claimed: the `id:` text of its file."""

    digest: Digest
    claimed: str | None
    path: str
    entry: EntryId


async def load_unchanged_copies(
    connection: Connection, tenant: TenantId, mirror: MirrorId, kind: Kind, entries: Collection[EntryId]
) -> list[Copy]:
    """The entries among *entries* of *kind* that are unchanged and still in place. Locks their rows."""
    values: dict[str, Any] = {"tenant": tenant, "mirror": mirror, "kind": kind, "entries": list(entries)}
    values["file"] = Jsonb({"kind": FILE_ACTOR.kind, "name": FILE_ACTOR.name})
    cursor = await connection.execute(_UNCHANGED.format(table=table_of(kind), changed=_CHANGED[kind]), values)
    return [
        Copy(Digest(bytes(digest)), claimed, path, EntryId(entry))
        for digest, claimed, path, entry in await cursor.fetchall()
    ]


async def load_copies_of_earlier_texts(
    connection: Connection, tenant: TenantId, mirror: MirrorId, entries: Collection[EntryId]
) -> dict[EntryId, EntryId]:
    """Map recent pages to the one entry of *entries* that had their text in an earlier version."""
    values = {
        "tenant": tenant,
        "mirror": mirror,
        "entries": list(entries),
        "empty": EMPTY_DIGEST,
        "age": MAX_EARLIER_COPY_AGE,
    }
    cursor = await connection.execute(_EARLIER, values)
    return {EntryId(copy): EntryId(original) for copy, original in await cursor.fetchall()}


async def move_to_place_of_copy(
    connection: Connection, tenant: TenantId, mirror: MirrorId, base: Base, version: int, copy: Copy
) -> bool:
    """
    Give the entry of *base* the place, file and children of its *copy*, which becomes a tombstone.

    Returns False if its row has another *version* by now. Call it with names deferred, parents before children.
    """
    table = table_of(base.kind)
    values: dict[str, Any] = {
        "tenant": tenant,
        "mirror": mirror,
        "entry": base.entry,
        "expected": version,
        "copy": copy.entry,
    }
    statement = (_SUCCEED_ATTACHMENT if base.kind is Kind.ATTACHMENT else _SUCCEED_PAGE) + _WHERE_BOTH
    if await (await connection.execute(statement, values)).fetchone() is None:
        return False
    if base.kind is Kind.PAGE:
        for child in ("page", "attachment"):
            await connection.execute(_REPARENT_CHILDREN.format(table=child), values)
    await connection.execute(_REPLACE_BASE.format(table=table), values)
    await connection.execute(_DELETE_COPY.format(table=table), values)
    return True
