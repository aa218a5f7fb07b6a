"""Versions of entries: the history of a page, and restoring what a tenant had at a moment as ordinary new versions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from mirrord.db.content.entry_tables import position_sql, table_of
from mirrord.db.content.entry_writes import PageValues
from mirrord.db.database import Connection
from mirrord.domain.entry import Digest, EntryId, Kind, TenantId, digest_of
from mirrord.domain.history_rule import describe_removal
from mirrord.errors import UserError


class TextRemoved(UserError):
    """The text of a version was removed after its time."""


@dataclass(frozen=True, slots=True)
class Revision:
    """
    One version of a page.

    parents: the versions it descends from. changed: differences from the version before: created, text, place,
    title, deleted, restored; empty: only the form of its file. size: characters of its text; None: a folder, not
    rendered yet, or removed. parent None: the root. text_removed_at: when its text was removed; None: it was not.
    """

    version: int
    created_at: datetime
    actor: dict[str, Any]
    digest: Digest | None
    size: int | None
    parent: EntryId | None
    name: str
    title: str
    is_deleted: bool
    parents: tuple[int, ...]
    changed: tuple[str, ...]
    text_removed_at: datetime | None


# md5 distinguishes texts of neighbouring versions that have no digest yet
_HISTORY = """
SELECT version, created_at, coalesce(actor, '{}'), digest, length(markdown), parent_id, coalesce(name, ''),
       coalesce(views ->> 'title', frontmatter ->> 'title', name, ''), deleted, parents, text_removed_at,
       md5(markdown)
FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s ORDER BY version"""


async def load_history(connection: Connection, tenant: TenantId, page: EntryId) -> list[Revision]:
    """Every version of a page, the oldest first."""
    cursor = await connection.execute(_HISTORY, (tenant, page))
    revisions: list[Revision] = []
    text_hash = None
    for *columns, new_hash in await cursor.fetchall():
        revision = _revision_of(*columns)
        changed = _changes_between(revisions[-1], revision, text_hash != new_hash) if revisions else ("created",)
        revisions.append(replace(revision, changed=changed))
        text_hash = new_hash
    return revisions


async def load_text(connection: Connection, tenant: TenantId, page: EntryId, version: int) -> str | None:
    """The text of an existing version; None: it had none. Raises TextRemoved."""
    cursor = await connection.execute(
        "SELECT markdown, text_removed_at FROM mirrord.page_revision "
        "WHERE tenant_id = %s AND page_id = %s AND version = %s",
        (tenant, page, version),
    )
    row = await cursor.fetchone()
    if row is not None and row[1] is not None:
        raise TextRemoved(describe_removal(version, row[1]))
    return row[0] if row else None


async def load_next_texts(
    connection: Connection, tenant: TenantId, page: EntryId, version: int, limit: int
) -> list[str]:
    """The texts of the first *limit* versions after *version* that have one."""
    cursor = await connection.execute(
        "SELECT markdown FROM mirrord.page_revision WHERE tenant_id = %s AND page_id = %s AND version > %s "
        "AND markdown IS NOT NULL ORDER BY version LIMIT %s",
        (tenant, page, version, limit),
    )
    return [row[0] for row in await cursor.fetchall()]


def _changes_between(before: Revision, after: Revision, has_new_hash: bool) -> tuple[str, ...]:
    """The changes; without both texts their digests are compared, and titles, which were in the texts, are not."""
    has_texts = before.text_removed_at is None and after.text_removed_at is None
    checks = {
        "deleted": after.is_deleted and not before.is_deleted,
        "restored": before.is_deleted and not after.is_deleted,
        "text": has_new_hash if has_texts else before.digest != after.digest,
        "place": (before.parent, before.name) != (after.parent, after.name),
        "title": has_texts and before.title != after.title,
    }
    return tuple(name for name, holds in checks.items() if holds)


def _revision_of(*columns: Any) -> Revision:
    version, created_at, actor, digest, size, parent, name, title, deleted, parents, removed_at = columns
    place = (parent, name, title)
    return Revision(version, created_at, actor, digest, size, *place, deleted, tuple(parents), (), removed_at)


_OWN_ACTOR_KINDS = ["daemon", "file"]  # the actors of mirrord's own transactions
# A move by mirrord writes or completes one version of a row. Another version in the same transaction is a trigger's.
_CHANGED_BY_TRIGGERS = " UNION ALL ".join(
    f"SELECT row.id FROM mirrord.{table} AS row "
    f"JOIN mirrord.{table}_revision AS newest ON newest.tenant_id = row.tenant_id "
    f"AND newest.{table}_id = row.id AND newest.version = row.version "
    f"JOIN mirrord.{table}_revision AS before ON before.tenant_id = row.tenant_id "
    f"AND before.{table}_id = row.id AND before.version = row.version - 1 AND before.xmin = newest.xmin "
    "WHERE row.tenant_id = %(tenant)s AND row.id = ANY (%(entries)s) AND row.updated_by ->> 'kind' = ANY (%(ours)s)"
    for table in ("page", "attachment", "record")
)


async def load_changed_by_triggers(
    connection: Connection, tenant: TenantId, entries: Sequence[EntryId]
) -> frozenset[EntryId]:
    """The entries among *entries* whose newest version a trigger wrote in a transaction of mirrord."""
    values = {"tenant": tenant, "entries": list(entries), "ours": _OWN_ACTOR_KINDS}
    cursor = await connection.execute(_CHANGED_BY_TRIGGERS, values)
    return frozenset(EntryId(entry) for (entry,) in await cursor.fetchall())


_AT_MOMENT = """
SELECT now.id, {kind}, coalesce(now.name, now.id::text), now.version, now.deleted_at IS NOT NULL,
       was.version, coalesce(was.deleted, true), was.name,
       (was.parent_id, was.name) IS DISTINCT FROM (now.parent_id, now.name),
       was.digest IS NOT NULL AND was.digest IS DISTINCT FROM now.digest, {removed_at}
