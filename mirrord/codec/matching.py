"""Which block of a page's new blocks was which of its old ones: equal ones first, then those edited in place."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from operator import eq
from typing import NamedTuple, TypeVar

from mirrord.codec.document import INLINE, TEXTBLOCKS, Node
from mirrord.codec.normal import fingerprint, normal, wrapped

CELLS = 20_000  # pairs of changed blocks compared word by word; in longer stretches their order decides
SAME_KIND = 0.5  # how many shared words it is worth that both are paragraphs, say

T = TypeVar("T")

_BLANK = fingerprint({"type": "paragraph"})
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]|[^\W\u2e80-\u9fff\uac00-\ud7af]+")  # where no blanks part words: each


@dataclass(slots=True, eq=False)
class _Meaning:
    """What all blocks that are known to mean the same share. text: a fingerprint; None: nobody has asked for it yet."""

    text: str | None = None


@dataclass(slots=True)
class Block:
    """
    A block of a document or container; it does not change.

    nodes: its node, or a run of inline nodes that stands for a paragraph, as an image alone does.
    ids: those in it and below, once none is missing and none is there twice.
    """

    nodes: tuple[Node, ...]
    ids: tuple[str, ...] = ()
    _meaning: _Meaning = field(default_factory=_Meaning, compare=False, repr=False)

    @property
    def meaning(self) -> str:
        """The fingerprint of its normal form; worked out when it is asked for, since that is most of the work."""
        if self._meaning.text is None:
            node = self.nodes[0]
            if len(self.nodes) != 1 or node["type"] in INLINE:
                node = {"type": "paragraph", "content": list(self.nodes)}
            self._meaning.text = fingerprint(normal(node))
        return self._meaning.text

    def means(self, other: "Block") -> bool:
        """Whether both mean the same; those once found to do so, and the same JSON, need no normal form for that."""
        if self._meaning is other._meaning:
            return True
        if self.nodes != other.nodes and self.meaning != other.meaning:
            return False
        other._meaning = self._meaning
        return True

    def carrying(self, nodes: tuple[Node, ...], ids: tuple[str, ...] = ()) -> "Block":
        """The same block with other ids in its *nodes*, which change nothing of what it means."""
        return Block(nodes, ids, self._meaning)

    @property
    def kind(self) -> str:
        """The type of the node that Markdown knows it as."""
        return self.nodes[0]["type"] if len(self.nodes) == 1 else "paragraph"

    @property
    def is_blank(self) -> bool:
        """Whether it is an empty paragraph, which has no Markdown."""
        children = self.nodes[0].get("content") or ()
        return self.meaning == _BLANK and all("text" in child for child in children)


def blocks_of(content: Sequence[Node]) -> list[Block]:
    """The blocks of a document's or container's *content*."""
    found, start = [], 0
    for node in wrapped(content):
        count = 1 if node is content[start] else len(node["content"])
        found.append(Block(tuple(content[start : start + count])))
        start += count
    return found


def ends(old: Sequence[T], new: Sequence[T], same: Callable[[T, T], bool] = eq) -> tuple[int, int]:
    """How many of both are the *same* at the beginning, and how many others at the end."""
    most = min(len(old), len(new))
    start = next((k for k, found in enumerate(map(same, old, new)) if not found), most)
    backwards = map(same, reversed(old), reversed(new))
    end = next((k for k, found in enumerate(islice(backwards, most - start)) if not found), most - start)
    return start, end


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


def _paired(old: Sequence[Block], new: Sequence[Block]) -> list[Pair | None]:
    matching = _Matching([block.meaning for block in old], [block.meaning for block in new])
    matching.match()
    found: list[Pair | None] = [None if i is None else Pair(i, True) for i in matching.of_new]
    for olds, news in matching.gaps():
        for i, j in _edited(old, [i for i in olds if not old[i].is_blank], new, news):
            found[j] = Pair(i, False)
    return found


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
