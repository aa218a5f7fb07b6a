"""
Writes entries: each statement changes one row by compare-and-set and records the base with it.

A statement is a value, so that one transaction can run many; `run` returns which of them found the expected
version. Writes by mirrord set every derived column; triggers make versions and history.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias
from uuid import UUID

from psycopg.types.json import Json, Jsonb

from mirrord.db.content import record_rows
from mirrord.db.content.altered_rows import (
    ALTERED_ATTACHMENT_MOVE,
    ALTERED_BYTES,
    ALTERED_MOVE,
    ALTERED_TEXT,
    PAGE_BEFORE,
    altered_page_sql,
    give_to_app,
)
from mirrord.db.content.entry_tables import (
    INSERT_PAGES,
    UPDATE_TEXTS,
    UPSERT_AGREED,
    UPSERT_MOVED,
    UPSERT_SAVED,
    WHERE_EXPECTED,
    position_sql,
    run_bulk,
    split_statement,
    table_of,
    to_json,
)
from mirrord.db.content.record_rows import RecordText
from mirrord.db.database import Connection, Database, Lease
from mirrord.domain.entry import NO_TEXT, Base, Digest, EntryId, Kind, MirrorId, Place, Row, TenantId

_INSERT_PAGE = f"""
WITH written AS (
    INSERT INTO mirrord.page (tenant_id, id, parent_id, kind, name, name_key, index, title, icon, position,
                              frontmatter, markdown, digest)
    VALUES (%(tenant)s, %(entry)s, %(parent)s, %(kind)s, %(name)s, %(name_key)s, %(index)s,
            coalesce(%(title)s, %(name)s), %(icon)s, %(position)s, %(frontmatter)s, %(markdown)s, %(digest)s)
    ON CONFLICT (tenant_id, id) DO NOTHING RETURNING version, {altered_page_sql(is_new=True)})
{UPSERT_SAVED}"""
_UPDATE_TEXT = f"""
WITH written AS (
    UPDATE mirrord.page SET kind = %(kind)s, index = %(base_index)s, markdown = %(markdown)s, digest = %(digest)s,
        content = NULL, title = coalesce(%(title)s, name), icon = %(icon)s, position = {position_sql()},
        frontmatter = %(frontmatter)s, ahead = '{{}}', op_id = %(operation)s
    {WHERE_EXPECTED}, {altered_page_sql()})
{UPSERT_SAVED}"""
_REVIVE_PAGE = f"""
WITH written AS (
    UPDATE mirrord.page SET kind = %(kind)s, markdown = %(markdown)s, digest = %(digest)s, content = NULL,
        title = coalesce(%(title)s, %(name)s), icon = %(icon)s, position = {position_sql()},
        frontmatter = %(frontmatter)s, ahead = '{{}}', deleted_at = NULL,
        parent_id = %(parent)s, name = %(name)s, name_key = %(name_key)s, index = %(index)s
    {WHERE_EXPECTED}, {altered_page_sql()})
{UPSERT_SAVED}"""
_MOVE_PAGE = f"""
WITH {PAGE_BEFORE},
written AS (
    UPDATE mirrord.page SET parent_id = %(parent)s, name = %(name)s, name_key = %(name_key)s, index = %(index)s,
        title = CASE WHEN coalesce(frontmatter ? 'title', false) THEN title ELSE %(name)s END
    {WHERE_EXPECTED}, {ALTERED_MOVE})
{UPSERT_MOVED}"""
# A row deleted without triggers may still have its history: the new row continues it.
_REINSERT_PAGE = _INSERT_PAGE.replace("markdown, digest)", "markdown, digest, version)").replace(
    "%(markdown)s, %(digest)s)",
    "%(markdown)s, %(digest)s, (SELECT coalesce(max(version), 0) + 1 FROM mirrord.page_revision "
    "WHERE tenant_id = %(tenant)s AND page_id = %(entry)s))",
)
_INSERT_ATTACHMENT = f"""
WITH written AS (
    INSERT INTO mirrord.attachment (tenant_id, id, parent_id, name, name_key, digest, size, media_type)
    VALUES (%(tenant)s, %(entry)s, %(parent)s, %(name)s, %(name_key)s, %(digest)s, %(size)s, %(media_type)s)
    ON CONFLICT (tenant_id, id) DO NOTHING RETURNING version, {ALTERED_BYTES})
{UPSERT_SAVED}"""
_UPDATE_BYTES = f"""
WITH written AS (
    UPDATE mirrord.attachment SET digest = %(digest)s, size = %(size)s, media_type = %(media_type)s
    {WHERE_EXPECTED}, {ALTERED_BYTES})
{UPSERT_SAVED}"""
_REVIVE_ATTACHMENT = f"""
WITH written AS (
    UPDATE mirrord.attachment SET digest = %(digest)s, size = %(size)s, media_type = %(media_type)s,
        deleted_at = NULL, parent_id = %(parent)s, name = %(name)s, name_key = %(name_key)s
    {WHERE_EXPECTED}, {ALTERED_BYTES})
{UPSERT_SAVED}"""
_MOVE_ATTACHMENT = f"""
WITH written AS (
    UPDATE mirrord.attachment SET parent_id = %(parent)s, name = %(name)s, name_key = %(name_key)s
    {WHERE_EXPECTED}, {ALTERED_ATTACHMENT_MOVE})
{UPSERT_MOVED}"""
_REWRITE_TEXT = f"""
UPDATE mirrord.page SET markdown = %(markdown)s, digest = %(digest)s, content = NULL, title = coalesce(%(title)s, name),
    icon = %(icon)s, position = {position_sql()}, frontmatter = %(frontmatter)s, ahead = '{{}}',
    op_id = %(operation)s
{WHERE_EXPECTED}, {ALTERED_TEXT}"""
_ADD_PAGE = f"""
INSERT INTO mirrord.page (tenant_id, id, parent_id, name, title, icon, position, frontmatter, markdown, digest, op_id)
VALUES (%(tenant)s, %(entry)s, %(parent)s, %(name)s, coalesce(%(title)s, %(name)s), %(icon)s, %(position)s,
        %(frontmatter)s, %(markdown)s, %(digest)s, %(operation)s)