FROM mirrord.{table} AS now
LEFT JOIN (SELECT DISTINCT ON ({table}_id) * FROM mirrord.{table}_revision
           WHERE tenant_id = %(tenant)s AND created_at <= %(at)s ORDER BY {table}_id, version DESC) AS was
  ON was.{table}_id = now.id
WHERE now.tenant_id = %(tenant)s
"""

_RECORDS_AT_MOMENT = """
SELECT now.id, 'record', now.kind || '/' || now.key, now.version, now.deleted_at IS NOT NULL,
       was.version, coalesce(was.deleted, true), was.kind || '/' || was.key,
       (was.kind, was.key) IS DISTINCT FROM (now.kind, now.key),
       was.digest IS NOT NULL AND was.digest IS DISTINCT FROM now.digest, was.text_removed_at
FROM mirrord.record AS now
LEFT JOIN (SELECT DISTINCT ON (record_id) * FROM mirrord.record_revision
           WHERE tenant_id = %(tenant)s AND created_at <= %(at)s ORDER BY record_id, version DESC) AS was
  ON was.record_id = now.id
WHERE now.tenant_id = %(tenant)s
"""

# The daemon names a row that moves or is restored: another entry may use its old name now.
_PLACE = """
    deleted_at = NULL, parent_id = was.parent_id, name = was.name,
    name_key = CASE WHEN now.deleted_at IS NULL
                     AND (was.parent_id, was.name) IS NOT DISTINCT FROM (now.parent_id, now.name) THEN now.name_key END
"""
_RESTORE_PAGE = f"""
UPDATE mirrord.page AS now SET kind = %(kind)s, markdown = %(markdown)s, digest = %(digest)s, content = NULL,
    title = coalesce(%(title)s, was.name), icon = %(icon)s, position = {position_sql(row="now")},
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
# A version that was never rendered has only data, or only an unparsed text: the other is derived from it again.
_RESTORE_RECORD = """
UPDATE mirrord.record AS now SET text = coalesce(was.text, now.text), digest = coalesce(was.digest, now.digest),
    data = CASE WHEN was.text_removed_at IS NULL THEN was.data ELSE now.data END,
    deleted_at = NULL, kind = was.kind, key = was.key,
    ahead = CASE WHEN was.digest IS NOT NULL THEN '{}' WHEN was.text IS NULL THEN '{data}'::text[] ELSE '{text}' END
FROM mirrord.record_revision AS was
WHERE now.tenant_id = %(tenant)s AND now.id = %(entry)s AND now.version = %(expected)s
  AND was.tenant_id = %(tenant)s AND was.record_id = %(entry)s AND was.version = %(version)s
  AND NOT EXISTS (SELECT FROM mirrord.record AS other WHERE other.tenant_id = %(tenant)s AND other.id <> now.id
                  AND other.kind = was.kind AND other.key_slot = lower(was.key COLLATE "C"))
RETURNING now.version"""
_DELETE_CREATED = """
UPDATE mirrord.{table} SET deleted_at = statement_timestamp()
WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(expected)s RETURNING version"""


