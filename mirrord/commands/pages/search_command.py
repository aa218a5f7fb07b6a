"""Commands that find pages: by words, the best first; and by the links from and to a page."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from mirrord.commands.core.answer_budget import (
    FIRST_PART,
    LIST_BYTES,
    AnswerPart,
    check_limit,
    json_bytes,
    row_bytes,
    take_fitting,
    take_rows,
)
from mirrord.commands.core.failure import invalid_argument, translating_errors
from mirrord.commands.core.list_cursor import cursor_of, cursor_position, invalid_cursor
from mirrord.commands.core.page_paths import find_card
from mirrord.commands.core.session import Session
from mirrord.commands.pages.page_filters import (
    PageFilter,
    facets_of,
    filter_pages,
    pages_below,
    read_filter,
    unknown_keys_note,
)
from mirrord.domain.link_meaning import key_of
from mirrord.domain.page_facets import Facets
from mirrord.domain.search_query import MAX_QUERY_CHARACTERS, Term, near_term, terms_of
from mirrord.errors import Damaged
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.read.page_search import Hit, HitPosition, Hits, search_lines
from mirrord.mirror.read.page_summary import PageIndex, PageSummary

if TYPE_CHECKING:
    from mirrord.mirror.read.link_index import Target

_MAX_SKIPPED = 20  # named paths; further ones are only counted
_ITEM_BYTES = 130  # of a result's keys, number and id
_PLACE = re.compile(r"(~?)(-?\d+),(-?\d+),(-?\d+) (.*)", re.DOTALL)  # in a cursor; ~: of words that are near


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A matching page. match_line: from 1, in its file. match_context: that line, or its relevant part."""

    path: str
    title: str
    match_line: int
    match_context: str
    page_id: str


@dataclass(frozen=True, slots=True)
class SearchResults:
    """
    Matching pages, each once, the best first. truncated: next_cursor leads to more.

    skipped: the first pages that could not be searched because they are not UTF-8. skipped_count: number of all these.
    facets: of all matching pages, if asked for; total: their number then.
    note: why there are none, or which words were taken instead.
    """

    results: list[SearchResult]
    truncated: bool
    next_cursor: str | None
    skipped: list[str]
    skipped_count: int
    facets: Facets | None = None
    total: int | None = None
    note: str | None = None


def search_pages(
    session: Session,
    query: str,
    page_filter: PageFilter | None = None,
    part: AnswerPart = FIRST_PART,
    *,
    regex: bool = False,
    case_sensitive: bool = False,
) -> SearchResults:
    """
    Search the pages that fit *page_filter*; None: all pages.

    query: words and "phrases" that must all occur in a page; with *regex*, an expression that must match one of its
        lines (Rust's syntax, which excludes exponential run times).
    """
    _check_query(query)
    check_limit(part.limit)
    page_filter = page_filter or read_filter()
    conditions = page_filter.question if not page_filter.is_empty else ""
    question = f"search {page_filter.path} {regex} {case_sensitive} {query} {conditions}"
    search_question = _Question(query, case_sensitive, page_filter, *_read_cursor(part.cursor, question))
    with translating_errors():
        search = (_search_expression if regex else _search_words)(session, search_question)
        hits = list(search.hits) if part.counts_facets else None
        counted = facets_of(hit.summary for hit in hits) if hits is not None else None
        skipped = [card.path for card in search.index.maybe_binary if not _is_text(search.snapshot, card)]
        taken_bytes = json_bytes(skipped[:_MAX_SKIPPED], search.note, asdict(counted) if counted else None)
        page_hits, has_more = take_fitting(search.hits if hits is None else hits, part.limit, _size_of, taken_bytes)
        ids = search.snapshot.ids([hit.summary for hit in page_hits])
    results = [
        SearchResult(hit.summary.path, hit.summary.title, hit.line, hit.context, str(ids[hit.summary.path]))
        for hit in page_hits
    ]
    next_cursor = _cursor_behind(question, page_hits[-1], is_near=search.is_near) if has_more else None
    total = len(hits) if hits is not None else None
    return SearchResults(
        results, has_more, next_cursor, skipped[:_MAX_SKIPPED], len(skipped), counted, total, search.note
    )


