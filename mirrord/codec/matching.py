"""Which block of a page's new blocks was which of its old ones: equal, else edited in place, else moved and edited."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from mirrord.codec.block import Block, ends
from mirrord.codec.document import TEXTBLOCKS, Node

CELLS = 20_000  # pairs of changed blocks compared word by word; in longer stretches their order decides
ALIKE = 0.6  # from so many shared words on, a block that has gone elsewhere and changed is still the same one
SAME_KIND = 0.5  # how many shared words it is worth that both are paragraphs, say

_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]|[^\W\u2e80-\u9fff\uac00-\ud7af]+")  # where no blanks part words: each


class Pair(NamedTuple):
    """The old block a new one was. equal: it means the same."""

    old: int
    equal: bool


def paired(old: Sequence[Block], new: Sequence[Block]) -> list[Pair | None]:
    """For each of *new* what it was among *old*, each at most once; None: it was not there."""
    if not old:
        return [None] * len(new)
    start, end = ends(old, new, Block.means)
    rest = _paired(old[start : len(old) - end], new[start : len(new) - end])
    return [
        *(Pair(i, True) for i in range(start)),
        *(pair and Pair(start + pair.old, pair.equal) for pair in rest),
        *(Pair(i, True) for i in range(len(old) - end, len(old))),
    ]


def replacing(old: Sequence[Block], new: Sequence[Block]) -> list[Pair | None]:
    """
    The same, and what is left of *new* in the place of what is left of *old* between the same two neighbours.

    A block that replaces one of another kind is not that one, and has no right to its id; but to the gaps beside it.
    """
    found = paired(old, new)
    gone = set(range(len(old))) - {pair.old for pair in found if pair}
    for news, before, after in _runs(found, len(old)):
        places = list(dict.fromkeys([*_beside(before, 1, gone), *reversed(_beside(after, -1, gone))]))
        gone.difference_update(places)
        for j, i in zip(news, places, strict=False):
            found[j] = Pair(i, False)
    return found


def _runs(found: Sequence[Pair | None], count: int) -> Iterator[tuple[list[int], int, int]]:
    """Each run of unmatched new blocks, with which of the *count* old ones its neighbours before and behind it were."""
    before, news = -1, list[int]()
    for j, pair in enumerate([*found, Pair(count, True)]):
        if pair is None:
            news.append(j)
            continue
        if news:
            yield news, before, pair.old
        before, news = pair.old, []


def _beside(place: int, step: int, gone: set[int]) -> list[int]:
    """The old blocks that are *gone*, one after the other beside a *place*."""
    found: list[int] = []
    while (place := place + step) in gone:
        found.append(place)
    return found


def _paired(old: Sequence[Block], new: Sequence[Block]) -> list[Pair | None]:
    matching = _Matching([block.meaning for block in old], [block.meaning for block in new])
    matching.match()
    found: list[Pair | None] = [None if i is None else Pair(i, True) for i in matching.of_new]
    for olds, news in matching.gaps():
        for i, j in _edited(old, [i for i in olds if not old[i].is_blank], new, news):
            found[j] = Pair(i, False)
    for i, j in _gone_elsewhere(old, new, found):
        found[j] = Pair(i, False)
    return found


def _gone_elsewhere(
    old: Sequence[Block], new: Sequence[Block], found: Sequence[Pair | None]
) -> Iterator[tuple[int, int]]:
    """Which of the blocks left were moved and changed, the most alike first."""
    taken = {pair.old for pair in found if pair}
    olds = [i for i, block in enumerate(old) if i not in taken and not block.is_blank]
    news = [j for j, pair in enumerate(found) if pair is None]
    if len(olds) * len(news) > CELLS:
        return
    before, after = {i: _gist(old[i]) for i in olds}, {j: _gist(new[j]) for j in news}
    likeness = {(j, i): before[i].likeness(after[j]) for j in news for i in olds}
    for j, i in sorted(likeness, key=lambda pair: (-likeness[pair], pair)):
        if likeness[j, i] >= SAME_KIND + ALIKE and i in before and j in after:
            del before[i], after[j]
            yield i, j


class _Matching:
    """Equal ones of two sequences, moved ones too: of several those beside matched neighbours, else the nearest."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._old, self._new = old, new
        self._of_old: list[int | None] = [None] * len(old)
        self.of_new: list[int | None] = [None] * len(new)

    def match(self) -> None:
        anchors = self._unique()
        for i, j in anchors:
            self._pair(i, j)
        for step in (1, -1):
            for i, j in anchors:
                self._extend(i, j, step)
        self._match_nearest()

    def gaps(self) -> Iterator[tuple[list[int], list[int]]]:
        """What is unmatched, old and new, between neighbours that are matched and in order."""
        for (i, j), (i_end, j_end) in pairwise([(-1, -1), *self._in_order(), (len(self._old), len(self._new))]):
            olds = [k for k in range(i + 1, i_end) if self._of_old[k] is None]
            news = [k for k in range(j + 1, j_end) if self.of_new[k] is None]
            if olds and news:
                yield olds, news

    def _pair(self, i: int, j: int) -> bool:
        if not (0 <= i < len(self._old) and 0 <= j < len(self._new)) or self._old[i] != self._new[j]:
            return False
        if self._of_old[i] is not None or self.of_new[j] is not None:
            return False
        self._of_old[i], self.of_new[j] = j, i
        return True

    def _extend(self, i: int, j: int, step: int) -> None:
        while self._pair(i := i + step, j := j + step):
            pass

    def _unique(self) -> list[tuple[int, int]]:
        """What is there once on both sides."""
        old, new = Counter(self._old), Counter(self._new)
        place = {meaning: i for i, meaning in enumerate(self._old) if old[meaning] == 1}
        return [(place[meaning], j) for j, meaning in enumerate(self._new) if new[meaning] == 1 and meaning in place]

    def _match_nearest(self) -> None:
        free: dict[str, list[int]] = {}
        for i, meaning in enumerate(self._old):
            if self._of_old[i] is None:
                free.setdefault(meaning, []).append(i)
        expected = 0
        for j, meaning in enumerate(self._new):
            if self.of_new[j] is None and (places := free.get(meaning)):
                self._pair(_nearest(places, expected), j)
            found = self.of_new[j]
            expected = (expected if found is None else found) + 1

    def _in_order(self) -> list[tuple[int, int]]:
        """The longest run of matches that did not overtake each other."""
        ends: list[int] = []  # the lowest old index that ends a run of each length, with the new one
        runs: list[int] = []
        before: dict[int, int | None] = {}
        for j, i in enumerate(self.of_new):
            if i is None:
                continue
            length = bisect_left(ends, i)
            ends[length : length + 1], runs[length : length + 1] = [i], [j]
            before[j] = runs[length - 1] if length else None
        result: list[tuple[int, int]] = []
        last = runs[-1] if runs else None
        while last is not None:
            result.append((self.of_new[last] or 0, last))
            last = before[last]
        return result[::-1]


