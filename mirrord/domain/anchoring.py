"""
Finding segments again in a text that changed.

Where the old text is known, what stayed of it says where a segment went. Else, and for what was moved or came back,
its quote is looked for, the words around it saying which of several it is. What cannot be found is detached, and is
looked for again whenever the text changes. The same input gives the same result everywhere, and a second time nothing.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mirrord.domain.alignment import align, common_prefix, common_suffix
from mirrord.domain.passage import Passage, Span
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
    search = _Search(Passage(old, new))
    return [search.anchor(segment) for segment in segments]


class _Search:
    """One text that changed."""

    def __init__(self, passage: Passage) -> None:
        self._passage = passage
        self._new = passage.new
        self._guesses = _GUESSES

    def anchor(self, segment: Segment) -> Segment:
        """*segment* in the new text."""
        if segment.quote is None:
            return self._first(segment)
        own = Wording(segment.quote, segment.prefix, segment.suffix)
        found = self._returned(segment)
        if found is None and segment.detached:
            found = self._found(segment, own, self._passage.fresh)
        elif found is None:
            found = self._followed(segment, own)
        return found or self._guessed(segment, own) or replace(segment, detached=True)

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
        else:
            span = (segment.start, segment.end)
            is_known = self._passage.said(span, segment.quote or "")
            at = self._around(self._passage.place(span) if is_known else span, segment.former)
        return self._put(replace(segment, former=None), at, segment.former)

    def _followed(self, segment: Segment, own: Wording) -> Segment | None:
        span = (segment.start, segment.end)
        if not self._passage.said(span, own.quote):  # it was made for another text than the old one
            return self._found(segment, own, [(0, len(self._new))])
        at, place = self._passage.stayed(span), self._passage.place(span)
        if at is None:
            at = self._around(place, own)
        if at is None:
            at = self._elsewhere(own, place[0], self._passage.fresh)
        return self._put(segment, at, own) or self._edited(segment, own, place)

    def _found(self, segment: Segment, own: Wording, parts: Sequence[Span]) -> Segment | None:
        """Exactly where it was, or elsewhere in or across one of *parts*."""
        at = self._at(segment.start, own)
        if at is None:
            at = self._elsewhere(own, segment.start, parts)
        return self._put(segment, at, own)

    def _put(self, segment: Segment, at: int | None, wording: Wording) -> Segment | None:
        return placed(segment, self._new, at, at + len(wording.quote)) if at is not None else None

    def _edited(self, segment: Segment, own: Wording, place: Span) -> Segment | None:
        """It was edited within, and most of it stayed."""
        start, end = place
        most = _GROWTH * len(own.quote) + _ROOM
        kept = self._passage.kept((segment.start, segment.end))
        if not (start < end <= start + most) or kept < _KEPT * len(own.quote):
            return None
        return replace(placed(segment, self._new, start, end), former=segment.former or own)

    def _at(self, start: int, wording: Wording) -> int | None:
        """Whether it is exactly there, with all that was around it."""
        if not self._new.startswith(wording.quote, start):
            return None
        return start if self._score(start, wording) == _context(wording) else None

    def _around(self, place: Span, wording: Wording) -> int | None:
        """Where it is at, or across, *place*, but for what was there before."""
        length = len(wording.quote)
        first, last = max(place[0] - length, 0), place[1] + length
        found = [
            at
            for at in _occurrences(self._new, wording.quote, first, last)
            if at < max(place[1], place[0] + 1) and at + length > place[0]
            if not self._passage.was_there((at, at + length))
        ]
        return self._nearest(found, wording, place[0])

    def _elsewhere(self, wording: Wording, near: int, parts: Sequence[Span]) -> int | None:
        """One of its places in or across *parts* with enough of what was around it; the only one of a long quote."""
        needle = wording.quote or wording.prefix + wording.suffix
        ahead = 0 if wording.quote else len(wording.prefix)
        places = {
            at + ahead
            for begin, end in parts
            for at in _occurrences(self._new, needle, max(0, begin - len(needle) + 1), end + len(needle) - 1)
        }
        if len(places) == 1 and len(wording.quote) >= LONG:
            return places.pop()
        fitting = [at for at in places if 2 * self._score(at, wording) >= _context(wording)]
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
            if found is not None and not self._passage.was_there((first + found[0], first + found[1])):
                said = placed(segment, self._new, first + found[0], first + found[1])
                return replace(said, former=segment.former or own)
        return None

    def _has_room(self, quote: str) -> bool:
        """Whether enough text is new for it to be in there."""
        return sum(end - begin for begin, end in self._passage.fresh) >= _KEPT * len(quote)

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


def _context(wording: Wording) -> int:
    return len(wording.prefix) + len(wording.suffix)


def _likeness(quote: str, window: str) -> Span | None:
    """The part of *window* that is *quote* but for a few changes."""
    blocks = align(quote, window)
    if sum(block.size for block in blocks) < _LIKE * len(quote):
        return None
    first, last = blocks[0], blocks[-1]
    start = max(0, first.new - first.old)
    end = min(len(window), last.new + len(quote) - last.old)
    return (start, end) if end - start <= len(quote) / _LIKE else None