@dataclass(frozen=True, slots=True)
class _Question:
    """behind: the last result of the answer before. is_near: that answer was about words like those asked for."""

    query: str
    case_sensitive: bool
    page_filter: PageFilter
    behind: HitPosition | None
    is_near: bool


@dataclass(frozen=True, slots=True)
class _Search:
    snapshot: Snapshot
    index: PageIndex
    hits: Iterable[Hit]
    note: str | None = None
    is_near: bool = False


def _search_words(session: Session, search_question: _Question) -> _Search:
    terms = terms_of(search_question.query, case_sensitive=search_question.case_sensitive)
    if not terms:
        raise invalid_argument("INVALID_QUERY", "There is nothing to search for.", "Give one word or more.")
    snapshot = session.catalogue.snapshot()
    matching = Hits(snapshot, session.grep, terms)
    searched = pages_below(session, snapshot, search_question.page_filter.path)
    index = filter_pages(snapshot, searched, search_question.page_filter)
    hits = matching.search(index, search_question.behind)
    first = next(hits, None) if not search_question.is_near else None
    if first is not None:
        return _Search(snapshot, index, chain([first], hits))
    if search_question.behind is not None and not search_question.is_near:
        return _Search(snapshot, index, ())
    if not index.summaries:
        return _Search(snapshot, index, (), unknown_keys_note(searched, search_question.page_filter))
    if search_question.case_sensitive:
        return _Search(snapshot, index, ())
    search = _search_near(session, _Search(snapshot, index, ()), matching, search_question.behind)
    is_limited = not search_question.page_filter.is_empty or search_question.page_filter.path is not None
    return replace(search, note=f"{search.note} {_FILTER_NOTE}") if search.note and is_limited else search


def _search_near(session: Session, search: _Search, matching: Hits, behind: HitPosition | None) -> _Search:
    """The search with words like those that occur nowhere; with a note that says so."""
    absent = matching.absent_terms(search.index)
    if not absent:
        note = "Each word occurs, but no page has all of them: search for fewer words."
        return replace(search, note=note if len(matching.terms) > 1 else None)
    words = ", ".join(f'"{term.text[:50]}"' for term in absent)
    near_by_term = {term: near_term(term) for term in absent}
    if any(term is None for term in near_by_term.values()):
        return replace(search, note=f"No page has {words}.")
    hits = Hits(search.snapshot, session.grep, [near_by_term.get(term) or term for term in matching.terms])
    near_hits = hits.search(search.index, behind)
    if (first := next(near_hits, None)) is None:
        return replace(search, note=f"No page has {words}, or a word like it.")
    note = f"No page has {words}: these have {_words_like(first, [term for term in near_by_term.values() if term])}."
    return replace(search, hits=chain([first], near_hits), note=note, is_near=True)


def _words_like(hit: Hit, near_terms: Sequence[Term]) -> str:
    """The words of *hit* that stand for misspelt ones."""
    text = "\n".join((hit.context, hit.summary.title, hit.summary.headings, *hit.summary.tags, *hit.summary.aliases))
    words = dict.fromkeys(match.group() for term in near_terms if (match := term.pattern.search(text)))
    return ", ".join(f'"{word}"' for word in words) or "words like it"


def _search_expression(session: Session, search_question: _Question) -> _Search:
    pattern = search_question.query if search_question.case_sensitive else f"(?i){search_question.query}"
    pending_files = session.grep.matching_files(pattern)  # works while the tree is read
    snapshot = session.catalogue.snapshot()
    index = filter_pages(
        snapshot, pages_below(session, snapshot, search_question.page_filter.path), search_question.page_filter
    )
    try:
        matching = pending_files.result()
    except Damaged as error:
        raise invalid_argument(
            "INVALID_REGEX", f"The regular expression is not valid: {_reason_of(error)}.", _REGEX_ADVICE
        ) from error
    readable = {card.path: card for card in index.readable}
    return _Search(
        snapshot, index, search_lines(snapshot, session.grep, readable, pattern, matching, search_question.behind)
    )


