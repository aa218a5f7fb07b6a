"""Tools that answer questions about pages: by words, by front matter, tags and times, by links."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from mirrord.commands.core.answer_budget import AnswerPart
from mirrord.commands.core.session import Session
from mirrord.mcp.tools.arguments import (
    ANY,
    COUNT,
    FLAG,
    TEXT,
    Arguments,
    array_schema,
    from_json,
    object_schema,
    result_schema,
)
from mirrord.mcp.tools.find_tools import Below, Cursor, with_cursor
from mirrord.mcp.tools.tool import Tool, Wire

if TYPE_CHECKING:
    from mirrord.commands.pages.find_command import PageFound
    from mirrord.commands.pages.page_filters import PageFilter
    from mirrord.commands.pages.search_command import SearchResult
    from mirrord.domain.page_facets import Facets

_HIT = object_schema(path=TEXT, title=TEXT, matchLine=COUNT, matchContext=TEXT, pageId=TEXT)
_PAGE_FOUND = object_schema(path=TEXT, title=TEXT, modified=TEXT, created=TEXT, targets=array_schema(TEXT))

_NO_CONDITIONS = 'must be an object of conditions by key, such as {"status": "draft", "due": {"lt": "2026-06-01"}}'


def _read_conditions(value: object) -> object:
    """*value*, which may be JSON text. Raises ValueError with an example: models guess lists of conditions."""
    conditions = from_json(value)
    if conditions is not None and not isinstance(conditions, dict):
        raise ValueError(_NO_CONDITIONS)
    return conditions


Where = Annotated[dict[str, Any] | None, BeforeValidator(_read_conditions)]


class Filtered(Arguments):
    """What both tools take; described in one of them only, since every word costs each client context."""

    path: str | None = None
    tag: str | None = None
    where: Where = None
    modified_after: str | None = None
    modified_before: str | None = None
    facets: bool = False
    limit: int | None = None
    cursor: str | None = None

    def to_filter(self) -> "PageFilter":
        """Raises Failed for conditions and times that are none."""
        from mirrord.commands.pages.page_filters import read_filter

        return read_filter(self.tag, self.where, self.modified_after, self.modified_before, self.path)

    def to_part(self) -> AnswerPart:
        """Which part of all pages is asked for."""
        return AnswerPart(self.limit, self.cursor, self.facets)


class Search(Filtered):
    """What search_pages takes."""

    query: Annotated[str, Field(description='Words that must all occur, "phrases in quotes".')]
    path: Below = None
    limit: Annotated[int | None, Field(ge=1, le=100, description="Default: as fit in 4 KB.")] = None
    regex: Annotated[bool, Field(description="The query is a regular expression.")] = False
    case_sensitive: bool = False
    cursor: Cursor = None


class Find(Filtered):
    """What find_pages takes."""

    where: Annotated[
        Where, Field(description="By key of front matter: a value, or {not, in, contains, exists, gt, gte, lt, lte}.")
    ] = None
    modified_after: Annotated[str | None, Field(description="2026-01-31T14:00, yesterday, 3 days ago.")] = None
    links: Literal["orphan", "broken", "ambiguous"] | None = None


def _search_pages(session: Session, arguments: Search) -> Wire:
    from mirrord.commands.pages.search_command import search_pages

    answered = search_pages(
        session,
        arguments.query,
        arguments.to_filter(),
        arguments.to_part(),
        regex=arguments.regex,
        case_sensitive=arguments.case_sensitive,
    )
    answer: dict[str, Any] = {"results": list(map(_hit_answer, answered.results)), "truncated": answered.truncated}
    if answered.skipped:
        answer |= {"skipped": answered.skipped, "skippedCount": answered.skipped_count}
    return with_cursor({**answer, **_extras(answered.total, answered.facets, answered.note)}, answered.next_cursor)


def _hit_answer(hit: "SearchResult") -> Wire:
    return {
        "path": hit.path,
        "title": hit.title,
        "matchLine": hit.match_line,
        "matchContext": hit.match_context,
        "pageId": hit.page_id,
    }


def _find_pages(session: Session, arguments: Find) -> Wire:
    from mirrord.commands.pages.find_command import find_pages

    answered = find_pages(session, arguments.to_filter(), arguments.links, arguments.to_part())
    answer = {
        "pages": list(map(_page_answer, answered.pages)),
        **_extras(answered.total, answered.facets, answered.note),
    }
    return with_cursor(answer, answered.next_cursor)


def _page_answer(page: "PageFound") -> Wire:
    answer: dict[str, Any] = {"path": page.path, "title": page.title, "modified": page.modified}
    if page.created is not None:
        answer["created"] = page.created
    return {**answer, "targets": list(page.targets)} if page.targets else answer


def _extras(total: int | None, facets: "Facets | None", note: str | None) -> Wire:
    answer: dict[str, Any] = {} if total is None else {"total": total}
    if facets is not None:
        keys = {key: {"pages": facet.pages, "values": facet.values} for key, facet in facets.keys.items()}
        answer["facets"] = {"tags": facets.tags, "folders": facets.folders, "keys": keys}
    return answer if note is None else {**answer, "note": note}


SEARCH_PAGES = Tool(
    "search_pages",
    "Search pages",
    "Finds pages that hold all the words, the best first: words in titles, headings, tags, then text, with its line. "
    "Filters are those of find_pages. "
    'Example: {"query": "\\"architecture diagram\\" 2026", "path": "Projects"}.',
    Search,
    result_schema(
        {
            "results": array_schema(_HIT),
            "truncated": FLAG,
            "nextCursor?": TEXT,
            "skipped?": array_schema(TEXT),
            "skippedCount?": COUNT,
            "facets?": ANY,
            "total?": COUNT,
            "note?": TEXT,
        }
    ),
    _search_pages,
    searches=True,
)
FIND_PAGES = Tool(
    "find_pages",
    "Find pages",
    "Finds pages by tag, front matter, time of change (newest first then), or links: orphan (no page links to it). "
    'Example: {"tag": "work", "where": {"status": "draft", "due": {"lt": "2026-06-01"}}}.',
    Find,
    result_schema(
        {"pages": array_schema(_PAGE_FOUND), "total?": COUNT, "nextCursor?": TEXT, "facets?": ANY, "note?": TEXT}
    ),
    _find_pages,
    searches=True,
)
