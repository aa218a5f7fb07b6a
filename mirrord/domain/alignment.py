"""Find the common parts of two texts, in the same order, in time that grows with their length, not its square."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_WORD = re.compile(r"\w+|\s+|[^\w\s]+")
_MAX_COMPARED_PAIRS = 40_000  # pairs of words compared one by one; larger gaps count as rewritten


@dataclass(frozen=True, slots=True)
class UnchangedBlock:
    """`old_text[old : old + size]` is `new_text[new : new + size]`."""

    old: int
    new: int
    size: int


def align(old: str, new: str) -> list[UnchangedBlock]:
    """The unchanged blocks, ascending in both texts: around lines, then words that occur once in each text."""
    blocks: list[UnchangedBlock] = []
    for block in _align_part(old, new, 0, 0, (_LINE, _WORD)):
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


def _align_part(old: str, new: str, at: int, to: int, units: Sequence[re.Pattern[str]]) -> Iterator[UnchangedBlock]:
    """The unchanged blocks of a part that begins at *at* in the old text and at *to* in the new one."""
    head = common_prefix(old, new)
    tail = min(common_suffix(old, new), min(len(old), len(new)) - head)
    if head:
        yield UnchangedBlock(at, to, head)
    inner, fresh = old[head : len(old) - tail], new[head : len(new) - tail]
    if inner and fresh:
        yield from _align_by_units(inner, fresh, at + head, to + head, units)
    if tail:
        yield UnchangedBlock(at + len(old) - tail, to + len(new) - tail, tail)


def _align_by_units(old: str, new: str, at: int, to: int, units: Sequence[re.Pattern[str]]) -> Iterator[UnchangedBlock]:
    if not units:
        return
    ours, theirs = units[0].findall(old), units[0].findall(new)
    starts, targets = _starts_of(ours), _starts_of(theirs)
    fixed = [(starts[i], targets[j], len(ours[i])) for i, j in _unique_pairs(ours, theirs)]
    if not fixed:
        yield from _align_without_unique(old, new, at, to, units, ours, theirs)
        return
    begin, target = 0, 0
    for start, goal, size in fixed:
        yield from _align_part(old[begin:start], new[target:goal], at + begin, to + target, units)
        yield UnchangedBlock(at + start, to + goal, size)
        begin, target = start + size, goal + size
    yield from _align_part(old[begin:], new[target:], at + begin, to + target, units)


def _align_without_unique(
    old: str,
    new: str,
    at: int,
    to: int,
    units: Sequence[re.Pattern[str]],
    ours: Sequence[str],
    theirs: Sequence[str],
) -> Iterator[UnchangedBlock]:
    """Align texts without a common unique unit: by smaller units, or, if there are few, by the longest runs."""
    if len(units) > 1:
        yield from _align_by_units(old, new, at, to, units[1:])
        return
    if len(ours) * len(theirs) > _MAX_COMPARED_PAIRS:
        return
    starts, targets = [*_starts_of(ours), len(old)], [*_starts_of(theirs), len(new)]
    for i, j, size in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        if size:
            yield UnchangedBlock(at + starts[i], to + targets[j], starts[i + size] - starts[i])


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
