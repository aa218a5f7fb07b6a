"""Differences of two sequences in bounded time, however often one of their items occurs. Pure."""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from mirrord.markdown.schema.block import count_common_ends

MAX_COMPARED_PAIRS = 25_000_000  # of items of both sequences; beyond, all between common ends is one difference
MAX_EQUAL_PAIRS = 100_000  # of them that are equal: each may be looked at as often as there are items
_MIN_COMMON_ITEMS = 200  # of a sequence in which difflib passes over very frequent items, if it may

Opcode = tuple[str, int, int, int, int]  # of a SequenceMatcher: tag, start and end in each sequence


def find_opcodes(old: Sequence[str], new: Sequence[str]) -> Sequence[Opcode]:
    """
    As SequenceMatcher.get_opcodes(), which takes hours where one item, such as a blank line, occurs thousands of times.

    Such items are then found beside others only; without these all between the common ends is one difference.
    """
    if _is_quick(old, new, without_frequent=False):
        return SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    head, tail = count_common_ends(old, new)
    end, new_end = len(old) - tail, len(new) - tail
    codes = [("replace", head, end, head, new_end)]
    if _is_quick(old[head:end], new[head:new_end], without_frequent=True):
        matcher = SequenceMatcher(None, old[head:end], new[head:new_end], autojunk=True)
        codes = [
            (tag, head + start, head + stop, head + new_start, head + new_stop)
            for tag, start, stop, new_start, new_stop in matcher.get_opcodes()
        ]
    return [("equal", 0, head, 0, head), *codes, ("equal", end, len(old), new_end, len(new))]


def _is_quick(old: Sequence[str], new: Sequence[str], *, without_frequent: bool) -> bool:
    counts = Counter(new)
    if without_frequent and len(new) >= _MIN_COMMON_ITEMS:
        limit = len(new) // 100 + 1  # as difflib has it
        counts = Counter({item: count for item, count in counts.items() if count <= limit})
    equal_pairs = sum(counts[item] for item in old)
    return len(old) * len(new) <= MAX_COMPARED_PAIRS and equal_pairs <= MAX_EQUAL_PAIRS
