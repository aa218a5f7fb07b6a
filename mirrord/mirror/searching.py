"""Which pages hold what is searched for, and in which line: one after the other, as far as somebody wants to go."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice

from mirrord.domain.query import Term
from mirrord.errors import Busy, Damaged
from mirrord.mirror.card import Card
from mirrord.mirror.catalogue import Snapshot
from mirrord.mirror.grep import Grep, Line, Matching
from mirrord.mirror.roll import Roll

_FEW = 1_000  # files: to read and check that many takes less than to ask for others
_DENSE = 4  # parts of _FEW: of one term alone so many are met often enough when all pages are read in turn
_ASKED = 3  # terms: the longest are the rarest
_COUNTED = 200  # places of one term in one page that are looked at for the best line
_CHUNK = 50  # files whose lines are asked for at once
_AROUND = 240  # characters of a line that are shown

Cards = Mapping[str, Card]


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that holds what is sought. line: the one that shows it best, 1 is the first; context: what it says."""

    card: Card
    line: int
    context: str


@dataclass(frozen=True, slots=True)
class Behind:
    """Where to go on: behind this path, which was the *number*-th hit."""

    path: str
    number: int


class Hits:
    """
    The pages that hold all terms: those whose title does, those whose other names and tags do, then the others, each
    group by path.
    """

    def __init__(self, snapshot: Snapshot, grep: Grep, terms: Sequence[Term]) -> None:
        self._snapshot = snapshot
        self._grep = grep
        self._terms = terms
        self._rarest = sorted(terms, key=lambda term: -len(term.text))[:_ASKED]
        self._few = _FEW if len(terms) > 1 else _FEW // _DENSE
        self._asked: Future[Matching] | None = self._matching(self._rarest[0])  # works while the tree is read

    def among(self, roll: Roll, behind: Behind | None) -> Iterator[Hit]:
        """The hits among the pages of *roll*, lazily."""
        ordered = roll.readable
        titled = [roll.titles.holding(term) for term in self._terms]
        named = [roll.names.holding(term) for term in self._terms]
        in_title, in_names = set.intersection(*titled), set.intersection(*named)
        first: Sequence[Card] = [ordered[at] for at in (*sorted(in_title), *sorted(in_names - in_title))]
        first, after = _rest_of(first, behind) if behind is not None else (first, "")
        for card in first:
            whole = self._snapshot.read(card.path)
            if whole is not None and whole.text is not None:
                yield self._hit(card, whole.text)
        rest = [at for at in range(len(ordered)) if at not in in_names and ordered[at].path > after]
        yield from self._in_texts(ordered, rest, named)

    def _in_texts(self, ordered: Sequence[Card], rest: Sequence[int], named: Sequence[set[int]]) -> Iterator[Hit]:
        candidates = self._candidates(ordered, named) if rest else None
        for at in rest:
            card = ordered[at]
            if candidates is not None and card.path not in candidates:
                continue
            whole = self._snapshot.read(card.path)
            if whole is not None and whole.text is not None and self._holds(whole.text, at, named):
                yield self._hit(card, whole.text)

    def _candidates(self, ordered: Sequence[Card], named: Sequence[set[int]]) -> set[str] | None:
        """Paths among which all hits are; None: too many to tell."""
        for term in self._rarest:
            asked, self._asked = self._asked or self._matching(term), None
            try:
                found = asked.result()
                if found.is_complete:
                    with_name = {ordered[at].path for at in named[self._terms.index(term)]}
                    return {*found.paths, *with_name, *self._grep.left_out(self._snapshot)}
            except (Busy, Damaged):
                return None  # reading all takes longer, and finds the same
        return None

    def _matching(self, term: Term) -> Future[Matching]:
        return self._grep.files(term.source, self._few)

    def _holds(self, text: str, at: int, named: Sequence[set[int]]) -> bool:
        return all(at in names or term.pattern.search(text) for term, names in zip(self._terms, named, strict=True))

    def _hit(self, card: Card, text: str) -> Hit:
        """The line that holds most terms, the first of such."""
        ends = [at for at, one in enumerate(text) if one == "\n"] if len(self._terms) > 1 else []
        held: dict[int, int] = {}
        places: dict[int, int] = {}
        for term in self._terms:
            lines = set()
            for found in islice(term.pattern.finditer(text), _COUNTED if len(self._terms) > 1 else 1):
                line = bisect_right(ends, found.start()) if ends else text.count("\n", 0, found.start())
                lines.add(line)
                places[line] = min(found.start(), places.get(line, found.start()))
            for line in lines:
                held[line] = held.get(line, 0) + 1
        if not held:
            return Hit(card, 1, card.title)
        best = max(held, key=lambda line: (held[line], -line))
        return Hit(card, best + 1, _context(text, places[best]))


def lines_matching(
    snapshot: Snapshot, grep: Grep, cards: Cards, pattern: str, matching: Matching, behind: Behind | None
) -> Iterator[Hit]:
    """
    The pages among *cards* with a line that matches *pattern*, by path, lazily. Raises as Grep.files() does.

    matching: all files that match.
    """
    found = {*matching.paths, *grep.left_out(snapshot)}
    paths = sorted(path for path in found if path in cards and (behind is None or path > behind.path))
    for start in range(0, len(paths), _CHUNK):
        chunk = paths[start : start + _CHUNK]
        lines = grep.lines(pattern, chunk).result()
        for path in chunk:
            if path in lines and _is_there(snapshot, path, lines[path]):
                yield Hit(cards[path], lines[path].number, _context(lines[path].text, 0))


def _is_there(snapshot: Snapshot, path: str, line: Line) -> bool:
    """Whether the page itself says so: what another process saw under this path may have been no page of this tree."""
    whole = snapshot.read(path)
    lines = (whole.text or "").split("\n") if whole is not None else []
    return line.number <= len(lines) and lines[line.number - 1].strip("\ufeff\r") == line.text.strip("\ufeff\r")


def _rest_of(first: Sequence[Card], behind: Behind) -> tuple[Sequence[Card], str]:
    """What is left of the hits by name, and behind which path the others go on; "" where those are still to come."""
    at = next((number for number, card in enumerate(first, 1) if card.path == behind.path), None)
    if at is None and behind.number > len(first):
        return [], behind.path
    return first[at if at is not None else behind.number :], ""


def _context(text: str, place: int) -> str:
    """The line at *place*, or what of it is around there."""
    start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
    end = end if end >= 0 else len(text)
    first = max(start, min(place - _AROUND // 3, end - _AROUND))
    last = min(end, first + _AROUND)
    return f"{'…' if first > start else ''}{text[first:last].strip()}{'…' if last < end else ''}"
