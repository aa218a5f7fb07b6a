"""PURE: what two texts have in common, and where places of a changed text are now."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_WORD = re.compile(r"\w+|\s+|[^\w\s]+")
_MAX_COMPARED_PAIRS = 40_000  # pairs of words compared one by one; larger gaps count as rewritten


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of both texts. at, to: where it begins in the old text and in the new one."""

    old: str
    new: str
    at: int
    to: int

    def cut(self, old: slice, new: slice) -> "_Part":
        """A part of this one; both slices have a start."""
        return _Part(self.old[old], self.new[new], self.at + old.start, self.to + new.start)


@dataclass(frozen=True, slots=True)
class UnchangedBlock:
    """`old_text[old : old + size]` is `new_text[new : new + size]`."""

    old: int
    new: int
    size: int


def align(old: str, new: str) -> list[UnchangedBlock]:
    """The unchanged blocks, ascending in both texts: around lines, then words that occur once in each text."""
    blocks: list[UnchangedBlock] = []
    for block in _align_part(_Part(old, new, 0, 0), (_LINE, _WORD)):
        last = blocks[-1] if blocks else None
        if last is not None and (last.old + last.size, last.new + last.size) == (block.old, block.new):
            blocks[-1] = UnchangedBlock(last.old, last.new, last.size + block.size)
        else:
            blocks.append(block)
    return blocks


def common_prefix(text: str, other: str) -> int:
    """The length of the common prefix."""
    return _common_length(text, other, min(len(text), len(other)), _are_equal_from_start)


def common_suffix(text: str, other: str) -> int:
    """The length of the common suffix."""
    return _common_length(text, other, min(len(text), len(other)), _are_equal_from_end)


def _common_length(old: str, new: str, limit: int, is_same: Callable[[str, str, int, int], bool]) -> int:
    low = 0
    while low < limit:
        middle = (low + limit + 1) // 2
        if is_same(old, new, low, middle):
            low = middle
        else:
            limit = middle - 1
    return low


def _are_equal_from_start(old: str, new: str, low: int, high: int) -> bool:
    return old[low:high] == new[low:high]


def _are_equal_from_end(old: str, new: str, low: int, high: int) -> bool:
    return old[len(old) - high : len(old) - low] == new[len(new) - high : len(new) - low]


def _align_part(part: _Part, units: Sequence[re.Pattern[str]]) -> Iterator[UnchangedBlock]:
    old, new, at, to = part.old, part.new, part.at, part.to
    head = common_prefix(old, new)
    tail = min(common_suffix(old, new), min(len(old), len(new)) - head)
    if head:
        yield UnchangedBlock(at, to, head)
    inner = part.cut(slice(head, len(old) - tail), slice(head, len(new) - tail))
    if inner.old and inner.new:
        yield from _align_by_units(inner, units)
    if tail:
        yield UnchangedBlock(at + len(old) - tail, to + len(new) - tail, tail)


def _align_by_units(part: _Part, units: Sequence[re.Pattern[str]]) -> Iterator[UnchangedBlock]:
    if not units:
        return
    ours, theirs = units[0].findall(part.old), units[0].findall(part.new)
    starts, targets = _starts_of(ours), _starts_of(theirs)
    fixed = [(starts[i], targets[j], len(ours[i])) for i, j in _unique_pairs(ours, theirs)]
    if not fixed:
        yield from _align_without_unique(part, units, ours, theirs)
        return
    begin, target = 0, 0
    for start, goal, size in fixed:
        yield from _align_part(part.cut(slice(begin, start), slice(target, goal)), units)
        yield UnchangedBlock(part.at + start, part.to + goal, size)
        begin, target = start + size, goal + size
    yield from _align_part(part.cut(slice(begin, None), slice(target, None)), units)


def _align_without_unique(
    part: _Part, units: Sequence[re.Pattern[str]], ours: Sequence[str], theirs: Sequence[str]
) -> Iterator[UnchangedBlock]:
    """Align texts without a common unique unit: by smaller units, or, if there are few, by the longest runs."""
    if len(units) > 1:
        yield from _align_by_units(part, units[1:])
        return
    if len(ours) * len(theirs) > _MAX_COMPARED_PAIRS:
        return
    starts, targets = [*_starts_of(ours), len(part.old)], [*_starts_of(theirs), len(part.new)]
    for i, j, size in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        if size:
            yield UnchangedBlock(part.at + starts[i], part.to + targets[j], starts[i + size] - starts[i])


def _starts_of(units: Sequence[str]) -> list[int]:
    return [0, *accumulate(map(len, units))][: len(units)]


