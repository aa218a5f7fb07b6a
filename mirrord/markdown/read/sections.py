"""The sections of a page: the text below each heading up to the next of the same or a higher level."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from mirrord.markdown.frontmatter.page_text import PageText, split_lines
from mirrord.markdown.parser.dialect import parse_blocks
from mirrord.markdown.parser.work_limit import PARSER_ERRORS
from mirrord.markdown.read.block_spans import MAX_PAGE_CHARACTERS

_HEADING_NAME = re.compile(r"(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_NUMBERED_NAME = re.compile(r"(.+?)[ \t]*#([1-9][0-9]{0,2})")


@dataclass(frozen=True, slots=True)
class Section:
    """
    A heading and its section. Offsets are code points of the whole text.

    title: as written in Markdown. start: of the heading; content: of the line after it; own_end: start of the next
    heading of any level, end: of the next one of the same level or above; both the end of the text if there is none.
    """

    level: int
    title: str
    start: int
    content: int
    own_end: int
    end: int


def sections_of(page: PageText) -> list[Section]:
    """The sections of *page* in order; none if it cannot be parsed. Headings in quotes and lists do not count."""
    headings = _find_headings(page.body)
    offset = len(page.text) - len(page.body)
    starts = [*(offset + start for _, _, start, _ in headings), len(page.text)]
    ends = next_at_or_above([level for level, *_ in headings])
    return [
        Section(level, title, starts[number], offset + content, starts[number + 1], starts[ends[number]])
        for number, (level, title, _, content) in enumerate(headings)
    ]


def next_at_or_above(levels: Sequence[int]) -> list[int]:
    """For each of *levels* the index of the next one that is the same or above; the length if there is none."""
    next_index = [len(levels)] * len(levels)
    open_indexes: list[int] = []
    for number, level in enumerate(levels):
        while open_indexes and levels[open_indexes[-1]] >= level:
            next_index[open_indexes.pop()] = number
        open_indexes.append(number)
    return next_index


def find_sections(sections: list[Section], name: str) -> list[Section]:
    """
    The sections that *name* may mean: with exactly that title, else ignoring case, else the one with that number.

    name: a title; with `#` before it, of that level only; with `#2` after it, the second one.
    """
    marks = _HEADING_NAME.fullmatch(name.strip())
    level, title = (len(marks[1]), marks[2]) if marks else (0, name.strip())
    of_level = [section for section in sections if level in (0, section.level)]
    titled = _sections_titled(of_level, title)
    counted = _NUMBERED_NAME.fullmatch(title)
    if titled or counted is None:
        return titled
    number = int(counted[2])
    return _sections_titled(of_level, counted[1])[number - 1 : number]


def _sections_titled(sections: list[Section], title: str) -> list[Section]:
    exact = [section for section in sections if section.title == title]
    return exact or [section for section in sections if _fold(section.title) == _fold(title)]


def heading_line(section: Section) -> str:
    """The heading as one line: `## Title`."""
    return f"{'#' * section.level} {section.title}"


def _fold(title: str) -> str:
    return " ".join(title.casefold().split())


def _find_headings(body: str) -> list[tuple[int, str, int, int]]:
    """Level, title, start of the heading, and start of the line after it."""
    try:
        tokens = parse_blocks(body) if len(body) <= MAX_PAGE_CHARACTERS else None
    except PARSER_ERRORS:
        tokens = None
    offsets = [0, *accumulate(map(len, split_lines(body)))]
    headings = []
    for number, token in enumerate(tokens or ()):
        if token.type == "heading_open" and token.level == 0 and token.map and tokens:
            title = " ".join(tokens[number + 1].content.split())
            headings.append((int(token.tag[1]), title, offsets[token.map[0]], offsets[token.map[1]]))
    return headings