@dataclass(frozen=True, slots=True)
class EntryAtMoment:
    """
    An entry now and at the requested moment.

    version, name: the current ones. version_then: the version at that moment; None: it did not exist.
    is_moved: it had another name or parent. is_changed: it had another text. text_removed_at: when the text of then was
    removed; None: it was not.
    """

    entry: EntryId
    kind: Kind
    name: str
    version: int
    is_deleted: bool
    version_then: int | None
    was_deleted: bool
    name_then: str | None
    is_moved: bool
    is_changed: bool
    text_removed_at: datetime | None = None


async def load_at_moment(connection: Connection, tenant: TenantId, moment: datetime) -> list[EntryAtMoment]:
    """Every entry, with its state at *moment*."""
    entries: list[EntryAtMoment] = []
    page_and_attachment_queries = [
        _AT_MOMENT.format(table=table, kind=kind, removed_at=removed_at)
        for table, kind, removed_at in (
            ("page", "now.kind", "was.text_removed_at"),
            ("attachment", "'attachment'", "NULL::timestamptz"),
        )
    ]
    for statement in (*page_and_attachment_queries, _RECORDS_AT_MOMENT):
        cursor = await connection.execute(statement, {"tenant": tenant, "at": moment})
        entries += [EntryAtMoment(EntryId(row[0]), Kind(row[1]), *row[2:]) for row in await cursor.fetchall()]
    return entries


async def load_text_then(connection: Connection, tenant: TenantId, entry: EntryAtMoment) -> str | None:
    """The page's text at that moment, or the current one if none was rendered; None: a folder."""
    cursor = await connection.execute(
        "SELECT coalesce(was.markdown, now.markdown) FROM mirrord.page AS now, mirrord.page_revision AS was "
        "WHERE now.tenant_id = %(tenant)s AND now.id = %(entry)s "
        "AND was.tenant_id = %(tenant)s AND was.page_id = %(entry)s AND was.version = %(then)s",
        {"tenant": tenant, "entry": entry.entry, "then": entry.version_then},
    )
    row = await cursor.fetchone()
    return row[0] if row else None


async def restore_entry(
    connection: Connection, tenant: TenantId, entry: EntryAtMoment, text: PageValues | None
) -> bool:
    """Restore an entry's earlier state. text: a page's. False: the entry changed since it was loaded."""
    values: dict[str, object] = {
        "tenant": tenant,
        "entry": entry.entry,
        "expected": entry.version,
        "version": entry.version_then,
    }
    if text is None:
        statement = _RESTORE_RECORD if entry.kind is Kind.RECORD else _RESTORE_ATTACHMENT
        return await _has_written(connection, statement, values)
    frontmatter = Jsonb(text.frontmatter) if text.frontmatter is not None else None
    values |= {"kind": Kind.PAGE if text.markdown is not None else Kind.FOLDER, "markdown": text.markdown}
    values["digest"] = digest_of(text.markdown.encode()) if text.markdown is not None else None
    values |= {"title": text.title, "icon": text.icon, "position": text.position, "frontmatter": frontmatter}
    return await _has_written(connection, _RESTORE_PAGE, values)


async def delete_entry(connection: Connection, tenant: TenantId, entry: EntryAtMoment) -> bool:
    """Delete an entry created since. False: it changed since it was loaded."""
    values = {"tenant": tenant, "entry": entry.entry, "expected": entry.version}
    return await _has_written(connection, _DELETE_CREATED.format(table=table_of(entry.kind)), values)


async def _has_written(connection: Connection, statement: str, values: dict[str, object]) -> bool:
    return await (await connection.execute(statement, values)).fetchone() is not None
