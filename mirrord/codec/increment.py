"""
Reading a page again after an edit: only blocks that may have changed are parsed, the others stay the same objects.

Between top-level blocks the parser remembers nothing: what it makes of the rest of a page depends on that rest only,
and on reference definitions. So parsing may begin at an old block behind a blank line, whose own lines and the line
ending behind them are unchanged, and may stop where an old block begins in the unchanged rest. What is not bounded by
the blocks it stands in (`_FAR_REACHING`) makes this unprovable; then the page is read as a whole.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mirrord.codec.block import Block, blocks_of, ends
from mirrord.codec.reader import nodes
from mirrord.codec.segments import MAX_CHARACTERS, Outline, Region, outline, uncut
from mirrord.codec.text import lines

_FAR_REACHING = re.compile(r"%%|\]:|</?(?:details|summary)", re.IGNORECASE)  # comments, definitions, toggles
_TOGGLE = re.compile(r"<(?i:details)")  # one further up could end here, or not end here any more
_SHRINKING = 8  # how much less work at most is allowed for a page that is one character shorter
_BLANKS = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Reading:
    """
    A page's body as it was read.

    spans: where each block begins and ends, as in `segments.Segment`. blocks: what each is; the same number.
    references: as in `segments.Outline`, but for the lines they stand in.
    opaque: some block was over a limit of the parser.
    spent, spare: as in `segments.Outline`; of a page read again, at most and at least.
    """

    body: str
    spans: Sequence[tuple[int, int]]
    blocks: Sequence[Block]
    references: Mapping[str, Any]
    opaque: bool
    spent: int
    spare: int


def read_whole(body: str, within: list[Region] | None = None) -> Reading:
    """*body*, read; never raises. within: as in `outline`."""
    return _read(body, {}, within)


def unread(body: str) -> Reading:
    """*body* as one opaque block, without looking into it."""
    return reading_of(uncut(body))


def reading_of(page: Outline) -> Reading:
    """What `read_whole` makes of a page that is cut into blocks already."""
    return Reading(
        page.body,
        [(segment.start, segment.end) for segment in page.segments],
        blocks_of(nodes(page)),
        page.references,
        opaque=any(segment.tokens is None for segment in page.segments),
        spent=page.spent,
        spare=page.spare,
    )


def reread(before: Reading, body: str) -> Reading | None:
    """What `read_whole` makes of *body*, made of *before* where an edit left it; None: only that can tell."""
    if len(body) > MAX_CHARACTERS or before.opaque:
        return None
    head, tail = _unchanged(before.body, body)
    first = _first(before, head)
    rest = bisect_left(before.spans, (len(before.body) - tail,))  # the first block that begins in the unchanged rest
    start = before.spans[first][0] if first else 0
    end = before.spans[rest + 1][0] if rest + 1 < len(before.spans) else len(before.body)
    shift = len(body) - len(before.body)
    part = body[start : end + shift]
    if _reaches_far(before, first, before.body[start:end], part):
        return None
    found = _read(part, before.references)
    spent, spare = before.spent + found.spent, before.spare - found.spent + min(shift, 0) * _SHRINKING
    if found.opaque or spare < 0:
        return None
    spans, blocks = [(start + a, start + b) for a, b in found.spans], list(found.blocks)
    if rest < len(before.spans):
        if not spans or spans.pop() != _shifted(before.spans[rest], shift):
            return None
        blocks.pop()
    return Reading(
        body,
        [*before.spans[:first], *spans, *(_shifted(span, shift) for span in before.spans[rest:])],
        [*before.blocks[:first], *_known(before.blocks[first:rest], blocks), *before.blocks[rest:]],
        before.references,
        opaque=False,
        spent=spent,
        spare=spare,
    )


def _read(body: str, references: Mapping[str, Any], within: list[Region] | None = None) -> Reading:
    return reading_of(outline(body, references, within))


def _unchanged(old: str, new: str) -> tuple[int, int]:
    """How many characters are the same at the beginning, and how many others at the end."""
    most = min(len(old), len(new))
    head = _common(most, lambda a, b: old[a:b] == new[a:b])
    tail = _common(most - head, lambda a, b: old[len(old) - b : len(old) - a] == new[len(new) - b : len(new) - a])
    return head, tail


def _common(most: int, is_equal: Callable[[int, int], bool]) -> int:
    """The highest count up to *most* before which all *is_equal*, as it can be asked of any stretch."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_equal(low, middle) else (low, middle - 1)
    return low


def _first(before: Reading, head: int) -> int:
    """The block to begin with: the last one that ended before the edit and stands behind a blank line, or the first."""
    first = bisect_left(before.spans, head, key=lambda span: span[1]) - 1
    while first > 0 and not _is_behind_blank(before.body[before.spans[first - 1][1] : before.spans[first][0]]):
        first -= 1
    return max(first, 0)


def _is_behind_blank(gap: str) -> bool:
    written = lines(gap)
    return len(written) > 1 and not written[-1].strip(_BLANKS)


def _reaches_far(before: Reading, first: int, old: str, new: str) -> bool:
    """Whether the part that was *old* and is *new* has to do with what is not beside it."""
    if _FAR_REACHING.search(old) or _FAR_REACHING.search(new):
        return True
    if not first:
        return False
    above = _TOGGLE.finditer(before.body, 0, before.spans[first - 1][1])
    holders = (bisect_right(before.spans, found.start(), key=lambda span: span[0]) - 1 for found in above)
    return any(before.blocks[index].kind != "details" for index in holders if index >= 0)


def _shifted(span: tuple[int, int], shift: int) -> tuple[int, int]:
    return span[0] + shift, span[1] + shift


def _known(old: Sequence[Block], new: list[Block]) -> list[Block]:
    """*new*, of *old* what is equal at both ends."""
    start, end = ends(old, new)
    return [*old[:start], *new[start : len(new) - end], *old[len(old) - end :]]
