"""The sections of a page: what stands below each heading, up to the next of its level or above."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from mirrord.codec.bounds import TRIPS
from mirrord.codec.dialect import parse_blocks
from mirrord.codec.frontmatter import split
from mirrord.codec.segments import MAX_CHARACTERS
from mirrord.codec.text import lines

_MARKS = re.compile(r"(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_COUNTED = re.compile(r"(.+?)[ \t]*#([1-9][0-9]{0,2})")


@dataclass(frozen=True, slots=True)
class Section:
    """
    A heading and what belongs to it. Offsets are code points of the whole text.

    title: as it stands in Markdown. start: of the heading; content: where the line behind it begins; own_end: where
    the next heading of any level begins, end: the next of the same level or above, or the text ends.
    """

    level: int
    title: str
    start: int
    content: int
    own_end: int
    end: int


def sections_of(text: str) -> list[Section]:
    """The sections of *text* in order; none where it cannot be cut. Headings in quotes and lists begin none."""
    body = split(text).body
    headings = _headings(body)
    offset = len(text) - len(body)
    starts = [*(offset + start for _, _, start, _ in headings), len(text)]
    ends = following([level for level, *_ in headings])
    return [
        Section(level, title, starts[number], offset + content, starts[number + 1], starts[ends[number]])
        for number, (level, title, _, content) in enumerate(headings)
    ]


def following(levels: Sequence[int]) -> list[int]:
    """For each of *levels* where the next is that is the same or above; behind the last if there is none."""
    found = [len(levels)] * len(levels)
    open_ones: list[int] = []
    for number, level in enumerate(levels):
        while open_ones and levels[open_ones[-1]] >= level:
            found[open_ones.pop()] = number
        open_ones.append(number)
    return found


def named(sections: list[Section], name: str) -> list[Section]:
    """
    Those that *name* may mean: of exactly that title, else of that title without case, else the one it counts to.

    name: a title, or with `#` before it, of that level only; with `#2` behind it, the second of those.
    """
    marks = _MARKS.fullmatch(name.strip())
    level, title = (len(marks[1]), marks[2]) if marks else (0, name.strip())
    of_level = [section for section in sections if level in (0, section.level)]
    found = _titled(of_level, title)
    counted = _COUNTED.fullmatch(title)
    if found or counted is None:
        return found
    number = int(counted[2])
    return _titled(of_level, counted[1])[number - 1 : number]


def _titled(sections: list[Section], title: str) -> list[Section]:
    exact = [section for section in sections if section.title == title]
    return exact or [section for section in sections if _folded(section.title) == _folded(title)]


def shown(section: Section) -> str:
    """The heading on a line: `## Title`."""
    return f"{'#' * section.level} {section.title}"


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())


def _headings(body: str) -> list[tuple[int, str, int, int]]:
    """Level, title, where the heading begins and where the line behind it does."""
    try:
        tokens = parse_blocks(body) if len(body) <= MAX_CHARACTERS else None
    except TRIPS:
        tokens = None
    offsets = [0, *accumulate(map(len, lines(body)))]
    found = []
    for number, token in enumerate(tokens or ()):
        if token.type == "heading_open" and token.level == 0 and token.map and tokens:
            title = " ".join(tokens[number + 1].content.split())
            found.append((int(token.tag[1]), title, offsets[token.map[0]], offsets[token.map[1]]))
    return found
