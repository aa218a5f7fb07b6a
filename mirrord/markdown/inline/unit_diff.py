"""Which units of a text changed: runs as short as the words between them allow."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from mirrord.markdown.inline.source_map import UnitKey
from mirrord.markdown.schema.block import common_length

_MAX_COMPARED_WORDS = 250_000  # pairs of words; longer runs are one change


class Hunk(NamedTuple):
    """Units that changed: the old ones from start up to end, and the new ones in their place."""

    start: int
    end: int
    new_start: int
    new_end: int


def changed_runs(old: Sequence[UnitKey], new: Sequence[UnitKey]) -> list[Hunk]:
    """The runs of units that differ, as few as the words between them allow."""
    start, end = _count_common_ends(old, new)
    middle = Hunk(start, len(old) - end, start, len(new) - end)
    if middle.start == middle.end or middle.new_start == middle.new_end:
        return [middle]
    before, after = _words_of(old[middle.start : middle.end]), _words_of(new[middle.new_start : middle.new_end])
    if len(before) * len(after) > _MAX_COMPARED_WORDS:
        return [middle]
    hunks, at, new_at = list[Hunk](), start, start
    for name, first, behind, new_first, new_behind in SequenceMatcher(None, before, after, False).get_opcodes():
        width, new_width = sum(map(len, before[first:behind])), sum(map(len, after[new_first:new_behind]))
        if name != "equal":
            hunks.append(_trimmed(old, new, Hunk(at, at + width, new_at, new_at + new_width)))
        at, new_at = at + width, new_at + new_width
    return hunks


def _count_common_ends(old: Sequence[UnitKey], new: Sequence[UnitKey]) -> tuple[int, int]:
    """The lengths of the common prefix and suffix, which do not overlap."""
    shorter = min(len(old), len(new))
    start = common_length(shorter, lambda a, b: old[a:b] == new[a:b])
    end = common_length(
        shorter - start, lambda a, b: old[len(old) - b : len(old) - a] == new[len(new) - b : len(new) - a]
    )
    return start, end


def _words_of(keys: Sequence[UnitKey]) -> list[tuple[UnitKey, ...]]:
    """Runs of letters and digits with the same marks; every other unit by itself."""
    words: list[tuple[UnitKey, ...]] = []
    start = 0
    for at in range(1, len(keys) + 1):
        is_word = at < len(keys) and keys[at][1] == keys[start][1] and _is_letter(keys[at]) and _is_letter(keys[start])
        if not is_word:
            words.append(tuple(keys[start:at]))
            start = at
    return words


def _is_letter(key: UnitKey) -> bool:
    return len(key[0]) == 1 and key[0].isalnum()


def _trimmed(old: Sequence[UnitKey], new: Sequence[UnitKey], hunk: Hunk) -> Hunk:
    """*hunk* without the units that both of its sides begin or end with."""
    start, end = _count_common_ends(old[hunk.start : hunk.end], new[hunk.new_start : hunk.new_end])
    return Hunk(hunk.start + start, hunk.end - end, hunk.new_start + start, hunk.new_end - end)
