"""What two texts have in common, in the same order: found in time that grows with their length, not its square."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_WORD = re.compile(r"\w+|\s+|[^\w\s]+")
_SMALL = 40_000  # pairs of words that are compared one by one; gaps with more count as rewritten


@dataclass(frozen=True, slots=True)
class Block:
    """`old_text[old : old + size]` is `new_text[new : new + size]`."""

    old: int
    new: int
    size: int


def align(old: str, new: str) -> list[Block]:
    """The blocks that stayed, ascending in both texts: around lines, then words that are in each text once."""
    blocks: list[Block] = []
    for block in _aligned(old, new, 0, 0, (_LINE, _WORD)):
        last = blocks[-1] if blocks else None
        if last is not None and (last.old + last.size, last.new + last.size) == (block.old, block.new):
            blocks[-1] = Block(last.old, last.new, last.size + block.size)
        else:
            blocks.append(block)
    return blocks


def common_prefix(one: str, other: str) -> int:
    """How many characters both begin with."""
    return _common(one, other, min(len(one), len(other)), _begins)


def common_suffix(one: str, other: str) -> int:
    """How many characters both end with."""
    return _common(one, other, min(len(one), len(other)), _ends)


def _common(one: str, other: str, most: int, same: Callable[[str, str, int, int], bool]) -> int:
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        if same(one, other, low, middle):
            low = middle
        else:
            most = middle - 1
    return low


def _begins(one: str, other: str, low: int, high: int) -> bool:
    return one[low:high] == other[low:high]


def _ends(one: str, other: str, low: int, high: int) -> bool:
    return one[len(one) - high : len(one) - low] == other[len(other) - high : len(other) - low]


def _aligned(old: str, new: str, at: int, to: int, units: Sequence[re.Pattern[str]]) -> Iterator[Block]:
    """The blocks of a part that begins at *at* in the old and at *to* in the new text."""
    head = common_prefix(old, new)
    tail = min(common_suffix(old, new), min(len(old), len(new)) - head)
    if head:
        yield Block(at, to, head)
    inner, fresh = old[head : len(old) - tail], new[head : len(new) - tail]
    if inner and fresh:
        yield from _between(inner, fresh, at + head, to + head, units)
    if tail:
        yield Block(at + len(old) - tail, to + len(new) - tail, tail)


def _between(old: str, new: str, at: int, to: int, units: Sequence[re.Pattern[str]]) -> Iterator[Block]:
    if not units:
        return
    ours, theirs = units[0].findall(old), units[0].findall(new)
    starts, targets = _starts(ours), _starts(theirs)
    fixed = [(starts[i], targets[j], len(ours[i])) for i, j in _fixed(ours, theirs)]
    if not fixed:
        yield from _smaller(old, new, at, to, units, ours, theirs)
        return
    begin, target = 0, 0
    for start, goal, size in fixed:
        yield from _aligned(old[begin:start], new[target:goal], at + begin, to + target, units)
        yield Block(at + start, to + goal, size)
        begin, target = start + size, goal + size
    yield from _aligned(old[begin:], new[target:], at + begin, to + target, units)


def _smaller(
    old: str,
    new: str,
    at: int,
    to: int,
    units: Sequence[re.Pattern[str]],
    ours: Sequence[str],
    theirs: Sequence[str],
) -> Iterator[Block]:
    """No unit is in both once: take smaller units, or, among few, the longest runs."""
    if len(units) > 1:
        yield from _between(old, new, at, to, units[1:])
        return
    if len(ours) * len(theirs) > _SMALL:
        return
    starts, targets = [*_starts(ours), len(old)], [*_starts(theirs), len(new)]
    for i, j, size in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        if size:
            yield Block(at + starts[i], to + targets[j], starts[i + size] - starts[i])


def _starts(units: Sequence[str]) -> list[int]:
    return [0, *accumulate(map(len, units))][: len(units)]


def _fixed(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of equal units that are in both once, the longest series that ascends in both."""
    once = {unit for unit, number in Counter(ours).items() if number == 1}
    once &= {unit for unit, number in Counter(theirs).items() if number == 1}
    where = {unit: number for number, unit in enumerate(theirs) if unit in once}
    pairs = [(number, where[unit]) for number, unit in enumerate(ours) if unit in once]
    return _ascending(pairs)


def _ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of *pairs*, which ascend in their first, that ascends in their second too."""
    ends: list[int] = []  # the least second of a series of each length
    last: list[int] = []  # which pair that is
    before: list[int | None] = []
    for number, (_, second) in enumerate(pairs):
        length = bisect_left(ends, second)
        ends[length : length + 1] = [second]
        last[length : length + 1] = [number]
        before.append(last[length - 1] if length else None)
    found, step = [], last[-1] if last else None
    while step is not None:
        found.append(pairs[step])
        step = before[step]
    return found[::-1]
