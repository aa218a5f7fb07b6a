"""Pages by words, by titles, and the ones changed last; and the links from and to a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId
from mirrord.markdown.snippets import MAX_SNIPPET_SOURCE_CHARACTERS
from mirrord.web.rows import overview_rows

_SEARCH = """
SELECT s.page_id, p.kind, s.title, p.icon, p.updated_at, s.near, s.matches, left(p.markdown, %(shown)s)
  FROM mirrord.search(%(query)s, %(most)s, %(start)s) WITH ORDINALITY
       AS s (page_id, title, rank, near, matches, number)
  JOIN mirrord.page AS p ON p.tenant_id = mirrord.current_tenant() AND p.id = s.page_id ORDER BY s.number"""
_TITLES = """
SELECT s.page_id, p.kind, s.title, p.icon
  FROM mirrord.search(%(query)s, %(most)s, 0, true) WITH ORDINALITY AS s (page_id, title, rank, near, matches, number)
  JOIN mirrord.page AS p ON p.tenant_id = mirrord.current_tenant() AND p.id = s.page_id ORDER BY s.number"""
_TERMS = """
SELECT term FROM mirrord.search_terms(%s) WHERE field IN ('text', 'title') AND NOT is_excluded"""
_RECENT = """
SELECT p.id, p.kind, coalesce(p.title, p.name, ''), p.icon FROM (
    SELECT page_id, changed_at FROM mirrord.page_search
     WHERE tenant_id = mirrord.current_tenant() ORDER BY changed_at DESC LIMIT %(read)s) AS s
  JOIN mirrord.page AS p ON p.tenant_id = mirrord.current_tenant() AND p.id = s.page_id
 WHERE p.deleted_at IS NULL AND p.kind = 'page' ORDER BY s.changed_at DESC, p.id LIMIT %(most)s"""
_LISTED = """
SELECT p.id, p.kind, coalesce(p.title, p.name, ''), p.icon FROM mirrord.page AS p
 WHERE p.tenant_id = mirrord.current_tenant() AND p.id = ANY (%s) AND p.deleted_at IS NULL"""
# Pages without a document wait for it, and then to be indexed.
_UNINDEXED = """
SELECT count(*) FROM (
    (SELECT 1 FROM mirrord.search_due WHERE tenant_id = mirrord.current_tenant() LIMIT %(limit)s) UNION ALL
    (SELECT 1 FROM mirrord.page WHERE tenant_id = mirrord.current_tenant() AND deleted_at IS NULL AND kind = 'page'
        AND content IS NULL LIMIT %(limit)s)) AS unindexed"""
_UNREAD_ROWS = 20  # folders and deleted pages among the newest rows that are read


@dataclass(frozen=True, slots=True)
class TitledPage:
    """A page or folder by its title."""

    id: EntryId
    kind: str
    title: str
    icon: str | None


@dataclass(frozen=True, slots=True)
class MatchingPage:
    """
    A page that fits a query. markdown: the beginning of its text; None: a folder.

    near_words: words of it that stand for a misspelt one; None: every word of the query occurs. matches: of the query.
    """

    id: EntryId
    kind: str
    title: str
    icon: str | None
    changed_at: datetime
    near_words: list[str] | None
    matches: int
    markdown: str | None


async def search(connection: Connection, query: str, start: int, limit: int) -> list[MatchingPage]:
    """Pages that fit *query*, the best first, from the result number *start* on."""
    values = {"query": query, "start": start, "most": limit, "shown": MAX_SNIPPET_SOURCE_CHARACTERS}
    return [MatchingPage(*row) for row in await (await connection.execute(_SEARCH, values)).fetchall()]


async def count_unindexed(connection: Connection, limit: int) -> int:
    """How many pages have words that no search finds yet, such as during an import; at most *limit*."""
    row = await (await connection.execute(_UNINDEXED, {"limit": limit})).fetchone()
    return min(int(row[0]), limit) if row else 0


async def load_terms(connection: Connection, query: str) -> list[str]:
    """The words and phrases of *query* that pages must have."""
    return [term for (term,) in await (await connection.execute(_TERMS, (query,))).fetchall()]


async def find_titles(connection: Connection, query: str, limit: int) -> list[TitledPage]:
    """Pages and folders with the words of *query* in a title, name or alias, the best first."""
    rows = await (await connection.execute(_TITLES, {"query": query, "most": limit})).fetchall()
    return [TitledPage(*row) for row in rows]


async def load_recent(connection: Connection, limit: int) -> list[TitledPage]:
    """The pages that were changed last, the newest first; also where they wait to be indexed, as after an import."""
    values = {"most": limit, "read": limit + _UNREAD_ROWS}
    titles = [TitledPage(*row) for row in await (await connection.execute(_RECENT, values)).fetchall()]
    if len(titles) == limit:
        return titles
    pages = await overview_rows.load_recent(connection)
    return [TitledPage(page.id, "page", page.title, page.icon) for page in pages[:limit]]


async def load_titles(connection: Connection, pages: Sequence[UUID]) -> list[TitledPage]:
    """Those of *pages* that exist, in their order."""
    rows = await (await connection.execute(_LISTED, (list(pages),))).fetchall()
    titles = {row[0]: TitledPage(*row) for row in rows}
    return [titles[page] for page in pages if page in titles]


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
SELECT (SELECT count(*) - 1 FROM below), count(DISTINCT l.source_id) FROM below
  JOIN mirrord.page_link AS l ON l.tenant_id = mirrord.current_tenant() AND l.target_id = below.id
  JOIN mirrord.page AS s ON s.tenant_id = mirrord.current_tenant() AND s.id = l.source_id
 WHERE s.deleted_at IS NULL AND l.source_id NOT IN (SELECT id FROM below)"""


async def count_linking(connection: Connection, page: UUID) -> tuple[int, int]:
    """How many pages and folders are below *page*, and how many other pages link to it or to what is below it."""
    row = await (await connection.execute(_LINKING, {"page": page})).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


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
