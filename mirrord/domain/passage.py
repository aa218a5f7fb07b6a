"""What became of places of a text that changed."""

from bisect import bisect_left, bisect_right
from functools import cached_property

from mirrord.domain.alignment import Block, align, common_prefix, common_suffix

Span = tuple[int, int]  # from, up to


class Passage:
    """
    From an old text to a new one.

    old None: it is not known, so nothing is known to have been there before.
    """

    def __init__(self, old: str | None, new: str) -> None:
        self.new = new
        self._old = old
        self._head = common_prefix(old, new) if old is not None else 0
        self._tail = common_suffix(old, new) if old is not None else 0

    def said(self, span: Span, quote: str) -> bool:
        """Whether that was there in the old text, as far as that is known."""
        return self._old is not None and self._old[span[0] : span[1]] == quote

    def stayed(self, span: Span) -> int | None:
        """Where *span* of the old text begins in the new one; None: something in it changed."""
        start, end = span
        length = len(self._old or "")
        if end <= self._head:
            return start
        if length - start <= self._tail:
            return start + len(self.new) - length
        number = bisect_right(self._begins, start) - 1
        block = self._blocks[number] if number >= 0 else None
        if block is not None and end <= block.old + block.size:
            return block.new + start - block.old
        return None

    def place(self, span: Span) -> Span:
        """What *span* became. What was replaced across one of its ends is not counted to it."""
        start, end = span
        first, last = bisect_right(self._begins, start) - 1, bisect_left(self._begins, end) - 1
        return self._start(first, start, end), self._end(last, start, end)

    def kept(self, span: Span) -> int:
        """How many characters of *span* are still there."""
        start, end = span
        kept = 0
        for block in self._blocks[max(bisect_right(self._begins, start) - 1, 0) :]:
            if block.old >= end:
                break
            kept += max(0, min(block.old + block.size, end) - max(block.old, start))
        return kept

    def was_there(self, span: Span) -> bool:
        """Whether *span* of the new text is a place that the old one had."""
        number = bisect_right(self._targets, span[0]) - 1
        block = self._blocks[number] if number >= 0 else None
        return block is not None and span[1] <= block.new + block.size

    @cached_property
    def fresh(self) -> list[Span]:
        """The parts of the new text that the old one did not have."""
        begins = [0, *(block.new + block.size for block in self._blocks)]
        ends = [*self._targets, len(self.new)]
        return [(begin, end) for begin, end in zip(begins, ends, strict=True) if begin < end]

    @cached_property
    def _blocks(self) -> list[Block]:
        return align(self._old, self.new) if self._old is not None else []

    @cached_property
    def _begins(self) -> list[int]:
        return [block.old for block in self._blocks]

    @cached_property
    def _targets(self) -> list[int]:
        return [block.new for block in self._blocks]

    def _start(self, number: int, start: int, end: int) -> int:
        if number >= 0 and start < (block := self._blocks[number]).old + block.size:
            return block.new + start - block.old
        gap, target = self._gap(number)
        return target[0] if gap[0] == start and start < gap[1] <= end else target[1]

    def _end(self, number: int, start: int, end: int) -> int:
        if number >= 0 and end <= (block := self._blocks[number]).old + block.size:
            return block.new + end - block.old
        gap, target = self._gap(number)
        return target[1] if gap[1] == end and start <= gap[0] < end else target[0]

    def _gap(self, number: int) -> tuple[Span, Span]:
        """What follows the block *number* up to the next, in the old and in the new text."""
        before = self._blocks[number] if number >= 0 else Block(0, 0, 0)
        last = Block(len(self._old or ""), len(self.new), 0)
        after = self._blocks[number + 1] if number + 1 < len(self._blocks) else last
        return (before.old + before.size, after.old), (before.new + before.size, after.new)
