"""
Entries as a person's command reads and writes them: the row alone, by version.

No base is written and no lease is held: these writes are like an app's, and files are updated from the rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from mirrord.db.content import record_rows
from mirrord.db.content.entry_tables import position_sql, table_of
from mirrord.db.content.entry_writes import AttachmentContent, PageValues
from mirrord.db.content.record_rows import RecordText
from mirrord.db.database import Connection
from mirrord.domain.entry import Digest, EntryId, Kind, Place, TenantId, digest_of


@dataclass(frozen=True, slots=True)
class CurrentEntry:
    """
    The current row of an entry.

    text: of a page or record; None: a folder, or not rendered yet. digest, size: of an attachment's bytes.
    is_unrendered: the text does not yet include an app's write.
    """

    entry: EntryId
    kind: Kind
    place: Place
    deleted: bool
    version: int
    text: str | None
    is_unrendered: bool
    digest: Digest | None
    size: int | None


_CURRENT = """
SELECT id, kind, parent_id, coalesce(name, ''), index, deleted_at IS NOT NULL, version, markdown,
       ahead <> '{}' OR digest IS NULL AND kind = 'page', NULL::bytea, NULL::bigint
FROM mirrord.page WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)s)
UNION ALL
SELECT id, 'attachment', parent_id, name, false, deleted_at IS NOT NULL, version, NULL, false, digest, size
FROM mirrord.attachment WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)s)
UNION ALL
SELECT id, 'record', NULL, kind || '/' || key, false, deleted_at IS NOT NULL, version, text,
       ahead <> '{}' OR digest IS NULL, NULL, NULL
FROM mirrord.record WHERE tenant_id = %(tenant)s AND id = ANY (%(ids)s)"""
_PUT_TEXT = f"""
UPDATE mirrord.page SET
    index = index OR kind = 'folder', kind = 'page', markdown = %(markdown)s, digest = %(digest)s, content = NULL,
    title = coalesce(%(title)s, nullif(%(name)s, '')), icon = %(icon)s, position = {position_sql()},
    frontmatter = %(frontmatter)s, ahead = '{{}}', deleted_at = NULL,
    parent_id = %(parent)s, name = nullif(%(name)s, ''),
    name_key = CASE WHEN deleted_at IS NULL AND parent_id IS NOT DISTINCT FROM %(parent)s AND name = %(name)s
                    THEN name_key END
WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(expected)s RETURNING version"""
_PUT_BYTES = """
UPDATE mirrord.attachment SET digest = %(digest)s, size = %(size)s, media_type = %(media_type)s,
    name_key = CASE WHEN deleted_at IS NULL THEN name_key END, deleted_at = NULL
WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(expected)s RETURNING version"""
_PUT_RECORD = """
UPDATE mirrord.record SET text = %(text)s, digest = %(digest)s, data = %(data)s, ahead = '{}', deleted_at = NULL
WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(expected)s RETURNING version"""
_DELETE = """
UPDATE mirrord.{table} SET deleted_at = statement_timestamp()
WHERE tenant_id = %s AND id = %s AND version = %s AND deleted_at IS NULL RETURNING version"""


async def load_entries(
    connection: Connection, tenant: TenantId, entries: Iterable[EntryId]
) -> dict[EntryId, CurrentEntry]:
    """The rows of *entries*, tombstones included; entries without a row are omitted."""
    cursor = await connection.execute(_CURRENT, {"tenant": tenant, "ids": list(entries)})
    return {current.entry: current for current in [_current(*row) for row in await cursor.fetchall()]}


async def find_by_name(connection: Connection, tenant: TenantId, name: str) -> list[EntryId]:
    """Pages and folders called *name*, live ones first, then the newest deletions."""
    return await _ids(
        connection,
        "SELECT id FROM mirrord.page WHERE tenant_id = %s AND name = %s ORDER BY deleted_at DESC NULLS FIRST",
        (tenant, name),
    )


async def find_by_title(connection: Connection, tenant: TenantId, title: str) -> list[EntryId]:
    """Pages and folders with *title*, live ones first, then the newest deletions."""
    return await _ids(
        connection,
        "SELECT id FROM mirrord.page WHERE tenant_id = %s AND title = %s ORDER BY deleted_at DESC NULLS FIRST",
        (tenant, title),
    )


async def find_by_former_name(connection: Connection, tenant: TenantId, name: str) -> list[EntryId]:
    """Pages with a version called *name*, the newest first."""
    return await _ids(
        connection,
        "SELECT page_id FROM mirrord.page_revision WHERE tenant_id = %s AND name = %s "
        "GROUP BY page_id ORDER BY max(created_at) DESC",
        (tenant, name),
    )


async def has_children(connection: Connection, tenant: TenantId, page: EntryId) -> bool:
    """Whether the page has live descendants."""
    cursor = await connection.execute("SELECT mirrord.holds_life(%s, %s)", (tenant, page))
    row = await cursor.fetchone()
    return bool(row and row[0])


async def write_text(
    connection: Connection, tenant: TenantId, page: CurrentEntry, body: PageValues, where: Place | None = None
) -> int | None:
    """
    Write a text as the next version of *page*, at *where* (None: at its place, in the form of its file). Restores a
    deleted page.

    Returns the version; None: the row has changed since *page* was read, and nothing was written.
    """
    assert body.markdown is not None
    where = where or page.place
    identity = {"tenant": tenant, "entry": page.entry, "expected": page.version}
    await connection.execute("SET LOCAL mirrord.next_version = 'on'")
    values = {
        "markdown": body.markdown,
        "digest": digest_of(body.markdown.encode()),
        "title": body.title,
        "icon": body.icon,
        "position": body.position,
        "frontmatter": Jsonb(body.frontmatter) if body.frontmatter is not None else None,
        "parent": where.parent,
        "name": where.name,
    }
    return await _written_version(connection, _PUT_TEXT, identity | values)


async def write_bytes(
    connection: Connection, tenant: TenantId, attachment: CurrentEntry, digest: Digest, body: AttachmentContent
) -> int | None:
    """Write the next version of *attachment*, bytes stored in `blob`. None: the row has changed."""
    values = {"tenant": tenant, "entry": attachment.entry, "expected": attachment.version, "digest": digest}
    return await _written_version(connection, _PUT_BYTES, values | {"size": body.size, "media_type": body.media_type})


async def write_record(connection: Connection, tenant: TenantId, record: CurrentEntry, body: RecordText) -> int | None:
    """Write the next version of *record*; restores a deleted one. None: the row has changed."""
    await connection.execute("SET LOCAL mirrord.next_version = 'on'")
    identity = {"tenant": tenant, "entry": record.entry, "expected": record.version}
    values = record_rows.content_values(digest_of(body.text.encode()), body)
    return await _written_version(connection, _PUT_RECORD, identity | values)


async def delete_entry(connection: Connection, tenant: TenantId, entry: CurrentEntry) -> bool:
    """Make *entry* a tombstone; its file goes to the trash. False: the row has changed."""
    cursor = await connection.execute(_DELETE.format(table=table_of(entry.kind)), (tenant, entry.entry, entry.version))
    return await cursor.fetchone() is not None


async def _written_version(connection: Connection, statement: str, values: dict[str, Any]) -> int | None:
    row = await (await connection.execute(statement, values)).fetchone()
    return int(row[0]) if row else None


async def _ids(connection: Connection, statement: str, values: tuple[object, ...]) -> list[EntryId]:
    cursor = await connection.execute(statement, values)
    return [EntryId(row[0]) for row in await cursor.fetchall()]


def _current(entry: EntryId, kind: str, parent: EntryId | None, name: str, index: bool, *columns: Any) -> CurrentEntry:
    return CurrentEntry(entry, Kind(kind), Place(parent, name, index), *columns)
