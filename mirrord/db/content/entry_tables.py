"""
Tables of entries: which kind is where, the SQL that records bases, many pages in one statement, taken names.

Many pages are written with the values of the single-row statements, sent as JSON: as arrays psycopg took longer than
the rest. The planner's statistics of fast-growing tables are kept fresh.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import orjson
from psycopg.types.json import Json, Jsonb

from mirrord.db.content.altered_rows import altered_page_sql
from mirrord.db.database import Connection, Database
from mirrord.domain.entry import EntryId, Kind, TenantId

_UPSERT_BASE = """
INSERT INTO mirrord.mirror_base AS b
    (tenant_id, mirror_id, entry_id, kind, path, parent_id, name, index, version, digest, claimed, saved)
SELECT %(tenant)s, %(mirror)s, %(entry)s, %(kind)s, %(path)s, %(base_parent)s, %(base_name)s, %(base_index)s,
       written.version, %(base_digest)s, %(claimed)s, {saved}
FROM written
ON CONFLICT (tenant_id, mirror_id, entry_id) DO UPDATE SET
    kind = EXCLUDED.kind, path = EXCLUDED.path, parent_id = EXCLUDED.parent_id, name = EXCLUDED.name,
    index = EXCLUDED.index, version = EXCLUDED.version, digest = EXCLUDED.digest, claimed = EXCLUDED.claimed,
    saved = coalesce(EXCLUDED.saved, b.saved)
RETURNING b.version, (SELECT altered FROM written)
"""
UPSERT_SAVED = _UPSERT_BASE.format(saved="written.version")  # the version is that of the file's content
UPSERT_MOVED = _UPSERT_BASE.format(saved="NULL::bigint")  # no new text
UPSERT_AGREED = _UPSERT_BASE.format(saved="%(saved)s::bigint")  # NULL: keep the version saved in the file before
_WRITTEN = re.compile(r"(.*)\bwritten AS \((.*)\)\s*(INSERT INTO mirrord\.mirror_base AS b.*)", re.DOTALL)
WHERE_EXPECTED = "WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(expected)s RETURNING version"


@cache
def split_statement(sql: str) -> tuple[str, str] | None:
    """
    A statement that writes a row and its base as two, for a cluster, which writes one table a statement.

    The second is for a row that the first wrote, with its values `version` and `altered` as parameters. None: *sql*
    writes no base.
    """
    if (parts := _WRITTEN.fullmatch(sql)) is None:
        return None
    before, row, base = (part.strip() for part in parts.groups())
    before = before.removesuffix(",") if before != "WITH" else ""
    base = re.sub(r"SELECT (.*)\bFROM written\nON CONFLICT", r"VALUES (\1)\nON CONFLICT", base, flags=re.DOTALL)
    base = base.replace("written.version", "%(written)s").partition("RETURNING")[0]
    return f"{before} {row}", base


TABLES = ("page", "attachment", "record")


def table_of(kind: Kind) -> str:
    """The table of entries of *kind*; folders are pages without a text."""
    return {Kind.ATTACHMENT: "attachment", Kind.RECORD: "record"}.get(kind, "page")


def position_sql(text_position: str = "%(position)s", row: str = "page") -> str:
    """
    SQL: a page's position, given *text_position* in its text (NULL: none). A position that no text ever set is kept.
    """
    row_position = f"coalesce({text_position}, {row}.position)"
    return f"CASE WHEN {row}.frontmatter ? 'position' THEN {text_position} ELSE {row_position} END"


_PAGES = """
SELECT name_key FROM mirrord.page
 WHERE tenant_id = %s AND parent_key = coalesce(%s, '00000000-0000-0000-0000-000000000000'::uuid)
   AND name_key = ANY (%s) AND id <> %s"""
_ATTACHMENTS = _PAGES.replace("mirrord.page", "mirrord.attachment")


async def load_names_in_use(
    connection: Connection,
    tenant: TenantId,
    entry: EntryId,
    parent: EntryId | None,
    keys: Sequence[str],
    *,
    attachment: bool,
) -> set[str]:
    """The keys among *keys* used by entries other than *entry* below *parent* (None: the root)."""
    cursor = await connection.execute(_ATTACHMENTS if attachment else _PAGES, (tenant, parent, list(keys), entry))
    return {key for (key,) in await cursor.fetchall()}


_FREE = "SELECT id FROM mirrord.{} WHERE tenant_id = %s AND id = ANY (%s) FOR NO KEY UPDATE SKIP LOCKED"


async def load_locked_rows(database: Database, tenant: TenantId, entries: Sequence[EntryId]) -> set[EntryId]:
    """The entries among *entries* whose row another transaction has locked."""
    async with database.transaction(tenant) as connection:
        existing, free = set[EntryId](), set[EntryId]()
        for table in TABLES:
            rows = await connection.execute(
                f"SELECT id FROM mirrord.{table} WHERE tenant_id = %s AND id = ANY (%s)", (tenant, list(entries))
            )
            unlocked = await connection.execute(_FREE.format(table), (tenant, list(entries)))
            existing |= {row[0] for row in await rows.fetchall()}
            free |= {row[0] for row in await unlocked.fetchall()}
    return existing - free


_GIVEN = """
WITH given AS (
    SELECT * FROM json_to_recordset(%(values)s) AS g (
        entry uuid, parent uuid, kind text, name text, name_key text, index boolean, title text, icon text,
        position text, frontmatter jsonb, markdown text, digest text, path text, base_parent uuid, base_name text,
        base_index boolean, base_digest text, claimed text, expected bigint, operation uuid)),
