"""
PURE: find segments again in a changed text.

If the old text is known, its unchanged parts show where a segment went. Otherwise, and for text that was moved or
restored, the quote is searched for, and the words around it choose among several matches. A segment that is not found
is detached, and searched for again whenever the text changes. The same input gives the same result on every host, and
a second run changes nothing.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mirrord.research.segments.segment import Segment, Wording, place_segment
from mirrord.research.segments.text_alignment import Passage, Span, align, common_prefix, common_suffix

LONG_QUOTE_CHARACTERS = 24  # characters; so long a quote needs no matching words around it if it occurs once
_MAX_OCCURRENCES = 200  # occurrences of a quote that are compared
_MIN_KEPT_SHARE = 0.5  # share of a quote that must survive an edit within it
_MIN_LIKENESS = 0.8  # share of a quote that an approximate match must have
_MAX_GUESSES = 64  # segments of one text for which an approximate match is searched
_MAX_GUESSED_CHARACTERS = 4_000  # characters of a quote for which an approximate match is searched
_SEED_CHARACTERS = 12  # characters that an approximate match must have unchanged in one place
_MAX_GROWTH = 3  # an edited segment is at most this many times as long as before, plus _ROOM_CHARACTERS
_ROOM_CHARACTERS = 400  # characters


def anchor_segments(segments: Sequence[Segment], old: str | None, new: str) -> list[Segment]:
    """
    *segments* anchored in *new*, none lost: `new[start:end]` is the quote of each that is not detached.

    old: the text in which they were anchored; None: not known.
    """
    search = _Search(Passage(old, new))
    return [search.anchor(segment) for segment in segments]


class _Search:
    """The search for the segments of one changed text."""

    def __init__(self, passage: Passage) -> None:
        self._passage = passage
        self._new = passage.new
        self._guesses_left = _MAX_GUESSES

    def anchor(self, segment: Segment) -> Segment:
        """*segment* in the new text."""
        if segment.quote is None:
            return self._take_first_quote(segment)
        wording = Wording(segment.quote, segment.prefix, segment.suffix)
        anchored_segment = self._restore_former(segment)
        if anchored_segment is None and segment.detached:
            anchored_segment = self._find_exact(segment, wording, self._passage.new_parts)
        elif anchored_segment is None:
            anchored_segment = self._follow_edit(segment, wording)
        return anchored_segment or self._guess(segment, wording) or replace(segment, detached=True)

    def _take_first_quote(self, segment: Segment) -> Segment:
        """A segment without a quote, with the text at its place as its quote; detached if there is no such place."""
        if segment.detached or segment.end > len(self._new):
            return replace(segment, detached=True)
        return place_segment(segment, self._new, segment.start, segment.end)

    def _restore_former(self, segment: Segment) -> Segment | None:
        """The segment with its former wording, if that was restored at its place."""
        if segment.former is None:
            return None
        if segment.detached:
            at = self._exact_start(segment.start, segment.former)
        else:
            span = (segment.start, segment.end)
            is_known = self._passage.had_quote(span, segment.quote or "")
            at = self._find_around(self._passage.new_span(span) if is_known else span, segment.former)
        return self._place_at(replace(segment, former=None), at, segment.former)

    def _follow_edit(self, segment: Segment, wording: Wording) -> Segment | None:
        span = (segment.start, segment.end)
        if not self._passage.had_quote(span, wording.quote):  # it was made for another text than the old one
            return self._find_exact(segment, wording, [(0, len(self._new))])
        at, place = self._passage.unchanged_start(span), self._passage.new_span(span)
        if at is None:
            at = self._find_around(place, wording)
        if at is None:
            at = self._find_elsewhere(wording, place[0], self._passage.new_parts)
        return self._place_at(segment, at, wording) or self._accept_edited(segment, wording, place)

    def _find_exact(self, segment: Segment, wording: Wording, parts: Sequence[Span]) -> Segment | None:
        """The segment exactly at its old place, or elsewhere in or across one of *parts*."""
        at = self._exact_start(segment.start, wording)
        if at is None:
            at = self._find_elsewhere(wording, segment.start, parts)
        return self._place_at(segment, at, wording)

    def _place_at(self, segment: Segment, at: int | None, wording: Wording) -> Segment | None:
        return place_segment(segment, self._new, at, at + len(wording.quote)) if at is not None else None

    def _accept_edited(self, segment: Segment, wording: Wording, place: Span) -> Segment | None:
        """The segment after an edit within it that kept most of it."""
        start, end = place
        max_length = _MAX_GROWTH * len(wording.quote) + _ROOM_CHARACTERS
        kept_length = self._passage.kept_length((segment.start, segment.end))
        if not (start < end <= start + max_length) or kept_length < _MIN_KEPT_SHARE * len(wording.quote):
            return None
        return replace(place_segment(segment, self._new, start, end), former=segment.former or wording)

    def _exact_start(self, start: int, wording: Wording) -> int | None:
        """*start*, if the wording is exactly there, with all of its context; else None."""
        if not self._new.startswith(wording.quote, start):
            return None
        return start if self._context_score(start, wording) == _context_length(wording) else None

    def _find_around(self, place: Span, wording: Wording) -> int | None:
        """The nearest match at or across *place*, except text that was there before."""
        length = len(wording.quote)
        first, last = max(place[0] - length, 0), place[1] + length
        matches = [
            at
            for at in _occurrences(self._new, wording.quote, first, last)
            if at < max(place[1], place[0] + 1) and at + length > place[0]
            if not self._passage.is_unchanged((at, at + length))
        ]
        return self._best_match(matches, wording, place[0])

    def _find_elsewhere(self, wording: Wording, origin: int, parts: Sequence[Span]) -> int | None:
        """A match in or across *parts* with enough of its context; for a long quote also a single match without."""
        needle = wording.quote or wording.prefix + wording.suffix
        ahead = 0 if wording.quote else len(wording.prefix)
        places = {
            at + ahead
            for begin, end in parts
            for at in _occurrences(self._new, needle, max(0, begin - len(needle) + 1), end + len(needle) - 1)
        }
        if len(places) == 1 and len(wording.quote) >= LONG_QUOTE_CHARACTERS:
            return places.pop()
        fitting = [at for at in places if 2 * self._context_score(at, wording) >= _context_length(wording)]
        return self._best_match(fitting, wording, origin)

    def _best_match(self, matches: Sequence[int], wording: Wording, origin: int) -> int | None:
        return min(matches, key=lambda at: (-self._context_score(at, wording), abs(at - origin), at), default=None)

    def _context_score(self, at: int, wording: Wording) -> int:
        """The number of matching context characters at that place."""
        behind = at + len(wording.quote)
        return common_suffix(wording.prefix, self._new[max(0, at - len(wording.prefix)) : at]) + common_prefix(
            wording.suffix, self._new[behind : behind + len(wording.suffix)]
        )

    def _guess(self, segment: Segment, wording: Wording) -> Segment | None:
        """An approximate match of a longer quote, searched only for a limited number of segments."""
        if (
            not LONG_QUOTE_CHARACTERS <= len(wording.quote) <= _MAX_GUESSED_CHARACTERS
            or not self._guesses_left
            or not self._has_room(wording.quote)
        ):
            return None
        self._guesses_left -= 1
        for start in self._candidate_starts(wording.quote):
            first = max(0, start - _ROOM_CHARACTERS)
            span = _approximate_span(wording.quote, self._new[first : start + len(wording.quote) + _ROOM_CHARACTERS])
            if span is not None and not self._passage.is_unchanged((first + span[0], first + span[1])):
                guess = place_segment(segment, self._new, first + span[0], first + span[1])
                return replace(guess, former=segment.former or wording)
        return None

    def _has_room(self, quote: str) -> bool:
        """Whether there is enough new text to hold the quote."""
        return sum(end - begin for begin, end in self._passage.new_parts) >= _MIN_KEPT_SHARE * len(quote)

    def _candidate_starts(self, quote: str) -> list[int]:
        step = max(1, (len(quote) - _SEED_CHARACTERS) // 8)
        votes = Counter[int]()
        for offset in range(0, len(quote) - _SEED_CHARACTERS + 1, step):
            for number, at in enumerate(_occurrences(self._new, quote[offset : offset + _SEED_CHARACTERS], 0)):
                if number == 20:
                    break
                votes[max(0, at - offset) // _ROOM_CHARACTERS * _ROOM_CHARACTERS] += 1
        return [start for start, _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))[:3]]


def _occurrences(text: str, quote: str, first: int, last: int | None = None) -> Iterator[int]:
    """The positions of *quote* in *text* from *first* on, with its end before *last*."""
    at = text.find(quote, first, last) if quote else -1
    for _ in range(_MAX_OCCURRENCES):
        if at < 0:
            return
        yield at
        at = text.find(quote, at + 1, last)


def _context_length(wording: Wording) -> int:
    return len(wording.prefix) + len(wording.suffix)


def _approximate_span(quote: str, window: str) -> Span | None:
    """The part of *window* that equals *quote* except for a few changes; None if too much differs."""
    blocks = align(quote, window)
    if sum(block.size for block in blocks) < _MIN_LIKENESS * len(quote):
        return None
    first, last = blocks[0], blocks[-1]
    start = max(0, first.new - first.old)
    end = min(len(window), last.new + len(quote) - last.old)
    return (start, end) if end - start <= len(quote) / _MIN_LIKENESS else None