RETURNING version, {ALTERED_TEXT}"""
_ADD_ATTACHMENT = """
INSERT INTO mirrord.attachment (tenant_id, id, parent_id, name, digest, size, media_type)
VALUES (%(tenant)s, %(entry)s, %(parent)s, %(name)s, %(digest)s, %(size)s, %(media_type)s)
RETURNING version"""
_ENTOMB = """
WITH written AS (
    UPDATE mirrord.{table} SET deleted_at = statement_timestamp()
    WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(expected)s RETURNING version),
dropped AS (
    DELETE FROM mirrord.mirror_base USING written
    WHERE tenant_id = %(tenant)s AND mirror_id = %(mirror)s AND entry_id = %(entry)s)
SELECT version FROM written"""
# For a page that has just taken the folder's place. A child with a name already in use there is placed again.
_INHERIT = """
    UPDATE mirrord.{table} AS child SET parent_id = %(entry)s, name_key = CASE WHEN EXISTS (
            SELECT FROM mirrord.{table} AS other
            WHERE other.tenant_id = %(tenant)s AND other.parent_id = %(entry)s AND other.name_key = child.name_key)
        THEN NULL ELSE name_key END
    FROM folder WHERE tenant_id = %(tenant)s AND parent_id = folder.id AND deleted_at IS NULL"""
_SUCCEED = f"""
WITH folder AS (
    SELECT folder.id FROM mirrord.page AS folder JOIN mirrord.page AS heir USING (tenant_id, name_key)
    WHERE tenant_id = %(tenant)s AND folder.id = %(folder)s AND folder.kind = 'folder' AND heir.id = %(entry)s
    AND (folder.parent_key = heir.parent_key OR folder.parent_id = heir.id)),