def _unique_pairs(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of equal units that occur once in both, the longest series that ascends in both."""
    unique = {unit for unit, number in Counter(ours).items() if number == 1}
    unique &= {unit for unit, number in Counter(theirs).items() if number == 1}
    number_in_theirs = {unit: number for number, unit in enumerate(theirs) if unit in unique}
    pairs = [(number, number_in_theirs[unit]) for number, unit in enumerate(ours) if unit in unique]
    return _longest_ascending(pairs)


def _longest_ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of *pairs*, which ascend in their first element, that ascends in the second too."""
    ends: list[int] = []  # the lowest second element that ends a series of each length
    last: list[int] = []  # the index of its pair
    before: list[int | None] = []
    for number, (_, second) in enumerate(pairs):
        length = bisect_left(ends, second)
        ends[length : length + 1] = [second]
        last[length : length + 1] = [number]
        before.append(last[length - 1] if length else None)
    chosen, index = [], last[-1] if last else None
    while index is not None:
        chosen.append(pairs[index])
        index = before[index]
    return chosen[::-1]


Span = tuple[int, int]  # start, end


class Passage:
    """
    The change from an old text to a new one.

    old: None: not known, so no text is known to have been there before.
    """

    def __init__(self, old: str | None, new: str) -> None:
        self.new = new
        self._old = old
        self._prefix_length = common_prefix(old, new) if old is not None else 0
        self._suffix_length = common_suffix(old, new) if old is not None else 0

    def had_quote(self, span: Span, quote: str) -> bool:
        """Whether the old text is known and has *quote* at *span*."""
        return self._old is not None and self._old[span[0] : span[1]] == quote

    def unchanged_start(self, span: Span) -> int | None:
        """The start in the new text of *span* of the old one; None: it changed."""
        start, end = span
        length = len(self._old or "")
        if end <= self._prefix_length:
            return start
        if length - start <= self._suffix_length:
            return start + len(self.new) - length
        number = bisect_right(self._old_begins, start) - 1
        block = self._blocks[number] if number >= 0 else None
        if block is not None and end <= block.old + block.size:
            return block.new + start - block.old
        return None

    def new_span(self, span: Span) -> Span:
        """The span in the new text of *span* of the old one, without replacements that cross one of its ends."""
        start, end = span
        first, last = bisect_right(self._old_begins, start) - 1, bisect_left(self._old_begins, end) - 1
        return self._new_start(first, start, end), self._new_end(last, start, end)

    def kept_length(self, span: Span) -> int:
        """The number of characters of *span* that still exist."""
        start, end = span
        kept_length = 0
        for block in self._blocks[max(bisect_right(self._old_begins, start) - 1, 0) :]:
            if block.old >= end:
                break
            kept_length += max(0, min(block.old + block.size, end) - max(block.old, start))
        return kept_length

    def is_unchanged(self, span: Span) -> bool:
        """Whether *span* of the new text is unchanged text of the old one."""
        number = bisect_right(self._new_begins, span[0]) - 1
        block = self._blocks[number] if number >= 0 else None
        return block is not None and span[1] <= block.new + block.size

    @cached_property
    def new_parts(self) -> list[Span]:
        """The parts of the new text that are not in the old one."""
        begins = [0, *(block.new + block.size for block in self._blocks)]
        ends = [*self._new_begins, len(self.new)]
        return [(begin, end) for begin, end in zip(begins, ends, strict=True) if begin < end]

    @cached_property
    def _blocks(self) -> list[UnchangedBlock]:
        return align(self._old, self.new) if self._old is not None else []

    @cached_property
    def _old_begins(self) -> list[int]:
        return [block.old for block in self._blocks]

    @cached_property
    def _new_begins(self) -> list[int]:
        return [block.new for block in self._blocks]

    def _new_start(self, number: int, start: int, end: int) -> int:
        if number >= 0 and start < (block := self._blocks[number]).old + block.size:
            return block.new + start - block.old
        gap, target = self._gap_after(number)
        return target[0] if gap[0] == start and start < gap[1] <= end else target[1]

    def _new_end(self, number: int, start: int, end: int) -> int:
        if number >= 0 and end <= (block := self._blocks[number]).old + block.size:
            return block.new + end - block.old
        gap, target = self._gap_after(number)
        return target[1] if gap[1] == end and start <= gap[0] < end else target[0]

    def _gap_after(self, number: int) -> tuple[Span, Span]:
        """The gap between block *number* and the next one, in the old and in the new text."""
        before = self._blocks[number] if number >= 0 else UnchangedBlock(0, 0, 0)
        last = UnchangedBlock(len(self._old or ""), len(self.new), 0)
        after = self._blocks[number + 1] if number + 1 < len(self._blocks) else last
        return (before.old + before.size, after.old), (before.new + before.size, after.new)
