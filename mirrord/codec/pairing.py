"""Which old node each new one is, or takes the place of: by meaning, then by place, kind and likeness."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mirrord.codec.block import Block, ends

_WORD = re.compile(r"\w+")
_EVERYWHERE = frozenset(["type", "text", "content", "attrs", "marks", "paragraph", "listItem", "taskItem"])
_MANY = 2_500  # more pairs of changed nodes are not compared with each other: they are taken in order
_ALIKE = 0.6  # from here on a node that has gone elsewhere and changed is still the same one


@dataclass(frozen=True, slots=True)
class Match:
    """
    What a new node was.

    old: the index of the old one; None: it is an addition. same: they mean the same.
    """

    old: int | None
    same: bool


def matched(old: Sequence[Block], new: Sequence[Block]) -> list[Match]:
    """For each of the *new* blocks what it was among the *old* ones, of which each is taken once."""
    equal = _equal(old, new)
    found = dict(equal)
    free = set(range(len(old))) - set(equal.values())
    for mine, theirs in _runs(equal, len(old), len(new), set(free)):
        found.update(_replaced(old, new, mine, theirs))
    lost = sorted(free - set(found.values()))
    found.update(_alike(old, new, lost, [index for index in range(len(new)) if index not in found], _ALIKE))
    return [Match(found.get(index), index in equal) for index in range(len(new))]


def _equal(old: Sequence[Block], new: Sequence[Block]) -> dict[int, int]:
    """New indices to old ones of equal meaning, wherever these stood; those in order at both ends first."""
    head, tail = ends(old, new, Block.means)
    result = {index: index for index in range(head)}
    result |= {len(new) - 1 - index: len(old) - 1 - index for index in range(tail)}
    return result | _anywhere(old, new, range(head, len(old) - tail), range(head, len(new) - tail))


def _anywhere(old: Sequence[Block], new: Sequence[Block], mine: range, theirs: range) -> dict[int, int]:
    places: dict[str, list[int]] = defaultdict(list)
    for index in mine:
        places[old[index].meaning].append(index)
    result: dict[int, int] = {}
    last = mine.start - 1
    for index in theirs:
        if waiting := places.get(new[index].meaning):
            below = bisect_right(waiting, last)  # the next below the last one: gaps are kept between neighbours
            last = result[index] = waiting.pop(below if below < len(waiting) else 0)
    return result


def _runs(equal: dict[int, int], olds: int, news: int, free: set[int]) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Each run of changed new nodes with the free old ones next to what stands before and behind it."""
    index = 0
    while index < news:
        end = index
        while end < news and end not in equal:
            end += 1
        if end > index:
            mine = [*_from(equal.get(index - 1, -1), 1, free), *_from(equal.get(end, olds), -1, free)[::-1]]
            yield list(dict.fromkeys(mine)), range(index, end)
            free.difference_update(mine)
        index = end + 1


def _from(start: int, step: int, free: set[int]) -> list[int]:
    result = []
    while start + step in free:
        start += step
        result.append(start)
    return result


def _replaced(old: Sequence[Block], new: Sequence[Block], mine: Sequence[int], theirs: Sequence[int]) -> dict[int, int]:
    """The new nodes of a run with the old ones they replace: of one kind where possible, else in order."""
    if [old[index].kind for index in mine] == [new[index].kind for index in theirs]:
        return dict(zip(theirs, mine, strict=True))
    result = _alike(old, new, mine, theirs, 0)
    used = set(result.values())
    left = (index for index in mine if index not in used)
    return result | dict(zip((index for index in theirs if index not in result), left, strict=False))


def _alike(
    old: Sequence[Block], new: Sequence[Block], mine: Sequence[int], theirs: Sequence[int], least: float
) -> dict[int, int]:
    """Pairs of one kind, the most alike first, none less alike than *least*."""
    if not mine or len(mine) * len(theirs) > _MANY:
        return {}
    words = {index: _words(old[index]) for index in mine}
    scored = [
        (-_likeness(words[one], wanted), other, one)
        for other in theirs
        for wanted in [_words(new[other])]
        for one in mine
        if old[one].kind == new[other].kind
    ]
    result: dict[int, int] = {}
    taken: set[int] = set()
    for score, other, one in sorted(scored):
        if -score >= least and other not in result and one not in taken:
            result[other] = one
            taken.add(one)
    return result


def _words(block: Block) -> frozenset[str]:
    return frozenset(_WORD.findall(block.meaning)) - _EVERYWHERE


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / max(len(one) + len(other), 1)