pages AS ({_INHERIT.format(table="page")}),
attachments AS ({_INHERIT.format(table="attachment")}),
dropped AS (
    DELETE FROM mirrord.mirror_base USING folder
    WHERE tenant_id = %(tenant)s AND mirror_id = %(mirror)s AND entry_id = folder.id)
UPDATE mirrord.page SET deleted_at = statement_timestamp() FROM folder
WHERE tenant_id = %(tenant)s AND page.id = folder.id RETURNING version"""
_RECORD_BASE = f"WITH written AS (SELECT %(version)s::bigint AS version, NULL::text[] AS altered) {UPSERT_AGREED}"
_TOGETHER = {_INSERT_PAGE: INSERT_PAGES, _UPDATE_TEXT: UPDATE_TEXTS}
_DROP_BASE = """
DELETE FROM mirrord.mirror_base WHERE tenant_id = %(tenant)s AND mirror_id = %(mirror)s AND entry_id = %(entry)s
RETURNING version"""
_YIELD_PATH = """
UPDATE mirrord.mirror_base SET path = NULL
WHERE tenant_id = %(tenant)s AND mirror_id = %(mirror)s AND path = %(path)s AND entry_id <> %(entry)s
RETURNING version"""
# "0" is what follows "/" in byte order
_BELOW = "(path = %(old)s OR path >= %(old)s || '/' AND path < %(old)s || '0')"
_REPATH = f"""
UPDATE mirrord.mirror_base SET path = %(new)s || substr(path, length(%(old)s) + 1)
WHERE tenant_id = %(tenant)s AND mirror_id = %(mirror)s AND {_BELOW}
RETURNING version"""
_VACATE = f"""
UPDATE mirrord.mirror_base SET path = NULL WHERE tenant_id = %(tenant)s AND mirror_id = %(mirror)s AND {_BELOW}
RETURNING version"""


@dataclass(frozen=True, slots=True)
class PageValues:
    """The columns of a page: its text, and the views of its front matter. markdown None: a folder."""

    markdown: str | None
    title: str | None = None
    icon: str | None = None
    position: str | None = None
    frontmatter: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AttachmentContent:
    """An attachment's content as described by its row; the bytes are in `blob`."""

    size: int
    media_type: str | None


Body: TypeAlias = PageValues | AttachmentContent | RecordText

