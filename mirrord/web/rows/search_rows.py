"""Find pages by name and text."""

from dataclasses import dataclass
from uuid import UUID

from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId

MAX_RESULTS = 50  # pages per answer
CONTEXT_CHARACTERS = 80  # characters before and after a match
_NAMES = """
SELECT p.id, coalesce(p.title, p.name, ''), p.icon, min(n.name) FILTER (WHERE n.called = 'alias')
  FROM mirrord.link_name AS n JOIN mirrord.page AS p ON p.tenant_id = n.tenant_id AND p.id = n.entry_id
 WHERE n.tenant_id = mirrord.current_tenant() AND n.kind IN ('page', 'folder') AND p.deleted_at IS NULL
   AND n.name ILIKE %(part)s ESCAPE '\\'
 GROUP BY p.id, p.title, p.name, p.icon
 ORDER BY min(CASE WHEN n.name ILIKE %(begin)s ESCAPE '\\' THEN 0 ELSE 1 END), length(coalesce(p.title, p.name, '')), 2
 LIMIT %(most)s"""
_TEXTS = """
SELECT p.id, coalesce(p.title, p.name, ''), p.icon, p.updated_at,
       substr(p.markdown, greatest(1, s.at - %(shown)s), s.at - greatest(1, s.at - %(shown)s)),
       substr(p.markdown, s.at, length(%(text)s)), substr(p.markdown, s.at + length(%(text)s), %(shown)s)
  FROM mirrord.page AS p, LATERAL (SELECT strpos(lower(p.markdown), lower(%(text)s)) AS at OFFSET 0) AS s
 WHERE p.tenant_id = mirrord.current_tenant() AND p.deleted_at IS NULL AND p.markdown ILIKE %(part)s ESCAPE '\\'
   AND s.at > 0
 ORDER BY p.updated_at DESC LIMIT %(most)s"""


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A page with a matching name. alias: the matching alias, if there is one."""

    id: EntryId
    title: str
    icon: str | None
    alias: str | None


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A page with matching text: the words of the first match, and the text around it."""

    id: EntryId
    title: str
    icon: str | None
    before: str
    words: str
    after: str


async def find_by_name(connection: Connection, text: str, limit: int = MAX_RESULTS) -> list[NameMatch]:
    """Pages with *text* in their name, title or an alias; those beginning with it first."""
    part = _escape_pattern(text)
    values = {"part": f"%{part}%", "begin": f"{part}%", "most": limit}
    return [NameMatch(*row) for row in await (await connection.execute(_NAMES, values)).fetchall()]


async def find_by_text(connection: Connection, text: str, limit: int = MAX_RESULTS) -> list[TextMatch]:
    """Pages with *text* in their file, ignoring case, the newest first."""
    values = {"part": f"%{_escape_pattern(text)}%", "text": text, "most": limit, "shown": CONTEXT_CHARACTERS}
    rows = await (await connection.execute(_TEXTS, values)).fetchall()
    return [TextMatch(row[0], row[1], row[2], *row[4:]) for row in rows]


def _escape_pattern(text: str) -> str:
    """A LIKE pattern that matches only *text*."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


async def is_unambiguous_name(connection: Connection, name: str) -> bool:
    """Whether a wikilink with only this name is unambiguous."""
    row = await (
        await connection.execute(
            "SELECT count(DISTINCT entry_id) FROM mirrord.link_name "
            "WHERE tenant_id = mirrord.current_tenant() AND key = mirrord.name_key(%s) AND called = 'name' "
            "AND kind IN ('page', 'folder')",
            (name,),
        )
    ).fetchone()
    return bool(row and row[0] == 1)


async def load_backlinks(connection: Connection, page: UUID) -> list[tuple[EntryId, str, str | None, int]]:
    """(page, title, icon, number of links) of live pages that link to *page*."""
    rows = await (
        await connection.execute(
            "SELECT s.id, coalesce(s.title, s.name, ''), s.icon, count(*) FROM mirrord.page_link AS l "
            "JOIN mirrord.page AS s ON s.tenant_id = l.tenant_id AND s.id = l.source_id "
            "WHERE l.tenant_id = mirrord.current_tenant() AND l.target_id = %s AND s.deleted_at IS NULL "
            "AND s.id <> l.target_id GROUP BY s.id, s.title, s.name, s.icon ORDER BY 2, 1 LIMIT 200",
            (page,),
        )
    ).fetchall()
    return [(EntryId(source), title, icon, count) for source, title, icon, count in rows]


# Live pages that link to a page or to what is below it, without those that move along.
_LINKING = """
WITH RECURSIVE below (id) AS (
    SELECT %(page)s::uuid
    UNION
    SELECT p.id FROM below JOIN mirrord.page AS p ON p.tenant_id = mirrord.current_tenant() AND p.parent_id = below.id
     WHERE p.deleted_at IS NULL)
SELECT count(DISTINCT l.source_id) FROM below
  JOIN mirrord.page_link AS l ON l.tenant_id = mirrord.current_tenant() AND l.target_id = below.id
  JOIN mirrord.page AS s ON s.tenant_id = mirrord.current_tenant() AND s.id = l.source_id
 WHERE s.deleted_at IS NULL AND l.source_id NOT IN (SELECT id FROM below)"""


async def count_linking(connection: Connection, page: UUID) -> int:
    """The number of other pages that link to *page* or to what is below it."""
    row = await (await connection.execute(_LINKING, {"page": page})).fetchone()
    return int(row[0]) if row else 0


async def load_unresolved(connection: Connection, page: UUID) -> list[tuple[str, str]]:
    """(kind, target) of the links of *page* that lead to nothing; those that may lead to several entries are not."""
    rows = await (
        await connection.execute(
            "SELECT DISTINCT kind, target FROM mirrord.page_link WHERE tenant_id = mirrord.current_tenant() "
            "AND source_id = %s AND target_id IS NULL AND target <> '' AND NOT ambiguous AND NOT due",
            (page,),
        )
    ).fetchall()
    return [(kind, target) for kind, target in rows]
