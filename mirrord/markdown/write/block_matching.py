"""Match the new blocks of a page to its old ones: equal, edited in place, moved."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from mirrord.markdown.schema.block import ITEMS, Block, count_common_ends
from mirrord.markdown.schema.document import TEXTBLOCKS, Node

MAX_COMPARED_PAIRS = 20_000  # pairs of changed blocks compared word by word; in longer runs their order decides
MIN_LIKENESS = 0.6  # share of common words from which on a moved and edited block counts as the same one
SAME_KIND_BONUS = 0.5  # bonus for equal kinds, such as two paragraphs, as a share of common words
SAME_HEAD_BONUS = 1.0  # bonus for two items with the same text of their own; what is below them may differ

_WORD = re.compile(
    r"[\u2e80-\u9fff\uac00-\ud7af]|[^\W\u2e80-\u9fff\uac00-\ud7af]+"
)  # each character in scripts without blanks


class Pair(NamedTuple):
    """The old block that a new one was. is_equal: both mean the same."""

    old: int
    is_equal: bool


def match_blocks(old: Sequence[Block], new: Sequence[Block]) -> list[Pair | None]:
    """For each of *new* its old block, each used at most once; None: it is new."""
    if not old:
        return [None] * len(new)
    start, end = count_common_ends(old, new, Block.means_same_as)
    middle = _pair_blocks(old[start : len(old) - end], new[start : len(new) - end])
    return [
        *(Pair(i, True) for i in range(start)),
        *(pair and Pair(start + pair.old, pair.is_equal) for pair in middle),
        *(Pair(i, True) for i in range(len(old) - end, len(old))),
    ]


def match_or_replace_blocks(old: Sequence[Block], new: Sequence[Block]) -> list[Pair | None]:
    """
    The same, and unmatched *new* blocks paired with unmatched *old* ones between the same two neighbours.

    A block that replaces one of another kind is a different block: it inherits the gaps beside it, but not its id.
    """
    pairs = match_blocks(old, new)
    unmatched = set(range(len(old))) - {pair.old for pair in pairs if pair}
    for news, before, after in _unmatched_runs(pairs, len(old)):
        places = list(
            dict.fromkeys(
                [*_unmatched_beside(before, 1, unmatched), *reversed(_unmatched_beside(after, -1, unmatched))]
            )
        )
        unmatched.difference_update(places)
        for j, i in zip(news, places, strict=False):
            pairs[j] = Pair(i, False)
    return pairs


def _unmatched_runs(pairs: Sequence[Pair | None], count: int) -> Iterator[tuple[list[int], int, int]]:
    """Each run of unmatched new blocks with the old indexes of its neighbours before and after, of *count* old ones."""
    before, news = -1, list[int]()
    for j, pair in enumerate([*pairs, Pair(count, True)]):
        if pair is None:
            news.append(j)
            continue
        if news:
            yield news, before, pair.old
        before, news = pair.old, []


def _unmatched_beside(place: int, step: int, unmatched: set[int]) -> list[int]:
    """The run of *unmatched* old blocks directly beside *place*."""
    run: list[int] = []
    while (place := place + step) in unmatched:
        run.append(place)
    return run


def _pair_blocks(old: Sequence[Block], new: Sequence[Block]) -> list[Pair | None]:
    if len(old) == len(new) == 1 and old[0].kind == new[0].kind and not old[0].is_blank:
        return [Pair(0, False)]  # they are no common end, so they differ
    matching = _Matching([block.fingerprint for block in old], [block.fingerprint for block in new])
    matching.match()
    pairs: list[Pair | None] = [None if i is None else Pair(i, True) for i in matching.of_new]
    for olds, news in matching.gaps():
        for i, j in _edited_in_place(old, [i for i in olds if not old[i].is_blank], new, news):
            pairs[j] = Pair(i, False)
    for i, j in _moved_and_edited(old, new, pairs):
        pairs[j] = Pair(i, False)
    return pairs


def _moved_and_edited(
    old: Sequence[Block], new: Sequence[Block], pairs: Sequence[Pair | None]
) -> Iterator[tuple[int, int]]:
    """Pairs of unmatched blocks that were moved and edited, the most similar first."""
    matched = {pair.old for pair in pairs if pair}
    olds = [i for i, block in enumerate(old) if i not in matched and not block.is_blank]
    news = [j for j, pair in enumerate(pairs) if pair is None]
    if len(olds) * len(news) > MAX_COMPARED_PAIRS:
        return
    before, after = {i: _gist_of(old[i]) for i in olds}, {j: _gist_of(new[j]) for j in news}
    likeness = {(j, i): before[i].likeness(after[j]) for j in news for i in olds}
    for j, i in sorted(likeness, key=lambda pair: (-likeness[pair], pair)):
        if likeness[j, i] >= SAME_KIND_BONUS + MIN_LIKENESS and i in before and j in after:
            del before[i], after[j]
            yield i, j


class _Matching:
    """Pairs of equal elements of two sequences, moved ones included; neighbours of matches first, then the nearest."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._old, self._new = old, new
        self._of_old: list[int | None] = [None] * len(old)
        self.of_new: list[int | None] = [None] * len(new)

    def match(self) -> None:
        anchors = self._unique_pairs()
        for i, j in anchors:
            self._pair(i, j)
        for step in (1, -1):
            for i, j in anchors:
                self._extend_match(i, j, step)
        self._match_nearest()

    def gaps(self) -> Iterator[tuple[list[int], list[int]]]:
        """The unmatched old and new elements between neighbours that are matched and in order."""
        for (i, j), (i_end, j_end) in pairwise([(-1, -1), *self._longest_ordered(), (len(self._old), len(self._new))]):
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

    def _extend_match(self, i: int, j: int, step: int) -> None:
        while self._pair(i := i + step, j := j + step):
            pass

    def _unique_pairs(self) -> list[tuple[int, int]]:
        """Pairs of elements that occur once on both sides."""
        old, new = Counter(self._old), Counter(self._new)
        place = {meaning: i for i, meaning in enumerate(self._old) if old[meaning] == 1}
        return [(place[meaning], j) for j, meaning in enumerate(self._new) if new[meaning] == 1 and meaning in place]

    def _match_nearest(self) -> None:
        unmatched: dict[str, list[int]] = {}
        for i, meaning in enumerate(self._old):
            if self._of_old[i] is None:
                unmatched.setdefault(meaning, []).append(i)
        expected = 0
        for j, meaning in enumerate(self._new):
            if self.of_new[j] is None and (places := unmatched.get(meaning)):
                self._pair(_pop_nearest(places, expected), j)
            old_index = self.of_new[j]
            expected = (expected if old_index is None else old_index) + 1

    def _longest_ordered(self) -> list[tuple[int, int]]:
        """The longest series of matches in the same order on both sides."""
        ends: list[int] = []  # the lowest old index that ends a series of each length, parallel to `runs`
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