_INSERT: Mapping[type[Body], str] = {
    PageValues: _INSERT_PAGE,
    AttachmentContent: _INSERT_ATTACHMENT,
    RecordText: record_rows.INSERT,
}
_REINSERT: Mapping[type[Body], str] = {**_INSERT, PageValues: _REINSERT_PAGE, RecordText: record_rows.REINSERT}
_UPDATE: Mapping[type[Body], str] = {
    PageValues: _UPDATE_TEXT,
    AttachmentContent: _UPDATE_BYTES,
    RecordText: record_rows.UPDATE,
}
_REVIVE: Mapping[type[Body], str] = {
    PageValues: _REVIVE_PAGE,
    AttachmentContent: _REVIVE_ATTACHMENT,
    RecordText: record_rows.REVIVE,
}
_MOVE = {Kind.ATTACHMENT: _MOVE_ATTACHMENT, Kind.RECORD: record_rows.MOVE}


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL statement that returns one row with a version, or none if the expected version was not found."""

    sql: str
    values: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class StatementBuilder:
    """Makes statements for one mirror."""

    tenant: TenantId
    mirror: MirrorId

    def insert(self, base: Base, place: Place, name_key: str, body: Body) -> Statement:
        """Insert a row at *place*, and its base (with the file's place)."""
        values = self._base_values(base) | self._place_values(place, name_key) | _body_values(base.digest, body)
        return Statement(_INSERT[type(body)], values)

    def reinsert(self, base: Base, place: Place, name_key: str, body: Body) -> Statement:
        """Like insert(), for an entry whose row existed before."""
        values = self._base_values(base) | self._place_values(place, name_key) | _body_values(base.digest, body)
        return Statement(_REINSERT[type(body)], values)

    def update(self, base: Base, row: Row, body: Body, operation: UUID) -> Statement:
        """Write new content to *row*, if it still has its version. operation: the same for every attempt."""
        values = {"expected": row.version, "operation": operation, "parent": row.place.parent, "name": row.place.name}
        return Statement(_UPDATE[type(body)], self._base_values(base) | _body_values(base.digest, body) | values)

    def rewrite(
        self,
        entry: EntryId,
        expected: int,
        digest: Digest,
        body: PageValues | RecordText,
        operation: UUID | None = None,
    ) -> Statement:
        """Write new text to the row only: this mirror's file does not have it yet."""
        values = {"expected": expected, "operation": operation}
        sql = _REWRITE_TEXT if isinstance(body, PageValues) else record_rows.REWRITE
        return Statement(sql, self._entry_values(entry) | _body_values(digest, body) | values)

    def insert_unplaced(
        self, entry: EntryId, place: Place, digest: Digest, body: PageValues | AttachmentContent, operation: UUID
    ) -> Statement:
        """Insert only a row, without a final name: its file is written from it. operation: as in `update`."""
        sql = _ADD_PAGE if isinstance(body, PageValues) else _ADD_ATTACHMENT
        placed = {"parent": place.parent, "name": place.name, "operation": operation}
        return Statement(sql, self._entry_values(entry) | placed | _body_values(digest, body))

    def revive(self, base: Base, expected: int, place: Place, name_key: str, body: Body) -> Statement:
        """Restore the tombstone of version *expected* with the file's content and place."""
        values = self._base_values(base) | self._place_values(place, name_key) | _body_values(base.digest, body)
        return Statement(_REVIVE[type(body)], values | {"expected": expected})

    def move(self, base: Base, expected: int, place: Place, name_key: str) -> Statement:
        """Move the row of version *expected* to *place*."""
        sql = _MOVE.get(base.kind, _MOVE_PAGE)
        return Statement(sql, self._base_values(base) | self._place_values(place, name_key) | {"expected": expected})

    def delete(self, base: Base, expected: int) -> Statement:
        """Make the row of version *expected* a tombstone and delete the base."""
        return Statement(
            _ENTOMB.format(table=table_of(base.kind)), self._entry_values(base.entry) | {"expected": expected}
        )

    def replace_folder(self, entry: EntryId, folder: EntryId) -> Statement:
        """
        Give name and children of *folder*, which has no text, to the page *entry*, which has just taken its place.

        The folder may be a child of that page, whose file is in its own directory. Run it with names deferred. It has
        no effect if the folder has moved or has a text.
        """
        return Statement(_SUCCEED, self._entry_values(entry) | {"folder": folder})

    def store_base(self, base: Base) -> Statement:
        """Store the base that both sides now agree on."""
        return Statement(_RECORD_BASE, self._base_values(base) | {"version": base.version, "saved": base.saved})

    async def store_base_alone(self, database: Database, lease: Lease, base: Base) -> None:
        """Store a base in a transaction by itself, under *lease*: one statement, and no round trip but its own."""
        values = self._base_values(base) | {"version": base.version, "saved": base.saved}
        async with database.autocommit() as connection:
            await connection.execute(
                "SELECT mirrord.store_base(%s, %s, %s, %s)",
                (self.tenant, lease.mirror, lease.token, Json(values, dumps=to_json)),
            )

    def delete_base(self, entry: EntryId) -> Statement:
        """Delete the base of an entry without row and file."""
        return Statement(_DROP_BASE, self._entry_values(entry))

    def clear_path_of_others(self, base: Base) -> Statement:
        """Clear the path of other entries' bases that have the path of *base*."""
        return Statement(_YIELD_PATH, self._entry_values(base.entry) | {"path": base.path})

    def replace_paths(self, old: str, new: str) -> Statement:
        """Replace *old* by *new* in the paths of a renamed file or directory and of everything below it (`old/…`)."""
        return Statement(_REPATH, {"tenant": self.tenant, "mirror": self.mirror, "old": old, "new": new})

    def clear_paths(self, path: str) -> Statement:
        """Clear the paths of bases at *path* and below it, where no file exists."""
        return Statement(_VACATE, {"tenant": self.tenant, "mirror": self.mirror, "old": path})

    def _entry_values(self, entry: EntryId) -> dict[str, Any]:
        return {"tenant": self.tenant, "mirror": self.mirror, "entry": entry}

    def _base_values(self, base: Base) -> dict[str, Any]:
        return self._entry_values(base.entry) | {
            "kind": base.kind,
            "path": base.path,
            "base_parent": base.place.parent,
            "base_name": base.place.name,
            "base_index": base.place.index,
            "base_digest": _stored_digest(base.digest),
            "claimed": base.claimed,
        }

    def _place_values(self, place: Place, name_key: str) -> dict[str, Any]:
        return {"parent": place.parent, "name": place.name, "name_key": name_key, "index": place.index}


async def defer_names(connection: Connection) -> None:
    """Allow equal names of siblings until the commit."""
    names = "mirrord.page_name_is_free, mirrord.attachment_name_is_free, mirrord.record_key_is_free"
    await connection.execute(f"SET CONSTRAINTS {names} DEFERRED")


async def run_statements(connection: Connection, statements: Sequence[Statement]) -> list[int | None]:
    """
    Run all in order. Returns the version of each row after its statement, or None if it matched no row.

    Rows that a trigger of an app altered have one more version than was written (altered_rows).
    """
    versions: list[int | None] = []
    for sql, group in groupby(statements, key=lambda statement: statement.sql):
        values = [statement.values for statement in group]
        if connection.is_cluster and (parts := split_statement(sql)) is not None:
            rows = [await _run_in_parts(connection, *parts, each) for each in values]
        elif len(values) > 1 and sql in _TOGETHER and not connection.is_cluster:
            rows = await run_bulk(connection, _TOGETHER[sql], values)
        else:
            rows = await _run_one_by_one(connection, sql, values)
        for facts, row in zip(values, rows, strict=True):
            version, *altered = row or (None,)
            if version is not None and any(altered):
                version = await give_to_app(connection, _table_of(facts), facts, version, frozenset(*altered))
            versions.append(version)
    return versions


def _table_of(values: Mapping[str, Any]) -> str:
    """The table that a statement with *values* writes."""
    return table_of(values["kind"]) if "kind" in values else "record" if "text" in values else "page"


async def _run_in_parts(
    connection: Connection, row_sql: str, base_sql: str, values: dict[str, Any]
) -> tuple[Any, ...] | None:
    """Write a row, then its base if the row was written."""
    row = await (await connection.execute(row_sql.encode(), values)).fetchone()
    if row is not None:
        await connection.execute(base_sql.encode(), values | {"written": row[0]})
    return row


async def _run_one_by_one(
    connection: Connection, sql: str, values: Sequence[dict[str, Any]]
) -> list[tuple[Any, ...] | None]:
    rows: list[tuple[Any, ...] | None] = []
    async with connection.cursor() as cursor:
        # in one call: separate ones would each cost a turn of the event loop
        await cursor.executemany(sql, values, returning=True)
        has_next: bool | None = True
        while has_next:
            rows.append(await cursor.fetchone())
            has_next = cursor.nextset()
    return rows


def _body_values(digest: Digest, body: Body) -> dict[str, Any]:
    if isinstance(body, RecordText):
        return record_rows.content_values(digest, body)
    if isinstance(body, AttachmentContent):
        return {"digest": digest, "size": body.size, "media_type": body.media_type}
    return {
        "digest": _stored_digest(digest),
        "markdown": body.markdown,
        "title": body.title,
        "icon": body.icon,
        "position": body.position,
        "frontmatter": Jsonb(body.frontmatter) if body.frontmatter is not None else None,
    }


def _stored_digest(digest: Digest) -> bytes | None:
    return None if digest == NO_TEXT else digest
