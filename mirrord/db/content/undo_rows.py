"""Versions chosen for an undo: which they are, the states around them, and the writes that take them back."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from mirrord.db.content.entry_tables import TABLES, position_sql, table_of
from mirrord.db.content.entry_writes import Body, PageValues
from mirrord.db.content.recent_versions import IS_AUTHOR
from mirrord.db.content.record_rows import RecordText
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, Kind, TenantId, digest_of
from mirrord.domain.place import name_key

Chosen = Mapping[str, Mapping[EntryId, set[int]]]  # versions by entry, by table

_OF_CHANGE_SET = """
SELECT {table}_id, version FROM mirrord.{table}_revision WHERE tenant_id = %(tenant)s AND change_set = %(change_set)s"""
_OF_AUTHOR = f"""
SELECT {{table}}_id, version FROM mirrord.{{table}}_revision
 WHERE tenant_id = %(tenant)s AND {IS_AUTHOR} AND created_at >= %(since)s"""
_LIST = """
  FROM mirrord.{table}_revision AS version
  JOIN unnest(%(entries)s::uuid[], %(firsts)s::bigint[]) AS chosen (entry, first)
    ON chosen.entry = version.{table}_id AND version.version >= chosen.first - 1
  JOIN mirrord.{table} AS now ON now.tenant_id = version.tenant_id AND now.id = version.{table}_id
 WHERE version.tenant_id = %(tenant)s ORDER BY version.{table}_id, version.version"""
_STATES = {
    "page": "SELECT version.page_id, now.kind, version.version, version.deleted, version.parent_id, version.name, "
    "version.digest, version.markdown, version.markdown IS NOT NULL OR version.views IS NULL, "
    "now.ahead = '{{}}' AND (now.name_key IS NOT NULL OR now.deleted_at IS NOT NULL), version.text_removed_at, "
    "CASE WHEN version.version = now.version THEN now.index ELSE version.index END",
    "attachment": "SELECT version.attachment_id, 'attachment', version.version, version.deleted, version.parent_id, "
    "version.name, version.digest, NULL, true, now.name_key IS NOT NULL OR now.deleted_at IS NOT NULL, "
    "NULL::timestamptz, NULL::boolean",
    "record": "SELECT version.record_id, 'record', version.version, version.deleted, NULL::uuid, "
    "version.kind || '/' || version.key, version.digest, version.text, version.text IS NOT NULL, now.ahead = '{{}}', "
    "version.text_removed_at, NULL::boolean",
}
_CHILDREN = """
SELECT parent_id, id FROM mirrord.page
 WHERE tenant_id = %(tenant)s AND parent_id = ANY (%(parents)s) AND deleted_at IS NULL
UNION ALL
SELECT parent_id, id FROM mirrord.attachment
 WHERE tenant_id = %(tenant)s AND parent_id = ANY (%(parents)s) AND deleted_at IS NULL"""
_HOLDERS = """
SELECT 'page', parent_id, name_key, id FROM mirrord.page
 WHERE tenant_id = %(tenant)s AND name_key = ANY (%(keys)s) AND deleted_at IS NULL
UNION ALL
SELECT 'attachment', parent_id, name_key, id FROM mirrord.attachment
 WHERE tenant_id = %(tenant)s AND name_key = ANY (%(keys)s) AND deleted_at IS NULL
UNION ALL
SELECT 'record', NULL, kind || '/' || key_slot, id FROM mirrord.record
 WHERE tenant_id = %(tenant)s AND kind || '/' || key_slot = ANY (%(keys)s) AND deleted_at IS NULL"""
_MADE_FOLDERS = """
WITH RECURSIVE above (id, parent_id) AS (
    SELECT id, parent_id FROM mirrord.page WHERE tenant_id = %(tenant)s AND id = ANY (%(folders)s)
    UNION
    SELECT page.id, page.parent_id FROM above JOIN mirrord.page ON page.tenant_id = %(tenant)s
       AND page.id = above.parent_id)
