"""Map places of a text to a changed version of it."""

from bisect import bisect_left, bisect_right
from functools import cached_property

from mirrord.domain.alignment import UnchangedBlock, align, common_prefix, common_suffix

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