def _pop_nearest(places: list[int], expected: int) -> int:
    """Remove and return the element of the sorted *places* nearest to *expected*."""
    at = bisect_left(places, expected)
    if at == len(places) or (at and expected - places[at - 1] < places[at] - expected):
        at -= 1
    return places.pop(at)


@dataclass(frozen=True, slots=True)
class _Gist:
    """head: the words of the first block of an item."""

    kind: str
    words: frozenset[str]
    head: tuple[str, ...] = ()

    def likeness(self, other: "_Gist") -> float:
        """0: not the same block; otherwise the higher, the more similar."""
        total = len(self.words) + len(other.words)
        shared = 2 * len(self.words & other.words) / total if total else 1.0
        if self.kind == other.kind:
            return SAME_KIND_BONUS + shared + (SAME_HEAD_BONUS if self.head and self.head == other.head else 0.0)
        return shared if shared > SAME_KIND_BONUS else 0.0


def _edited_in_place(
    old: Sequence[Block], olds: Sequence[int], new: Sequence[Block], news: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Pairs of the changed blocks between two matched neighbours, in order."""
    if len(olds) * len(news) > MAX_COMPARED_PAIRS:
        yield from _pair_by_kind(old, olds, new, news)
        return
    before, after = [_gist_of(old[i]) for i in olds], [_gist_of(new[j]) for j in news]
    for i, j in _best_alignment([[old_gist.likeness(new_gist) for new_gist in after] for old_gist in before]):
        yield olds[i], news[j]


def _pair_by_kind(
    old: Sequence[Block], olds: Sequence[int], new: Sequence[Block], news: Sequence[int]
) -> Iterator[tuple[int, int]]:
    waiting: dict[str, list[int]] = {}
    for i in reversed(olds):
        waiting.setdefault(old[i].kind, []).append(i)
    for j in news:
        if alike := waiting.get(new[j].kind):
            yield alike.pop(), j


def _best_alignment(likeness: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The pairs, in order on both sides, with the highest sum of similarity."""
    width = len(likeness[0]) if likeness else 0
    best = [[0.0] * (width + 1) for _ in range(len(likeness) + 1)]  # of the remaining elements from (i, j) on
    for i in range(len(likeness) - 1, -1, -1):
        for j in range(width - 1, -1, -1):
            best[i][j] = max(likeness[i][j] + best[i + 1][j + 1], best[i + 1][j], best[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(likeness) and j < width:
        if likeness[i][j] and best[i][j] == likeness[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _gist_of(block: Block) -> _Gist:
    kind = "text" if block.kind in TEXTBLOCKS else block.kind
    head = block.nodes[0]["content"][0] if block.kind in ITEMS and block.nodes[0].get("content") else None
    words = frozenset(word for node in block.nodes for word in _words_of(node))
    return _Gist(kind, words, tuple(_words_of(head)) if head else ())


def _words_of(node: Node) -> Iterator[str]:
    yield from _WORD.findall(node.get("text", ""))
    for key, value in (node.get("attrs") or {}).items():
        if isinstance(value, str) and key != "id":
            yield from _WORD.findall(value)
    for child in node.get("content") or ():
        yield from _words_of(child)