SELECT page.id, page.version, page.parent_id, page.name FROM above JOIN mirrord.page USING (id)
 WHERE page.tenant_id = %(tenant)s AND page.kind = 'folder' AND page.deleted_at IS NULL
   AND page.created_at >= %(since)s"""
_BEGUN = """
SELECT min(created_at) FROM mirrord.{table}_revision
  JOIN unnest(%(entries)s::uuid[], %(firsts)s::bigint[]) AS chosen (entry, first)
    ON chosen.entry = {table}_id AND version = chosen.first WHERE tenant_id = %(tenant)s"""
_EXPECTED = "WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(expected)s RETURNING version"
_DELETE = f"UPDATE mirrord.{{table}} SET deleted_at = statement_timestamp() {_EXPECTED}"
_WRITE_PAGE = f"""
UPDATE mirrord.page SET kind = %(kind)s, markdown = %(markdown)s, digest = %(digest)s,
    content = CASE WHEN digest IS NOT DISTINCT FROM %(digest)s THEN content END,
    title = coalesce(%(title)s, %(name)s), icon = %(icon)s, position = {position_sql()},
    frontmatter = %(frontmatter)s, ahead = '{{}}', deleted_at = NULL, parent_id = %(parent)s, name = %(name)s,
    name_key = %(key)s, index = coalesce(%(index)s, index) {_EXPECTED}"""
_WRITE_ATTACHMENT = """
UPDATE mirrord.attachment AS now SET digest = was.digest, size = was.size, media_type = was.media_type,
    deleted_at = NULL, parent_id = %(parent)s, name = %(name)s, name_key = %(key)s
  FROM mirrord.attachment_revision AS was
 WHERE now.tenant_id = %(tenant)s AND now.id = %(entry)s AND now.version = %(expected)s
   AND was.tenant_id = %(tenant)s AND was.attachment_id = %(entry)s AND was.version = %(source)s