def _cursor_behind(question: str, hit: Hit, *, is_near: bool) -> str:
    rank = ",".join(map(str, hit.place.rank))
    return cursor_of(question, f"{'~' if is_near else ''}{rank} {hit.place.path}", 0)


def _read_cursor(cursor: str | None, question: str) -> tuple[HitPosition | None, bool]:
    """The place of the last result, and whether it was for words that are near. Raises Failed."""
    if cursor is None:
        return None, False
    match = _PLACE.fullmatch(cursor_position(cursor, question)[0])
    if match is None:
        raise invalid_cursor()
    near_mark, titles, headings, names, path = match.groups()
    return HitPosition((int(titles), int(headings), int(names)), path), bool(near_mark)


def _size_of(hit: Hit) -> int:
    return _ITEM_BYTES + json_bytes(hit.summary.path, hit.summary.title, hit.context)


_FILTER_NOTE = "Only pages that fit path, tag, where and times were searched."
_REGEX_ADVICE = "Mend it, or search for words with regex=false; look-around and back-references are not supported."


def _reason_of(error: Damaged) -> str:
    return str(error).rpartition("error: ")[2].removeprefix("Invalid pattern: ").strip().rstrip(".")


def _is_text(snapshot: Snapshot, card: PageSummary) -> bool:
    if card.is_text is not None:
        return card.is_text
    content = snapshot.read_text(card.path)
    return content is None or content.text is not None


def _check_query(query: str) -> None:
    if len(query) > MAX_QUERY_CHARACTERS or "\0" in query or "\n" in query or "\r" in query:
        raise invalid_argument(
            "INVALID_QUERY",
            f"A query is one line of up to {MAX_QUERY_CHARACTERS} characters.",
            "Search for less at once.",
        )


MAX_LINKS = 500  # in each direction, so that a model can read them


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """One end of a link. title: of the page, or the written text. path: None for an unresolved link."""

    title: str
    path: str | None


@dataclass(frozen=True, slots=True)
class PageLinks:
    """
    The links of a page to and from others, each once.

    outgoing: in text order. incoming: by path. left_out: number of links beyond the limit of an answer.
    """

    outgoing: list[LinkEnd]
    incoming: list[LinkEnd]
    left_out: int = 0


def get_page_links(session: Session, path: str, limit: int | None = None) -> PageLinks:
    """
    Show the links of a page or folder to other pages, and the pages that link to it.

    limit: in each direction, up to MAX_LINKS; None: as fit in 8 KB together.
    """
    with translating_errors():
        snapshot = session.catalogue.snapshot()
        card = find_card(session, snapshot, path)
        targets: dict[str, Target] = {}
        for target in session.linkage.outgoing(snapshot, card.path):
            if target.path != card.path:
                targets.setdefault(target.path or f"\0{key_of(target.written)}", target)
        outgoing = [_to_link(snapshot, target.written, target.path) for target in targets.values()]
        incoming = [_to_link(snapshot, page, page) for page in session.linkage.incoming(snapshot, card.path)]
    shown_outgoing, shown_incoming = _first_links(outgoing, incoming, limit)
    left_out = len(outgoing) + len(incoming) - len(shown_outgoing) - len(shown_incoming)
    return PageLinks(shown_outgoing, shown_incoming, left_out)


def _first_links(
    outgoing: Sequence[LinkEnd], incoming: Sequence[LinkEnd], limit: int | None
) -> tuple[list[LinkEnd], list[LinkEnd]]:
    """The links of one answer; without a limit one direction has the room that the other one leaves."""
    if limit is not None:
        return [*outgoing[:limit]], [*incoming[:limit]]
    few_incoming = sum(map(row_bytes, take_rows(incoming, MAX_LINKS, LIST_BYTES // 2)))
    fitting = take_rows(outgoing, MAX_LINKS, LIST_BYTES - few_incoming)
    return fitting, take_rows(incoming, MAX_LINKS, LIST_BYTES - sum(map(row_bytes, fitting)))


def _to_link(snapshot: Snapshot, written: str, path: str | None) -> LinkEnd:
    page = snapshot.exact_page(path) if path is not None else None
    return LinkEnd(page.title if page else (path or "").rpartition("/")[2] or written, path)