def _nearest(places: list[int], expected: int) -> int:
    """The one of the sorted *places* next to *expected*; it is taken out."""
    at = bisect_left(places, expected)
    if at == len(places) or (at and expected - places[at - 1] < places[at] - expected):
        at -= 1
    return places.pop(at)


@dataclass(frozen=True, slots=True)
class _Gist:
    kind: str
    words: frozenset[str]

    def likeness(self, other: "_Gist") -> float:
        """0: not the same block; otherwise the higher, the more alike."""
        total = len(self.words) + len(other.words)
        shared = 2 * len(self.words & other.words) / total if total else 1.0
        if self.kind == other.kind:
            return SAME_KIND + shared
        return shared if shared > SAME_KIND else 0.0


def _edited(
    old: Sequence[Block], olds: Sequence[int], new: Sequence[Block], news: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Which of the changed blocks between two matched neighbours is which, in order."""
    if len(olds) * len(news) > CELLS:
        yield from _by_kind(old, olds, new, news)
        return
    before, after = [_gist(old[i]) for i in olds], [_gist(new[j]) for j in news]
    for i, j in _aligned([[one.likeness(other) for other in after] for one in before]):
        yield olds[i], news[j]


def _by_kind(
    old: Sequence[Block], olds: Sequence[int], new: Sequence[Block], news: Sequence[int]
) -> Iterator[tuple[int, int]]:
    waiting: dict[str, list[int]] = {}
    for i in reversed(olds):
        waiting.setdefault(old[i].kind, []).append(i)
    for j in news:
        if alike := waiting.get(new[j].kind):
            yield alike.pop(), j


def _aligned(likeness: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The pairs, in order on both sides, that are most alike together."""
    width = len(likeness[0]) if likeness else 0
    best = [[0.0] * (width + 1) for _ in range(len(likeness) + 1)]  # of what is left from (i, j) on
    for i in range(len(likeness) - 1, -1, -1):
        for j in range(width - 1, -1, -1):
            best[i][j] = max(likeness[i][j] + best[i + 1][j + 1], best[i + 1][j], best[i][j + 1])
    found, i, j = [], 0, 0
    while i < len(likeness) and j < width:
        if likeness[i][j] and best[i][j] == likeness[i][j] + best[i + 1][j + 1]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _gist(block: Block) -> _Gist:
    kind = "text" if block.kind in TEXTBLOCKS else block.kind
    return _Gist(kind, frozenset(word for node in block.nodes for word in _words(node)))


def _words(node: Node) -> Iterator[str]:
    yield from _WORD.findall(node.get("text", ""))
    for key, value in (node.get("attrs") or {}).items():
        if isinstance(value, str) and key != "id":
            yield from _WORD.findall(value)
    for child in node.get("content") or ():
        yield from _words(child)
