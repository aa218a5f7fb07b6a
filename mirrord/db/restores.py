"""What a tenant had at a moment, and making rows like that again: every change is an ordinary new version."""

from dataclasses import dataclass
from datetime import datetime

from psycopg.types.json import Jsonb

from mirrord.db.connect import Connection
from mirrord.db.tables import said_position, table_of
from mirrord.db.writes import Text
from mirrord.domain.entry import EntryId, Kind, TenantId, digest_of

_THEN = """
SELECT now.id, {kind}, coalesce(now.name, now.id::text), now.version, now.deleted_at IS NOT NULL,
       was.version, coalesce(was.deleted, true), was.name,
       (was.parent_id, was.name) IS DISTINCT FROM (now.parent_id, now.name),
       was.digest IS NOT NULL AND was.digest IS DISTINCT FROM now.digest
FROM mirrord.{table} AS now
LEFT JOIN (SELECT DISTINCT ON ({table}_id) * FROM mirrord.{table}_revision
           WHERE tenant_id = %(tenant)s AND created_at <= %(at)s ORDER BY {table}_id, version DESC) AS was
  ON was.{table}_id = now.id
WHERE now.tenant_id = %(tenant)s
"""

_RECORDS_THEN = """
SELECT now.id, 'record', now.kind || '/' || now.key, now.version, now.deleted_at IS NOT NULL,
       was.version, coalesce(was.deleted, true), was.kind || '/' || was.key,
       (was.kind, was.key) IS DISTINCT FROM (now.kind, now.key),
       was.digest IS NOT NULL AND was.digest IS DISTINCT FROM now.digest
FROM mirrord.record AS now
LEFT JOIN (SELECT DISTINCT ON (record_id) * FROM mirrord.record_revision
           WHERE tenant_id = %(tenant)s AND created_at <= %(at)s ORDER BY record_id, version DESC) AS was
  ON was.record_id = now.id
WHERE now.tenant_id = %(tenant)s
"""

# A row that gets another place, or lives again, is named by the daemon: its old name may be another's now.
_PLACE = """
    deleted_at = NULL, parent_id = was.parent_id, name = was.name,
    name_key = CASE WHEN now.deleted_at IS NULL
                     AND (was.parent_id, was.name) IS NOT DISTINCT FROM (now.parent_id, now.name) THEN now.name_key END
"""
_RESTORE_PAGE = f"""
UPDATE mirrord.page AS now SET kind = %(kind)s, markdown = %(markdown)s, digest = %(digest)s, content = NULL,
    title = coalesce(%(title)s, was.name), icon = %(icon)s, position = {said_position(row="now")},
    frontmatter = %(frontmatter)s, ahead = '{{}}', {_PLACE}
FROM mirrord.page_revision AS was
WHERE now.tenant_id = %(tenant)s AND now.id = %(entry)s AND now.version = %(expected)s
  AND was.tenant_id = %(tenant)s AND was.page_id = %(entry)s AND was.version = %(version)s
RETURNING now.version"""
_RESTORE_ATTACHMENT = f"""
UPDATE mirrord.attachment AS now SET digest = was.digest, size = was.size, media_type = was.media_type, {_PLACE}
FROM mirrord.attachment_revision AS was
WHERE now.tenant_id = %(tenant)s AND now.id = %(entry)s AND now.version = %(expected)s
  AND was.tenant_id = %(tenant)s AND was.attachment_id = %(entry)s AND was.version = %(version)s
RETURNING now.version"""
# A version that was not rendered then has the values only, or a text that nobody read: the other follows from it again.
_RESTORE_RECORD = """
UPDATE mirrord.record AS now SET text = coalesce(was.text, now.text), digest = coalesce(was.digest, now.digest),
    data = was.data, deleted_at = NULL, kind = was.kind, key = was.key,
    ahead = CASE WHEN was.digest IS NOT NULL THEN '{}' WHEN was.text IS NULL THEN '{data}'::text[] ELSE '{text}' END
FROM mirrord.record_revision AS was
WHERE now.tenant_id = %(tenant)s AND now.id = %(entry)s AND now.version = %(expected)s
  AND was.tenant_id = %(tenant)s AND was.record_id = %(entry)s AND was.version = %(version)s
  AND NOT EXISTS (SELECT FROM mirrord.record AS other WHERE other.tenant_id = %(tenant)s AND other.id <> now.id
                  AND other.kind = was.kind AND other.key_slot = lower(was.key COLLATE "C"))
RETURNING now.version"""
_DELETE = """
UPDATE mirrord.{table} SET deleted_at = clock_timestamp()
WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(expected)s RETURNING version"""


