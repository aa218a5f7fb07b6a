"""Which pages hold the searched text, and in which line: lazily, one page after the other."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import chain, islice

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
class HitPosition:
    """
    Where a page stands among hits: the lower, the better.

    rank: minus the numbers of terms in its title, in its headings, in its other names and tags.
    """

    rank: tuple[int, int, int]
    path: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that matches. line: number of the best line, from 1; context: its text; place: among the hits."""

    summary: PageSummary
    line: int
    context: str
    place: HitPosition


_UNRANKED = (0, 0, 0)  # only the text has the terms


class Hits:
    """
    The pages that contain all terms: those with most of them in the title first, then those with most in headings,
    then in other names and tags, then the others; equal ones by path.
    """

    def __init__(self, snapshot: Snapshot, grep: Grep, terms: Sequence[Term]) -> None:
        self._snapshot = snapshot
        self._grep = grep
        self.terms = terms
        self._rarest = sorted(terms, key=lambda term: -len(term.text))[:_MAX_TERMS]
        self._max_files = _MAX_FILES if len(terms) > 1 else _MAX_FILES // _SINGLE_TERM_DIVISOR
        # the search runs while the tree is read
        self._pending_answer: Future[MatchingFiles] | None = self._start_matching(self._rarest[0])

    def search(self, roll: PageIndex, behind: HitPosition | None) -> Iterator[Hit]:
        """The hits among the pages of *roll*, lazily."""
        ordered = roll.readable
        in_names = [roll.names.indexes_of(term) for term in self.terms]
        in_headings = [roll.headings.indexes_of(term) for term in self.terms]
        ranks = self._ranks_of_term(roll, in_names, in_headings)
        ranked = [at for _, at in sorted((rank, at) for at, rank in ranks.items())]
        order: Iterable[int] = chain(ranked, (at for at in range(len(ordered)) if at not in ranks))
        if behind is not None:
            last = (behind.rank, behind.path)
            order = [at for at in order if (ranks.get(at, _UNRANKED), ordered[at].path) > last]
        certain = [names | headings for names, headings in zip(in_names, in_headings, strict=True)]
        for at, text in self._search_texts(ordered, order, certain):
            yield self._best_hit(ordered[at], text, HitPosition(ranks.get(at, _UNRANKED), ordered[at].path))

    def absent_terms(self, roll: PageIndex) -> list[Term]:
        """The terms that occur in no page of *roll*, each by itself."""
        return [term for term in self.terms if not self._has_term(roll, term)]

    def _has_term(self, roll: PageIndex, term: Term) -> bool:
        if roll.names.indexes_of(term):
            return True
        try:
            matching = self._grep.matching_files(term.source, self._max_files).result()
            paths = {*matching.paths, *self._grep.excluded_pages(self._snapshot)}
        except (Busy, Damaged):
            return True  # it is not known
        return not matching.is_complete or not paths.isdisjoint(roll.summaries)

    def _ranks_of_term(
        self, roll: PageIndex, in_names: Sequence[set[int]], in_headings: Sequence[set[int]]
    ) -> dict[int, tuple[int, int, int]]:
        """The ranks of pages with a term in a name or a heading, by index."""
        titles = Counter(at for term in self.terms for at in roll.titles.indexes_of(term))
        headings = Counter(at for indexes in in_headings for at in indexes)
        names = Counter(at for indexes in in_names for at in indexes)
        return {at: (-titles[at], -headings[at], -names[at]) for at in {*headings, *names}}

    def _search_texts(
        self, ordered: Sequence[PageSummary], order: Iterable[int], certain: Sequence[set[int]]
    ) -> Iterator[tuple[int, str]]:
        """
        Index and text of the pages that have all terms. certain: for each term, pages that are known to have it.

        Candidates are asked for only when a page needs them.
        """
        with_all = set.intersection(*certain)
        candidates, is_asked = None, False
        for at in order:
            path = ordered[at].path
            if at not in with_all:
                if not is_asked:
                    candidates, is_asked = self._find_candidates(ordered, certain), True
                if candidates is not None and path not in candidates:
                    continue
            page = self._snapshot.read_text(path)
            if page is not None and page.text is not None and self._holds_all_terms(page.text, at, certain):
                yield at, page.text

    def _find_candidates(self, ordered: Sequence[PageSummary], certain: Sequence[set[int]]) -> set[str] | None:
        """A superset of the paths of all hits; None: too many."""
        for term in self._rarest:
            answer, self._pending_answer = self._pending_answer or self._start_matching(term), None
            try:
                matching = answer.result()
                if matching.is_complete:
                    named_paths = {ordered[at].path for at in certain[self.terms.index(term)]}
                    return {*matching.paths, *named_paths, *self._grep.excluded_pages(self._snapshot)}
            except (Busy, Damaged):
                return None  # reading all pages is slower, with the same result
        return None

    def _start_matching(self, term: Term) -> Future[MatchingFiles]:
        return self._grep.matching_files(term.source, self._max_files)

    def _holds_all_terms(self, text: str, at: int, certain: Sequence[set[int]]) -> bool:
        return all(
            at in indexes or term.pattern.search(text) for term, indexes in zip(self.terms, certain, strict=True)
        )

    def _best_hit(self, card: PageSummary, text: str, place: HitPosition) -> Hit:
        """The first line with the most terms."""
        ends = [at for at, letter in enumerate(text) if letter == "\n"] if len(self.terms) > 1 else []
        term_counts: dict[int, int] = {}
        positions: dict[int, int] = {}
        for term in self.terms:
            lines = set()
            for match in islice(term.pattern.finditer(text), _MAX_MATCHES if len(self.terms) > 1 else 1):
                line = bisect_right(ends, match.start()) if ends else text.count("\n", 0, match.start())
                lines.add(line)
                positions[line] = min(match.start(), positions.get(line, match.start()))
            for line in lines:
                term_counts[line] = term_counts.get(line, 0) + 1
        if not term_counts:
            return Hit(card, 1, card.title, place)
        best = max(term_counts, key=lambda line: (term_counts[line], -line))
        return Hit(card, best + 1, _context_around(text, positions[best]), place)


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
                context = _context_around(lines[path].text, 0)
                yield Hit(cards[path], lines[path].number, context, HitPosition(_UNRANKED, path))


def _page_has_line(snapshot: Snapshot, path: str, line: MatchingLine) -> bool:
    """Whether the page itself has the line: the other process may have read a file outside this tree."""
    page = snapshot.read_text(path)
    lines = (page.text or "").split("\n") if page is not None else []
    return line.number <= len(lines) and _strip_line(lines[line.number - 1]) == _strip_line(line.text)


def _strip_line(line: str) -> str:
    """A line without what surrounds it: the library leaves out blanks at its end."""
    return line.strip().strip("\ufeff").strip()


def _context_around(text: str, position: int) -> str:
    """The line at *position*, or the part of it around there."""
    start, end = text.rfind("\n", 0, position) + 1, text.find("\n", position)
    end = end if end >= 0 else len(text)
    begin = max(start, min(position - _CONTEXT_CHARACTERS // 3, end - _CONTEXT_CHARACTERS))
    stop = min(end, begin + _CONTEXT_CHARACTERS)
    return f"{'…' if begin > start else ''}{text[begin:stop].strip()}{'…' if stop < end else ''}"
