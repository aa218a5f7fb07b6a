"""The agent searches the pages: by their titles and tags first, then by what they say."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from mirrord.commands.cursor import cursor_of, place_of
from mirrord.commands.failure import explained, invalid
from mirrord.commands.finding import directory_card
from mirrord.commands.session import Session
from mirrord.domain.query import MAX_CHARACTERS, terms_of
from mirrord.errors import Damaged
from mirrord.mirror.card import Card
from mirrord.mirror.catalogue import Snapshot
from mirrord.mirror.layout import directory_of
from mirrord.mirror.searching import Behind, Hit, Hits, lines_matching

MAX_RESULTS = 100
_MAX_SKIPPED = 20  # paths that are named; more are counted


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page. match_line: 1 is the first line of its file; match_context: that line, or the part of it that matters."""

    path: str
    title: str
    match_line: int
    match_context: str
    page_id: str


@dataclass(frozen=True, slots=True)
class SearchResults:
    """
    Pages, each once. truncated: there are more, which next_cursor gives.

    skipped: the first pages that could not be searched, since they are not UTF-8; skipped_count: how many there are.
    """

    results: list[SearchResult]
    truncated: bool
    next_cursor: str | None
    skipped: list[str]
    skipped_count: int


def search_pages(
    session: Session,
    query: str,
    path: str | None = None,
    limit: int = 20,
    regex: bool = False,
    case_sensitive: bool = False,
    cursor: str | None = None,
) -> SearchResults:
    """
    Search all pages, or one with what is below it.

    query: words and "phrases" that a page has to hold, all of them; with *regex* an expression that one of its lines
        has to match (Rust's syntax, so none that takes for ever).
    limit: of pages, up to 100. cursor: of an answer to the same question, to go on behind it.
    """
    _check(query, limit)
    question = f"search {path} {regex} {case_sensitive} {query}"
    behind = Behind(*place_of(cursor, question)) if cursor is not None else None
    with explained():
        search = _expression if regex else _words
        snapshot, cards, hits = search(session, query, path, case_sensitive, behind)
        found = list(islice(hits, limit + 1))
        skipped = sorted(path for path, card in cards.items() if not _is_text(snapshot, card))
        ids = snapshot.ids([hit.card for hit in found[:limit]])
    results = [
        SearchResult(hit.card.path, hit.card.title, hit.line, hit.context, str(ids[hit.card.path]))
        for hit in found[:limit]
    ]
    more = len(found) > limit
    number = (behind.number if behind else 0) + len(results)
    following = cursor_of(question, results[-1].path, number) if more else None
    return SearchResults(results, more, following, skipped[:_MAX_SKIPPED], len(skipped))


_Search = tuple[Snapshot, Mapping[str, Card], Iterator[Hit]]


def _words(session: Session, query: str, path: str | None, case_sensitive: bool, behind: Behind | None) -> _Search:
    terms = terms_of(query, case_sensitive=case_sensitive)
    if not terms:
        raise invalid("INVALID_QUERY", "There is nothing to search for.", "Give one word or more.")
    snapshot = session.catalogue.look()
    hits = Hits(snapshot, session.grep, terms)
    cards = _cards(session, snapshot, path)
    return snapshot, cards, hits.among(_readable(cards), behind)


def _expression(session: Session, query: str, path: str | None, case_sensitive: bool, behind: Behind | None) -> _Search:
    pattern = query if case_sensitive else f"(?i){query}"
    asked = session.grep.files(pattern)  # works while the tree is read
    snapshot = session.catalogue.look()
    cards = _cards(session, snapshot, path)
    try:
        matching = asked.result()
    except Damaged as error:
        raise invalid("INVALID_REGEX", f"The regular expression is not valid: {_reason(error)}.", _ADVICE) from error
    return snapshot, cards, lines_matching(snapshot, session.grep, _readable(cards), pattern, matching, behind)


_ADVICE = "Mend it, or search for words with regex=false; look-around and back-references are not supported."


def _reason(error: Damaged) -> str:
    return str(error).rpartition("error: ")[2].removeprefix("Invalid pattern: ").strip().rstrip(".")


def _cards(session: Session, snapshot: Snapshot, path: str | None) -> Mapping[str, Card]:
    top = directory_card(session, snapshot, path)
    if top is None:
        return snapshot.every
    below = directory_of(top.path, top.kind) + "/"
    return snapshot.cards(one for one in snapshot.pages if one == top.path or one.startswith(below))


def _readable(cards: Mapping[str, Card]) -> Mapping[str, Card]:
    return {path: card for path, card in cards.items() if card.is_text is not False}


def _is_text(snapshot: Snapshot, card: Card) -> bool:
    if card.is_text is not None:
        return card.is_text
    whole = snapshot.read(card.path)
    return whole is None or whole.text is not None


def _check(query: str, limit: int) -> None:
    if len(query) > MAX_CHARACTERS or "\0" in query or "\n" in query or "\r" in query:
        raise invalid(
            "INVALID_QUERY", f"A query is one line of up to {MAX_CHARACTERS} characters.", "Search for less at once."
        )
    if not 1 <= limit <= MAX_RESULTS:
        raise invalid("INVALID_LIMIT", f"The limit is a number from 1 to {MAX_RESULTS}.", "Use the cursor for more.")