@dataclass(frozen=True, slots=True)
class Then:
    """
    An entry now and at the moment asked for.

    version: what it has now. then: the version it had; None: there was none. name: what it is called now.
    moved: it was called or lay otherwise. changed: it had another text.
    """

    entry: EntryId
    kind: Kind
    name: str
    version: int
    is_deleted: bool
    then: int | None
    was_deleted: bool
    then_name: str | None
    moved: bool
    changed: bool


async def at_moment(connection: Connection, tenant: TenantId, moment: datetime) -> list[Then]:
    """Every entry, with what it was at *moment*."""
    found: list[Then] = []
    named = [
        _THEN.format(table=table, kind=kind) for table, kind in (("page", "now.kind"), ("attachment", "'attachment'"))
    ]
    for statement in (*named, _RECORDS_THEN):
        cursor = await connection.execute(statement, {"tenant": tenant, "at": moment})
        found += [Then(EntryId(row[0]), Kind(row[1]), *row[2:]) for row in await cursor.fetchall()]
    return found


async def text_then(connection: Connection, tenant: TenantId, one: Then) -> str | None:
    """The text a page had then, or has now where none was rendered then; None: it is a folder."""
    cursor = await connection.execute(
        "SELECT coalesce(was.markdown, now.markdown) FROM mirrord.page AS now, mirrord.page_revision AS was "
        "WHERE now.tenant_id = %(tenant)s AND now.id = %(entry)s "
        "AND was.tenant_id = %(tenant)s AND was.page_id = %(entry)s AND was.version = %(then)s",
        {"tenant": tenant, "entry": one.entry, "then": one.then},
    )
    row = await cursor.fetchone()
    return row[0] if row else None


async def restore(connection: Connection, tenant: TenantId, one: Then, text: Text | None) -> bool:
    """Let an entry be what it was. text: a page's then. False: it changed since it was looked at."""
    values: dict[str, object] = {
        "tenant": tenant,
        "entry": one.entry,
        "expected": one.version,
        "version": one.then,
    }
    if text is None:
        statement = _RESTORE_RECORD if one.kind is Kind.RECORD else _RESTORE_ATTACHMENT
        return await _wrote(connection, statement, values)
    frontmatter = Jsonb(text.frontmatter) if text.frontmatter is not None else None
    values |= {"kind": Kind.PAGE if text.markdown is not None else Kind.FOLDER, "markdown": text.markdown}
    values["digest"] = digest_of(text.markdown.encode()) if text.markdown is not None else None
    values |= {"title": text.title, "icon": text.icon, "position": text.position, "frontmatter": frontmatter}
    return await _wrote(connection, _RESTORE_PAGE, values)


async def delete(connection: Connection, tenant: TenantId, one: Then) -> bool:
    """Delete what was made since. False: it changed since it was looked at."""
    values = {"tenant": tenant, "entry": one.entry, "expected": one.version}
    return await _wrote(connection, _DELETE.format(table=table_of(one.kind)), values)


async def _wrote(connection: Connection, statement: str, values: dict[str, object]) -> bool:
    return await (await connection.execute(statement, values)).fetchone() is not None
