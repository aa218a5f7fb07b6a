"""
Finding segments again in a text that changed.

Where the old text is known, what stayed of it says where a segment went. Else, and for what was moved or came back,
its quote is looked for, the words around it saying which of several it is. What cannot be found is detached, and is
looked for again whenever the text changes. The same input gives the same result everywhere, and a second time nothing.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from mirrord.domain.alignment import Block, align, common_prefix, common_suffix
from mirrord.domain.segment import Segment, Wording, placed

LONG = 24  # characters of a quote that needs no words around it, if it is there once
_MOST = 200  # places of a quote that are weighed
_KEPT = 0.5  # of a quote, at least, after an edit within it
_LIKE = 0.8  # of a quote, at least, where it is looked for with changes
_GUESSES = 64  # segments of one text that are looked for with changes
_LONGEST = 4_000  # characters of a quote that is looked for with changes
_SEED = 12  # characters that must be unchanged somewhere in it
_GROWTH = 3  # an edited segment is at most so many times as long as before, and _ROOM
_ROOM = 400  # characters


def anchored(segments: Sequence[Segment], old: str | None, new: str) -> list[Segment]:
    """
    *segments* as they are in *new*, none lost: `new[start:end]` is the quote of each that is not detached.

    old: the text they were anchored in; None: not known.
    """
    search = _Search(old, new)
    return [search.anchor(segment) for segment in segments]


class _Search:
    """One text that changed."""

    def __init__(self, old: str | None, new: str) -> None:
        self._old, self._new = old, new
        self._head = common_prefix(old, new) if old is not None else 0
        self._tail = common_suffix(old, new) if old is not None else 0
        self._guesses = _GUESSES

    @cached_property
    def _blocks(self) -> list[Block]:
        return align(self._old, self._new) if self._old is not None else []

    @cached_property
    def _starts(self) -> list[int]:
        return [block.old for block in self._blocks]

    @cached_property
    def _targets(self) -> list[int]:
        return [block.new for block in self._blocks]

    @cached_property
    def _fresh(self) -> list[tuple[int, int]]:
        """The parts of the new text that were not in the old."""
        begins = [0, *(block.new + block.size for block in self._blocks)]
        ends = [*self._targets, len(self._new)]
        return [(begin, end) for begin, end in zip(begins, ends, strict=True) if begin < end]

    def anchor(self, segment: Segment) -> Segment:
        """*segment* in the new text."""
        if segment.quote is None:
            return self._first(segment)
        own = Wording(segment.quote, segment.prefix, segment.suffix)
        return (
            self._returned(segment)
            or (self._lost(segment, own) if segment.detached else self._followed(segment, own))
            or replace(segment, detached=True)
        )

    def _first(self, segment: Segment) -> Segment:
        """Nobody said what the segment says: what is there, if there is something."""
        if segment.detached or segment.end > len(self._new):
            return replace(segment, detached=True)
        return placed(segment, self._new, segment.start, segment.end)

    def _returned(self, segment: Segment) -> Segment | None:
        """What it said at first is there again, where it is now."""
        if segment.former is None:
            return None
        if segment.detached:
            at = self._at(segment.start, segment.former)
            span = None
        else:
            span = self._span(segment) if self._is_known(segment) else (segment.start, segment.end)
            at = self._around(span, segment.former)
        if at is None:
            return None
        return self._put(replace(segment, former=None), at, segment.former)

    def _followed(self, segment: Segment, own: Wording) -> Segment | None:
        if not self._is_known(segment):
            at = self._at(segment.start, own)
            if at is None:
                at = self._best(own, segment.start)
            return self._put(segment, at, own) if at is not None else self._guessed(segment, own)
        at = self._stayed(segment)
        span = self._span(segment)
        if at is None:
            at = self._around(span, own)
        if at is None:
            at = self._moved(own, span[0])
        if at is not None:
            return self._put(segment, at, own)
        return self._edited(segment, own, span) or self._guessed(segment, own)

    def _lost(self, segment: Segment, own: Wording) -> Segment | None:
        at = self._at(segment.start, own)
        if at is None:
            at = self._moved(own, segment.start) if self._old is not None else self._best(own, segment.start)
        return self._put(segment, at, own) if at is not None else self._guessed(segment, own)

    def _put(self, segment: Segment, at: int, wording: Wording) -> Segment:
        return placed(segment, self._new, at, at + len(wording.quote))

    def _is_known(self, segment: Segment) -> bool:
        """Whether the segment belongs to the old text: it may have been made for another."""
        return self._old is not None and self._old[segment.start : segment.end] == segment.quote

    def _stayed(self, segment: Segment) -> int | None:
        """Where it is if nothing in it changed."""
        assert self._old is not None
        if segment.end <= self._head:
            return segment.start
        if len(self._old) - segment.start <= self._tail:
            return segment.start + len(self._new) - len(self._old)
        block = self._block_at(segment.start)
        if block is not None and segment.end <= block.old + block.size:
            return block.new + segment.start - block.old
        return None

    def _block_at(self, position: int) -> Block | None:
        number = bisect_right(self._starts, position) - 1
        return self._blocks[number] if number >= 0 else None

    def _span(self, segment: Segment) -> tuple[int, int]:
        """What became of its place. What was replaced across one of its ends is not counted to it."""
        return self._start_of(segment), self._end_of(segment)

    def _start_of(self, segment: Segment) -> int:
        number = bisect_right(self._starts, segment.start) - 1
        block = self._blocks[number] if number >= 0 else None
        if block is not None and segment.start < block.old + block.size:
            return block.new + segment.start - block.old
        begin = (block.old + block.size, block.new + block.size) if block is not None else (0, 0)
        after = self._blocks[number + 1] if number + 1 < len(self._blocks) else None
        close = after.old if after is not None else len(self._old or "")
        if begin[0] == segment.start and begin[0] < close <= segment.end:
            return begin[1]
        return after.new if after is not None else len(self._new)

    def _end_of(self, segment: Segment) -> int:
        number = bisect_right(self._starts, segment.end - 1) - 1 if segment.end else -1
        block = self._blocks[number] if number >= 0 else None
        if block is not None and segment.end <= block.old + block.size:
            return block.new + segment.end - block.old
        begin = (block.old + block.size, block.new + block.size) if block is not None else (0, 0)
        after = self._blocks[number + 1] if number + 1 < len(self._blocks) else None
        close = after.old if after is not None else len(self._old or "")
        if close == segment.end and segment.start <= begin[0] < close:
            return after.new if after is not None else len(self._new)
        return begin[1]

    def _edited(self, segment: Segment, own: Wording, span: tuple[int, int]) -> Segment | None:
        """It was edited within, and most of it stayed."""
        start, end = span
        most = _GROWTH * len(own.quote) + _ROOM
        if not (start < end <= start + most) or self._kept(segment) < _KEPT * len(own.quote):
            return None
        return replace(placed(segment, self._new, start, end), former=segment.former or own)

    def _kept(self, segment: Segment) -> int:
        first = max(bisect_right(self._starts, segment.start) - 1, 0)
        kept = 0
        for block in self._blocks[first:]:
            if block.old >= segment.end:
                break
            kept += max(0, min(block.old + block.size, segment.end) - max(block.old, segment.start))
        return kept

    def _at(self, start: int, wording: Wording) -> int | None:
        """Whether it is exactly there, with all that was around it."""
        if not self._new.startswith(wording.quote, start):
            return None
        return start if self._score(start, wording) == _context(wording) else None

    def _around(self, span: tuple[int, int], wording: Wording) -> int | None:
        """Where it is at, or across, *span*, but for what was there before."""
        length = len(wording.quote)
        first, last = max(span[0] - length, 0), span[1] + length
        found = [
            at
            for at in _occurrences(self._new, wording.quote, first, last)
            if at < max(span[1], span[0] + 1) and at + length > span[0] and not self._is_old(at, at + length)
        ]
        return self._nearest(found, wording, span[0])

    def _moved(self, wording: Wording, near: int) -> int | None:
        """Where else it is, if that is not a place that was there before."""
        found = {
            at - ahead
            for needle, ahead in [_needle(wording)]
            for begin, end in self._fresh
            for at in _occurrences(self._new, needle, max(0, begin - len(needle) + 1), end + len(needle) - 1)
        }
        return self._acceptable(sorted(found), wording, near)

    def _best(self, wording: Wording, near: int) -> int | None:
        needle, ahead = _needle(wording)
        return self._acceptable([at - ahead for at in _occurrences(self._new, needle, 0)], wording, near)

    def _is_old(self, start: int, end: int) -> bool:
        number = bisect_right(self._targets, start) - 1
        block = self._blocks[number] if number >= 0 else None
        return block is not None and end <= block.new + block.size

    def _acceptable(self, found: Sequence[int], wording: Wording, near: int) -> int | None:
        """One with enough of what was around it; or the only one of a long quote."""
        if len(found) == 1 and len(wording.quote) >= LONG:
            return found[0]
        fitting = [at for at in found if 2 * self._score(at, wording) >= _context(wording)]
        return self._nearest(fitting, wording, near)

    def _nearest(self, found: Sequence[int], wording: Wording, near: int) -> int | None:
        return min(found, key=lambda at: (-self._score(at, wording), abs(at - near), at), default=None)

    def _score(self, at: int, wording: Wording) -> int:
        """How many characters around that place are as they were."""
        behind = at + len(wording.quote)
        return common_suffix(wording.prefix, self._new[max(0, at - len(wording.prefix)) : at]) + common_prefix(
            wording.suffix, self._new[behind : behind + len(wording.suffix)]
        )

    def _guessed(self, segment: Segment, own: Wording) -> Segment | None:
        """Where most of a longer quote is, though it was changed on its way; only for some of a text's segments."""
        if not LONG <= len(own.quote) <= _LONGEST or not self._guesses or not self._has_room(own.quote):
            return None
        self._guesses -= 1
        for start in self._guesses_at(own.quote):
            first = max(0, start - _ROOM)
            found = _likeness(own.quote, self._new[first : start + len(own.quote) + _ROOM])
            if found is not None and not self._is_old(first + found[0], first + found[1]):
                said = placed(segment, self._new, first + found[0], first + found[1])
                return replace(said, former=segment.former or own)
        return None

    def _has_room(self, quote: str) -> bool:
        """Whether enough text is new for it to be in there."""
        return self._old is None or sum(end - begin for begin, end in self._fresh) >= _KEPT * len(quote)

    def _guesses_at(self, quote: str) -> list[int]:
        step = max(1, (len(quote) - _SEED) // 8)
        votes = Counter[int]()
        for offset in range(0, len(quote) - _SEED + 1, step):
            for number, at in enumerate(_occurrences(self._new, quote[offset : offset + _SEED], 0)):
                if number == 20:
                    break
                votes[max(0, at - offset) // _ROOM * _ROOM] += 1
        return [start for start, _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))[:3]]


def _occurrences(text: str, quote: str, first: int, last: int | None = None) -> Iterator[int]:
    """Where *quote* begins in *text*, from *first* on, ending before *last*."""
    at = text.find(quote, first, last) if quote else -1
    for _ in range(_MOST):
        if at < 0:
            return
        yield at
        at = text.find(quote, at + 1, last)


def _needle(wording: Wording) -> tuple[str, int]:
    """What to look for, and where in that the quote begins, as a negative number; an empty quote is its context."""
    return (wording.quote, 0) if wording.quote else (wording.prefix + wording.suffix, -len(wording.prefix))


def _context(wording: Wording) -> int:
    return len(wording.prefix) + len(wording.suffix)


def _likeness(quote: str, window: str) -> tuple[int, int] | None:
    """The part of *window* that is *quote* but for a few changes."""
    blocks = align(quote, window)
    if sum(block.size for block in blocks) < _LIKE * len(quote):
        return None
    first, last = blocks[0], blocks[-1]
    start = max(0, first.new - first.old)
    end = min(len(window), last.new + len(quote) - last.old)
    return (start, end) if end - start <= len(quote) / _LIKE else None
