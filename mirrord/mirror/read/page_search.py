"""Which pages hold the searched text, and in which line: lazily, one page after the other."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice

from mirrord.domain.search_query import Term
from mirrord.errors import Busy, Damaged
from mirrord.mirror.read.grep_process import Grep, MatchingFiles, MatchingLine
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.read.page_summary import PageIndex, PageSummary

_MAX_FILES = 1_000  # files: reading and checking so many is faster than another request
_SINGLE_TERM_DIVISOR = 4  # of _FEW for a single term: reading all pages in turn meets a more frequent one often enough
_MAX_TERMS = 3  # to ask for: the longest are the rarest
_MAX_MATCHES = 200  # of one term in one page that count for the best line
_CHUNK_FILES = 50  # in one request for lines
_CONTEXT_CHARACTERS = 240  # of a line in a hit

Cards = Mapping[str, PageSummary]


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that matches. line: number of the best line, from 1; context: its text."""

    summary: PageSummary
    line: int
    context: str


@dataclass(frozen=True, slots=True)
class HitPosition:
    """Position to continue from: behind this path, the *number*-th hit."""

    path: str
    number: int


class Hits:
    """
    The pages that contain all terms: first in the title, then in other names and tags, then in the text, each group by
    path.
    """

    def __init__(self, snapshot: Snapshot, grep: Grep, terms: Sequence[Term]) -> None:
        self._snapshot = snapshot
        self._grep = grep
        self._terms = terms
        self._rarest = sorted(terms, key=lambda term: -len(term.text))[:_MAX_TERMS]
        self._max_files = _MAX_FILES if len(terms) > 1 else _MAX_FILES // _SINGLE_TERM_DIVISOR
        # the search runs while the tree is read
        self._pending_answer: Future[MatchingFiles] | None = self._start_matching(self._rarest[0])

    def search(self, roll: PageIndex, behind: HitPosition | None) -> Iterator[Hit]:
        """The hits among the pages of *roll*, lazily."""
        ordered = roll.readable
        with_title = [roll.titles.indexes_of(term) for term in self._terms]
        with_name = [roll.names.indexes_of(term) for term in self._terms]
        in_title, in_names = set.intersection(*with_title), set.intersection(*with_name)
        by_name: Sequence[PageSummary] = [ordered[at] for at in (*sorted(in_title), *sorted(in_names - in_title))]
        by_name, after = _skip_behind(by_name, behind) if behind is not None else (by_name, "")
        for card in by_name:
            page = self._snapshot.read_text(card.path)
            if page is not None and page.text is not None:
                yield self._best_hit(card, page.text)
        remaining = [at for at in range(len(ordered)) if at not in in_names and ordered[at].path > after]
        yield from self._search_texts(ordered, remaining, with_name)

    def _search_texts(
        self, ordered: Sequence[PageSummary], remaining: Sequence[int], with_name: Sequence[set[int]]
    ) -> Iterator[Hit]:
        candidates = self._find_candidates(ordered, with_name) if remaining else None
        for at in remaining:
            card = ordered[at]
            if candidates is not None and card.path not in candidates:
                continue
            page = self._snapshot.read_text(card.path)
            if page is not None and page.text is not None and self._holds_all_terms(page.text, at, with_name):
                yield self._best_hit(card, page.text)

    def _find_candidates(self, ordered: Sequence[PageSummary], with_name: Sequence[set[int]]) -> set[str] | None:
        """A superset of the paths of all hits; None: too many."""
        for term in self._rarest:
            answer, self._pending_answer = self._pending_answer or self._start_matching(term), None
            try:
                matching = answer.result()
                if matching.is_complete:
                    named_paths = {ordered[at].path for at in with_name[self._terms.index(term)]}
                    return {*matching.paths, *named_paths, *self._grep.excluded_pages(self._snapshot)}
            except (Busy, Damaged):
                return None  # reading all pages is slower, with the same result
        return None

    def _start_matching(self, term: Term) -> Future[MatchingFiles]:
        return self._grep.matching_files(term.source, self._max_files)

    def _holds_all_terms(self, text: str, at: int, with_name: Sequence[set[int]]) -> bool:
        return all(at in names or term.pattern.search(text) for term, names in zip(self._terms, with_name, strict=True))

    def _best_hit(self, card: PageSummary, text: str) -> Hit:
        """The first line with the most terms."""
        ends = [at for at, letter in enumerate(text) if letter == "\n"] if len(self._terms) > 1 else []
        term_counts: dict[int, int] = {}
        positions: dict[int, int] = {}
        for term in self._terms:
            lines = set()
            for match in islice(term.pattern.finditer(text), _MAX_MATCHES if len(self._terms) > 1 else 1):
                line = bisect_right(ends, match.start()) if ends else text.count("\n", 0, match.start())
                lines.add(line)
                positions[line] = min(match.start(), positions.get(line, match.start()))
            for line in lines:
                term_counts[line] = term_counts.get(line, 0) + 1
        if not term_counts:
            return Hit(card, 1, card.title)
        best = max(term_counts, key=lambda line: (term_counts[line], -line))
        return Hit(card, best + 1, _context_around(text, positions[best]))


def search_lines(
    snapshot: Snapshot, grep: Grep, cards: Cards, pattern: str, matching: MatchingFiles, behind: HitPosition | None
) -> Iterator[Hit]:
    """
    The pages among *cards* with a line that matches *pattern*, by path, lazily. Raises as Grep.files() does.

    matching: all files that match.
    """
    matching_paths = {*matching.paths, *grep.excluded_pages(snapshot)}
    paths = sorted(path for path in matching_paths if path in cards and (behind is None or path > behind.path))
    for start in range(0, len(paths), _CHUNK_FILES):
        chunk = paths[start : start + _CHUNK_FILES]
        lines = grep.matching_lines(pattern, chunk).result()
        for path in chunk:
            if path in lines and _page_has_line(snapshot, path, lines[path]):
                yield Hit(cards[path], lines[path].number, _context_around(lines[path].text, 0))


def _page_has_line(snapshot: Snapshot, path: str, line: MatchingLine) -> bool:
    """Whether the page itself has the line: the other process may have read a file outside this tree."""
    page = snapshot.read_text(path)
    lines = (page.text or "").split("\n") if page is not None else []
    return line.number <= len(lines) and lines[line.number - 1].strip("\ufeff\r") == line.text.strip("\ufeff\r")


def _skip_behind(cards: Sequence[PageSummary], behind: HitPosition) -> tuple[Sequence[PageSummary], str]:
    """The remaining hits by name, and the path behind which hits by text continue; "": from the first."""
    at = next((number for number, card in enumerate(cards, 1) if card.path == behind.path), None)
    if at is None and behind.number > len(cards):
        return [], behind.path
    return cards[at if at is not None else behind.number :], ""


def _context_around(text: str, position: int) -> str:
    """The line at *position*, or the part of it around there."""
    start, end = text.rfind("\n", 0, position) + 1, text.find("\n", position)
    end = end if end >= 0 else len(text)
    begin = max(start, min(position - _CONTEXT_CHARACTERS // 3, end - _CONTEXT_CHARACTERS))
    stop = min(end, begin + _CONTEXT_CHARACTERS)
    return f"{'…' if begin > start else ''}{text[begin:stop].strip()}{'…' if stop < end else ''}"
