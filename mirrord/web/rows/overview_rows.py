"""Pages of a tenant by what happened to them last, and by their tags."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId
from mirrord.web.rows.page_rows import BY_SQL

MAX_RECENT = 60  # pages
MAX_TAGS = 1000
MAX_TAGGED = 500  # pages of one tag
_RECENT = f"""
SELECT p.id, coalesce(p.title, p.name, ''), p.icon, p.updated_at, {BY_SQL}
  FROM mirrord.page AS p
 WHERE p.tenant_id = mirrord.current_tenant() AND p.kind = 'page' AND p.deleted_at IS NULL
 ORDER BY p.updated_at DESC, p.id LIMIT %s"""
_TAGGED = """
SELECT p.id, p.kind, coalesce(p.title, p.name, '') AS title, p.icon, trim(leading '#' from t.tag) AS tag
  FROM mirrord.page AS p, LATERAL jsonb_array_elements_text(CASE jsonb_typeof(p.frontmatter -> 'tags')
         WHEN 'array' THEN p.frontmatter -> 'tags'
         WHEN 'string' THEN to_jsonb(regexp_split_to_array(p.frontmatter ->> 'tags', '[, ]+')) ELSE '[]' END) AS t (tag)
 WHERE p.tenant_id = mirrord.current_tenant() AND p.kind = 'page' AND p.deleted_at IS NULL AND p.frontmatter ? 'tags'"""
_TAGS = f"""
SELECT min(tag), count(DISTINCT id) FROM ({_TAGGED}) AS tagged WHERE tag <> ''
 GROUP BY mirrord.name_key(tag) ORDER BY count(DISTINCT id) DESC, mirrord.name_key(tag) LIMIT %s"""
_WITH_TAG = f"""
SELECT DISTINCT id, kind, title, icon FROM ({_TAGGED}) AS tagged
 WHERE mirrord.name_key(tag) = mirrord.name_key(%s) ORDER BY title, id LIMIT %s"""


@dataclass(frozen=True, slots=True)
class RecentPage:
    """A page and its last change. by: {kind, name, channel}."""

    id: EntryId
    title: str
    icon: str | None
    updated_at: datetime
    by: dict[str, Any] | None


async def load_recent(connection: Connection) -> list[RecentPage]:
    """The pages that were changed last, the newest first."""
    return [RecentPage(*row) for row in await (await connection.execute(_RECENT, (MAX_RECENT,))).fetchall()]


async def load_tags(connection: Connection) -> list[tuple[str, int]]:
    """Tags with their numbers of pages, the most used first; spellings that differ in case only are one tag."""
    return [(tag, count) for tag, count in await (await connection.execute(_TAGS, (MAX_TAGS,))).fetchall()]


async def load_tagged(connection: Connection, tag: str) -> list[tuple[EntryId, str, str, str | None]]:
    """(page, kind, title, icon) of the pages with a tag, by title."""
    rows = await (await connection.execute(_WITH_TAG, (tag, MAX_TAGGED))).fetchall()
    return [(EntryId(page), kind, title, icon) for page, kind, title, icon in rows]