"""
_BASES = """
recorded AS (
    INSERT INTO mirrord.mirror_base AS b
        (tenant_id, mirror_id, entry_id, kind, path, parent_id, name, index, version, digest, claimed, saved)
    SELECT %(tenant)s, %(mirror)s, entry, g.kind, path, base_parent, base_name, base_index, version,
           decode(base_digest, 'hex'), claimed, version
    FROM given AS g JOIN written ON id = entry
    ON CONFLICT (tenant_id, mirror_id, entry_id) DO UPDATE SET
        kind = EXCLUDED.kind, path = EXCLUDED.path, parent_id = EXCLUDED.parent_id, name = EXCLUDED.name,
        index = EXCLUDED.index, version = EXCLUDED.version, digest = EXCLUDED.digest, claimed = EXCLUDED.claimed,
        saved = EXCLUDED.saved
    RETURNING b.entry_id, b.version)
"""
INSERT_PAGES = f"""{_GIVEN}
written AS (
    INSERT INTO mirrord.page (tenant_id, id, parent_id, kind, name, name_key, index, title, icon, position,
                              frontmatter, markdown, digest)
    SELECT %(tenant)s, entry, parent, kind, name, name_key, index, coalesce(title, name), icon, position,
           frontmatter, markdown, decode(digest, 'hex')
    FROM given
    ON CONFLICT (tenant_id, id) DO NOTHING
    RETURNING id, version, parent_id, name, title, icon, position, frontmatter, markdown, content, deleted_at),
{_BASES}
SELECT entry_id, recorded.version, {altered_page_sql("g.{}", "written", is_new=True)}
FROM recorded JOIN written ON id = entry_id JOIN given AS g ON entry = entry_id"""
UPDATE_TEXTS = f"""{_GIVEN}
written AS (
    UPDATE mirrord.page AS p SET kind = g.kind, index = g.base_index, markdown = g.markdown,
        digest = decode(g.digest, 'hex'), content = NULL, title = coalesce(g.title, p.name), icon = g.icon,
        position = {position_sql("g.position", "p")}, frontmatter = g.frontmatter, ahead = '{{}}', op_id = g.operation
    FROM given AS g
    WHERE p.tenant_id = %(tenant)s AND p.id = g.entry AND p.version = g.expected
    RETURNING p.id, p.version, {altered_page_sql("g.{}", "p")}),
{_BASES}
SELECT entry_id, recorded.version, altered FROM recorded JOIN written ON id = entry_id"""


async def run_bulk(connection: Connection, sql: str, values: Sequence[dict[str, Any]]) -> list[tuple[Any, ...] | None]:
    """Write all *values*. Returns version and altered columns of each (altered_rows), or None if it matched no row."""
    shared = {name: values[0][name] for name in ("tenant", "mirror")}
    cursor = await connection.execute(sql, shared | {"values": Json(values, dumps=to_json)})
    written = {row[0]: row[1:] for row in await cursor.fetchall()}
    return [written.get(each["entry"]) for each in values]


def to_json(values: Sequence[dict[str, Any]] | dict[str, Any]) -> bytes:
    """Values of statements as JSON."""
    return orjson.dumps(values, default=_json_value)


def _json_value(value: object) -> object:
    """The JSON form of a digest or of front matter."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Jsonb):
        return value.obj
    raise TypeError(f"{type(value).__name__} cannot be spelled as JSON")


CHECK_AFTER_ROWS = 200  # rows; after so many a check of the table sizes costs relatively nothing


async def keep_statistics(database: Database, tenant: TenantId, written: int) -> None:
    """
    Count *written* rows of all tenants; after MANY of them refresh the statistics of tables that have more than
    doubled.
    """
    database.written_rows += written
    if database.written_rows < CHECK_AFTER_ROWS:
        return
    database.written_rows = 0
    async with database.transaction(tenant) as connection:
        await connection.execute("SELECT mirrord.keep_statistics()")