RETURNING now.version"""
_WRITE_RECORD = f"""
UPDATE mirrord.record SET text = %(markdown)s, digest = %(digest)s, data = %(data)s, ahead = '{{}}', deleted_at = NULL,
    kind = split_part(%(name)s, '/', 1), key = split_part(%(name)s, '/', 2) {_EXPECTED}"""
# Every version of this transaction, also those that triggers made of folders. Those of other transactions have another
# time of beginning, or belong to entries that are not at this place of the feed.
_STAMP = """
UPDATE mirrord.{table}_revision AS version SET change_set = %(change_set)s
  FROM mirrord.entry_feed AS feed, mirrord.tenant_clock AS clock
 WHERE clock.tenant_id = %(tenant)s AND clock.xid = pg_current_xact_id() AND feed.tenant_id = %(tenant)s
   AND feed.seq = clock.seq AND version.tenant_id = %(tenant)s AND version.{table}_id = feed.entry_id
   AND version.created_at = now() AND version.change_set IS NULL"""
_STAMP_WRITTEN = """
UPDATE mirrord.{table}_revision AS version SET change_set = %(change_set)s
  FROM unnest(%(entries)s::uuid[], %(versions)s::bigint[]) AS written (entry, number)
 WHERE version.tenant_id = %(tenant)s AND version.{table}_id = written.entry AND version.version = written.number"""

_DELETED_BY_CHANGE_SETS = " UNION ALL ".join(
    f"SELECT row.id FROM mirrord.{table} AS row JOIN mirrord.{table}_revision AS version "
    f"ON version.tenant_id = row.tenant_id AND version.{table}_id = row.id AND version.version = row.version "
    "WHERE row.tenant_id = %(tenant)s AND row.id = ANY (%(entries)s) AND row.deleted_at IS NOT NULL "
    "AND version.change_set IS NOT NULL"
    for table in TABLES
)


@dataclass(frozen=True, slots=True)
class StateRow:
    """
    One version of an entry.

    is_settled: its text is known; of the present one: it is also in its file's place. text_removed_at: when its text
    was removed; None: it was not. index: whether a page's file is `_index.md` in its directory; None: not known, or it
    is no page.
    """

    entry: EntryId
    kind: Kind
    version: int
    is_deleted: bool
    parent: EntryId | None
    name: str | None
    digest: bytes | None
    text: str | None
    is_settled: bool
    is_row_settled: bool
    text_removed_at: datetime | None
    index: bool | None


@dataclass(frozen=True, slots=True)
class EntryWrite:
    """
    What an entry becomes.

    body None: it is deleted, or an attachment with the bytes of version *source*. index: as in StateRow; None: as
    before.
    """

    entry: EntryId
    kind: Kind
    expected: int
    is_deleted: bool
    parent: EntryId | None
    name: str
    body: Body | None
    source: int | None
    index: bool | None


async def load_of_change_set(connection: Connection, tenant: TenantId, change_set: UUID) -> Chosen:
    """The versions of a change set."""
    return await _load_chosen(connection, _OF_CHANGE_SET, {"tenant": tenant, "change_set": change_set})


async def load_of_author(connection: Connection, tenant: TenantId, author: str, since: datetime) -> Chosen:
    """The versions that *author*, a name or an actor as lists print it, made since a moment."""
    return await _load_chosen(connection, _OF_AUTHOR, {"tenant": tenant, "authors": [author], "since": since})


async def _load_chosen(connection: Connection, statement: str, values: Mapping[str, object]) -> Chosen:
    chosen: dict[str, dict[EntryId, set[int]]] = {}
    for table in TABLES:
        rows = await (await connection.execute(statement.format(table=table).encode(), values)).fetchall()
        for entry, version in rows:
            chosen.setdefault(table, {}).setdefault(EntryId(entry), set()).add(version)
    return chosen


async def load_states(connection: Connection, tenant: TenantId, chosen: Chosen) -> dict[EntryId, list[StateRow]]:
    """The states of each entry from before its first chosen version to the present one."""
    states: dict[EntryId, list[StateRow]] = {}
    for table, versions in chosen.items():
        query = (_STATES[table] + _LIST).format(table=table).encode()
        rows = await (await connection.execute(query, _chosen_values(tenant, versions))).fetchall()
        for entry, kind, *columns in rows:
            states.setdefault(EntryId(entry), []).append(StateRow(EntryId(entry), Kind(kind), *columns))
    return states


def _chosen_values(tenant: TenantId, versions: Mapping[EntryId, Collection[int]]) -> dict[str, object]:
    firsts = [min(numbers) for numbers in versions.values()]
    return {"tenant": tenant, "entries": list(versions), "firsts": firsts}


async def load_begin(connection: Connection, tenant: TenantId, chosen: Chosen) -> datetime | None:
    """When the first chosen version was made; None: there is none."""
    moments = []
    for table, versions in chosen.items():
        cursor = await connection.execute(_BEGUN.format(table=table).encode(), _chosen_values(tenant, versions))
        row = await cursor.fetchone()
        moments += [row[0]] if row is not None and row[0] is not None else []
    return min(moments, default=None)


async def load_children(
    connection: Connection, tenant: TenantId, parents: Iterable[EntryId]
) -> dict[EntryId, set[EntryId]]:
    """The living pages and attachments directly below each of *parents*."""
    children: dict[EntryId, set[EntryId]] = {}
    values = {"tenant": tenant, "parents": list(parents)}
    for parent, child in await (await connection.execute(_CHILDREN, values)).fetchall():
        children.setdefault(EntryId(parent), set()).add(EntryId(child))
    return children


async def load_holders(
    connection: Connection, tenant: TenantId, keys: Iterable[str]
) -> dict[tuple[Kind, EntryId | None, str], EntryId]:
    """The living entries with one of these keys of names, by their places."""
    rows = await (await connection.execute(_HOLDERS, {"tenant": tenant, "keys": list(keys)})).fetchall()
    return {(Kind(sort), parent, key): EntryId(entry) for sort, parent, key, entry in rows}


async def load_existing(connection: Connection, tenant: TenantId, pages: Iterable[EntryId]) -> set[EntryId]:
    """Those of *pages* that have a row, deleted ones too."""
    query = "SELECT id FROM mirrord.page WHERE tenant_id = %s AND id = ANY (%s)"
    return {EntryId(page) for (page,) in await (await connection.execute(query, (tenant, list(pages)))).fetchall()}


async def load_made_folders(
    connection: Connection, tenant: TenantId, folders: Iterable[EntryId], since: datetime
) -> list[tuple[EntryId, int, EntryId | None, str]]:
    """Living folders without a text, among *folders* and above them, made since a moment: id, version, place."""
    values = {"tenant": tenant, "folders": list(folders), "since": since}
    return [(EntryId(row[0]), *row[1:]) for row in await (await connection.execute(_MADE_FOLDERS, values)).fetchall()]


async def load_deleted_by_change_sets(
    connection: Connection, tenant: TenantId, entries: Sequence[EntryId]
) -> frozenset[EntryId]:
    """The deleted entries among *entries* of which a change set made the last version."""
    values = {"tenant": tenant, "entries": list(entries)}
    rows = await (await connection.execute(_DELETED_BY_CHANGE_SETS, values)).fetchall()
    return frozenset(EntryId(entry) for (entry,) in rows)


async def write_entry(connection: Connection, tenant: TenantId, write: EntryWrite) -> int | None:
    """Write an entry; its new version. None: it changed since it was loaded."""
    values: dict[str, object] = {"tenant": tenant, "entry": write.entry, "expected": write.expected}
    if write.is_deleted:
        statement = _DELETE.format(table=table_of(write.kind))
    else:
        values |= {"parent": write.parent, "name": write.name, "key": name_key(write.name), "source": write.source}
        values |= {**_body_values(write.body), "index": write.index}
        statement = {"page": _WRITE_PAGE, "attachment": _WRITE_ATTACHMENT, "record": _WRITE_RECORD}[
            table_of(write.kind)
        ]
    row = await (await connection.execute(statement.encode(), values)).fetchone()
    return int(row[0]) if row is not None else None


def _body_values(body: Body | None) -> dict[str, Any]:
    if isinstance(body, RecordText):
        data = Jsonb(body.data) if body.data is not None else None
        return {"markdown": body.text, "digest": digest_of(body.text.encode()), "data": data}
    if not isinstance(body, PageValues):
        return {}
    text = body.markdown
    return {
        "kind": Kind.PAGE if text is not None else Kind.FOLDER,
        "markdown": text,
        "digest": digest_of(text.encode()) if text is not None else None,
        "title": body.title,
        "icon": body.icon,
        "position": body.position,
        "frontmatter": Jsonb(body.frontmatter) if body.frontmatter is not None else None,
    }


async def stamp_versions(connection: Connection, tenant: TenantId, change_set: UUID, written: Chosen) -> None:
    """
    Give every version that this transaction made its change set. written: those of write_entry().

    Deferred triggers run before: nothing may be written in the transaction afterwards. On a cluster only *written* get
    it: there a node has numbers and times of transactions of its own.
    """
    await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
    values: dict[str, object] = {"tenant": tenant, "change_set": change_set}
    if not connection.is_cluster:
        for table in TABLES:
            await connection.execute(_STAMP.format(table=table).encode(), values)
        return
    for table, entries in written.items():
        pairs = [(entry, version) for entry, versions in entries.items() for version in versions]
        of_table = {"entries": [entry for entry, _ in pairs], "versions": [version for _, version in pairs]}
        await connection.execute(_STAMP_WRITTEN.format(table=table).encode(), values | of_table)
