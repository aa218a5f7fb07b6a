"""Commands that find pages: by titles and tags first, then text; and by the links from and to a page."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from mirrord.commands.core.failure import invalid_argument, translating_errors
from mirrord.commands.core.list_cursor import cursor_of, cursor_position
from mirrord.commands.core.page_paths import find_card, find_directory_card
from mirrord.commands.core.session import Session
from mirrord.domain.link_meaning import key_of
from mirrord.domain.search_query import MAX_QUERY_CHARACTERS, terms_of
from mirrord.errors import Damaged
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.read.page_search import Hit, HitPosition, Hits, search_lines
from mirrord.mirror.read.page_summary import PageIndex, PageSummary
from mirrord.mirror.tree.tree_layout import directory_of

if TYPE_CHECKING:
    from mirrord.mirror.read.link_index import Target

MAX_RESULTS = 100
_MAX_SKIPPED = 20  # named paths; further ones are only counted


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
    Matching pages, each once. truncated: next_cursor leads to more.

    skipped: the first pages that could not be searched because they are not UTF-8. skipped_count: number of all these.
    """

    results: list[SearchResult]
    truncated: bool
    next_cursor: str | None
    skipped: list[str]
    skipped_count: int


def search_pages(  # noqa: PLR0913  (the tool's arguments, by name)
    session: Session,
    query: str,
    path: str | None = None,
    limit: int = 20,
    regex: bool = False,
    case_sensitive: bool = False,
    cursor: str | None = None,
) -> SearchResults:
    """
    Search all pages, or one page and the pages below it.

    query: words and "phrases" that must all occur in a page; with *regex*, an expression that must match one of its
        lines (Rust's syntax, which excludes exponential run times).
    limit: of pages, up to 100. cursor: from an answer to the same question, to continue it.
    """
    _check_query(query, limit)
    question = f"search {path} {regex} {case_sensitive} {query}"
    behind = HitPosition(*cursor_position(cursor, question)) if cursor is not None else None
    with translating_errors():
        search = _search_expression if regex else _search_words
        snapshot, roll, hits = search(session, query, path, case_sensitive, behind)
        page_hits = list(islice(hits, limit + 1))
        skipped = [card.path for card in roll.maybe_binary if not _is_text(snapshot, card)]
        ids = snapshot.ids([hit.summary for hit in page_hits[:limit]])
    results = [
        SearchResult(hit.summary.path, hit.summary.title, hit.line, hit.context, str(ids[hit.summary.path]))
        for hit in page_hits[:limit]
    ]
    has_more = len(page_hits) > limit
    number = (behind.number if behind else 0) + len(results)
    next_cursor = cursor_of(question, results[-1].path, number) if has_more else None
    return SearchResults(results, has_more, next_cursor, skipped[:_MAX_SKIPPED], len(skipped))


_SearchParts = tuple[Snapshot, PageIndex, Iterator[Hit]]


def _search_words(
    session: Session, query: str, path: str | None, case_sensitive: bool, behind: HitPosition | None
) -> _SearchParts:
    terms = terms_of(query, case_sensitive=case_sensitive)
    if not terms:
        raise invalid_argument("INVALID_QUERY", "There is nothing to search for.", "Give one word or more.")
    snapshot = session.catalogue.snapshot()
    hits = Hits(snapshot, session.grep, terms)
    roll = _roll_below(session, snapshot, path)
    return snapshot, roll, hits.search(roll, behind)


def _search_expression(
    session: Session, query: str, path: str | None, case_sensitive: bool, behind: HitPosition | None
) -> _SearchParts:
    pattern = query if case_sensitive else f"(?i){query}"
    pending_files = session.grep.matching_files(pattern)  # works while the tree is read
    snapshot = session.catalogue.snapshot()
    roll = _roll_below(session, snapshot, path)
    try:
        matching = pending_files.result()
    except Damaged as error:
        raise invalid_argument(
            "INVALID_REGEX", f"The regular expression is not valid: {_reason_of(error)}.", _REGEX_ADVICE
        ) from error
    readable = {card.path: card for card in roll.readable}
    return snapshot, roll, search_lines(snapshot, session.grep, readable, pattern, matching, behind)


_REGEX_ADVICE = "Mend it, or search for words with regex=false; look-around and back-references are not supported."


def _reason_of(error: Damaged) -> str:
    return str(error).rpartition("error: ")[2].removeprefix("Invalid pattern: ").strip().rstrip(".")


def _roll_below(session: Session, snapshot: Snapshot, path: str | None) -> PageIndex:
    top = find_directory_card(session, snapshot, path)
    if top is None:
        return snapshot.page_index
    prefix = directory_of(top.path, top.kind) + "/"
    return PageIndex(
        snapshot.summaries(
            page_path for page_path in snapshot.pages if page_path == top.path or page_path.startswith(prefix)
        )
    )


def _is_text(snapshot: Snapshot, card: PageSummary) -> bool:
    if card.is_text is not None:
        return card.is_text
    content = snapshot.read_text(card.path)
    return content is None or content.text is not None


def _check_query(query: str, limit: int) -> None:
    if len(query) > MAX_QUERY_CHARACTERS or "\0" in query or "\n" in query or "\r" in query:
        raise invalid_argument(
            "INVALID_QUERY",
            f"A query is one line of up to {MAX_QUERY_CHARACTERS} characters.",
            "Search for less at once.",
        )
    if not 1 <= limit <= MAX_RESULTS:
        raise invalid_argument(
            "INVALID_LIMIT", f"The limit is a number from 1 to {MAX_RESULTS}.", "Use the cursor for more."
        )


_MAX_LINKS = 500  # in each direction, so that a model can read them


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


def get_page_links(session: Session, path: str) -> PageLinks:
    """Show the links of a page or folder to other pages, and the pages that link to it."""
    with translating_errors():
        snapshot = session.catalogue.snapshot()
        card = find_card(session, snapshot, path)
        targets: dict[str, Target] = {}
        for target in session.linkage.outgoing(snapshot, card.path):
            if target.path != card.path:
                targets.setdefault(target.path or f"\0{key_of(target.written)}", target)
        outgoing = [_to_link(snapshot, target.written, target.path) for target in targets.values()]
        incoming = [_to_link(snapshot, page, page) for page in session.linkage.incoming(snapshot, card.path)]
    left_out = sum(max(0, len(links) - _MAX_LINKS) for links in (outgoing, incoming))
    return PageLinks(outgoing[:_MAX_LINKS], incoming[:_MAX_LINKS], left_out)


def _to_link(snapshot: Snapshot, written: str, path: str | None) -> LinkEnd:
    page = snapshot.exact_page(path) if path is not None else None
    return LinkEnd(page.title if page else (path or "").rpartition("/")[2] or written, path)
