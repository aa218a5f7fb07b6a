"""
The outline of a page: the byte spans of its top-level blocks and of the gaps between them, and its sections.

A section is the text below a heading up to the next of the same or a higher level.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import Any, NamedTuple

from markdown_it.token import Token

from mirrord.domain.dialect import Dialect
from mirrord.markdown.frontmatter.page_text import PageText, line_starts, split_lines
from mirrord.markdown.parser.dialect import ALONE, MAX_NESTING, Surroundings, parse, parse_blocks
from mirrord.markdown.parser.work_limit import OPAQUE, PARSER_ERRORS, PLACES_KEY, TEXTS_KEY

MAX_PAGE_CHARACTERS = 2_000_000  # a longer page is one opaque block
LIST_SEPARATOR = "<!-- -->"  # separates two lists; part of the gap, not a block

_BLANKS = " \t\r\n"
_NO_TOKEN = Token("", "", 0)
_WITH_TRAILING_BLANKS = frozenset(
    ["bullet_list_open", "ordered_list_open", "footnote_reference_open", "blockquote_open", "callout_open", OPAQUE]
)  # tokens whose lines include the blank lines after them


class Segment(NamedTuple):
    """
    One top-level block: the characters from start up to end, without the last line ending.

    tokens: None if the block is opaque: beyond a limit of the parser.
    """

    start: int
    end: int
    tokens: Sequence[Token] | None


@dataclass(frozen=True, slots=True)
class Outline:
    """
    The body of a page, split into blocks.

    surroundings: the only influence on a block's meaning besides its own lines.
    steps_used, steps_left: the used and the unused part of the steps allowed for a page of this length.
    """

    body: str
    segments: Sequence[Segment]
    surroundings: Surroundings
    steps_used: int = 0
    steps_left: int = 0

    def source(self, index: int) -> str:
        """The exact source of a block."""
        segment = self.segments[index]
        return self.body[segment.start : segment.end]

    def gap(self, index: int) -> str:
        """The text after a block up to the next one or the end, with its line ending; -1: before the first block."""
        start = self.segments[index].end if index >= 0 else 0
        end = self.segments[index + 1].start if index + 1 < len(self.segments) else len(self.body)
        return self.body[start:end]

    def token_starts(self, index: int, tokens: Iterable[Token]) -> list[int]:
        """Where *tokens* of a block begin in the body. Their lines count from any line, the same one for the block."""
        segment = self.segments[index]
        origin = (segment.tokens or [_NO_TOKEN])[0].map or (0, 0)
        offsets = line_starts(self.source(index))
        return [segment.start + offsets[token.map[0] - origin[0]] for token in tokens if token.map]


def splice_tokens(
    old: Sequence[Token], new: Sequence[Token], ends: tuple[int, int], new_ends: tuple[int, int]
) -> Sequence[Token] | None:
    """
    The tokens *old* of a block with those of *new* between two parts that both have; None if lines came or went.

    ends, new_ends: where the first and the last of those two parts begin. The tokens of *new* become the block's.
    """
    (first, last), (new_first, new_last) = ends, new_ends
    shift, height = _line_of(old, first) - _line_of(new, new_first), _line_of(old, last) - _line_of(old, first)
    if _line_of(new, new_last) - _line_of(new, new_first) != height:
        return None
    behind_old, behind_new = _end_of_part(old, first), _end_of_part(new, new_first)
    between = new[behind_new:new_last]
    for token in between:
        if token.map:
            token.map = [line + shift for line in token.map]
    return [*old[:behind_old], *between, *old[last:]]


def _line_of(tokens: Sequence[Token], at: int) -> int:
    return (tokens[at].map or [0])[0]


def _end_of_part(tokens: Sequence[Token], start: int) -> int:
    level = tokens[start].level
    closing = (at for at in range(start + 1, len(tokens)) if tokens[at].level == level and tokens[at].nesting < 0)
    return next(closing) + 1


@dataclass(frozen=True, slots=True)
class Region:
    """
    The complete lines of one block at any depth, with the prefixes of its containers.

    kind: the type of its token; `inline` is running text.
    """

    kind: str
    start: int
    end: int


def regions_of(body: str, dialect: Dialect = Dialect.PLAIN) -> list[Region]:
    """The innermost blocks and tables of *body*, in order; a single one of kind `opaque` if it cannot be parsed."""
    env: dict[str, Any] = {PLACES_KEY: []}
    try:
        is_cut = len(body) <= MAX_PAGE_CHARACTERS and parse_blocks(body, env, dialect) is not None
    except PARSER_ERRORS:
        is_cut = False
    return _regions_of_places(body, env[PLACES_KEY]) if is_cut else [Region("opaque", 0, len(body))]


def _regions_of_places(body: str, places: Iterable[tuple[str, int, int]]) -> list[Region]:
    offsets = line_starts(body)
    return [Region(kind, offsets[first], offsets[behind]) for kind, first, behind in dict.fromkeys(places)]


def outline_of(
    body: str,
    surroundings: Surroundings = ALONE,
    within: list[Region] | None = None,
    parsed_texts: Mapping[str, list[Token]] = MappingProxyType({}),
) -> Outline:
    """
    *body* split into blocks; never raises.

    surroundings: with definitions from elsewhere, if *body* is not a whole page.
    within: receives the `regions` of *body*; stays empty if it cannot be parsed.
    parsed_texts: the tokens in texts that were parsed before in these surroundings, by content.
    """
    if len(body) > MAX_PAGE_CHARACTERS:
        return unparsed_outline(body, surroundings)
    env: dict[str, Any] = {"references": dict(surroundings.references), TEXTS_KEY: parsed_texts}
    if within is not None:
        env[PLACES_KEY] = []
    try:
        tokens = parse(body, env, surroundings.dialect)
    except PARSER_ERRORS:
        return unparsed_outline(body, surroundings)
    if within is not None:
        within += _regions_of_places(body, env[PLACES_KEY])
    spare = env.get("looks", 0)
    segments = _split_body(body, tokens, flawed=OPAQUE in env)
    surroundings = surroundings._replace(references=env["references"])
    return Outline(body, segments, surroundings, env.get("allowed", 0) - spare, spare)


def unparsed_outline(body: str, surroundings: Surroundings = ALONE) -> Outline:
    """*body* as one opaque block."""
    return Outline(body, [Segment(0, len(body), None)], surroundings)


def _split_body(body: str, tokens: Sequence[Token], *, flawed: bool) -> list[Segment]:
    offsets = line_starts(body)
    result = []
    for block in _top_level_blocks(tokens):
        first, last = block[0].map or (0, 0)
        if block[0].type in _WITH_TRAILING_BLANKS:
            while last - 1 > first and not body[offsets[last - 1] : offsets[last]].strip(_BLANKS):
                last -= 1
        end = offsets[last - 1] + len(body[offsets[last - 1] : offsets[last]].rstrip("\r\n"))
        if block[0].type == "html_block" and body[offsets[first] : end].strip(_BLANKS) == LIST_SEPARATOR:
            continue
        result.append(Segment(offsets[first], end, block if _is_within_limits(block, flawed=flawed) else None))
    return result


def _top_level_blocks(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    start = 0
    for last in [index for index, token in enumerate(tokens) if not token.level and token.nesting < 1]:
        yield tokens[start : last + 1]
        start = last + 1


def _is_within_limits(block: Sequence[Token], *, flawed: bool) -> bool:
    """Whether the block is within all limits. flawed: some token of the page is opaque."""
    if len(block) > MAX_NESTING and any(token.level >= MAX_NESTING - 1 for token in block):
        return False
    return not flawed or not any(token.type == OPAQUE or OPAQUE in token.meta for token in block)


_HEADING_NAME = re.compile(r"(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_WITHIN = " > "  # between the name of a section and that of one in it
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
    headings = _find_headings(page)
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

    name: a title; with `#` before it, of that level only; with `#2` after it, the second one; with ` > ` between two
        of these, the second one within the section of the first.
    """
    matching = _match_name(sections, name)
    above, separator, inner = name.rpartition(_WITHIN)
    if matching or not separator:
        return matching
    outer = find_sections(sections, above)
    below = [section for section in sections if any(each.start < section.start < each.end for each in outer)]
    return _match_name(below, inner)


def _match_name(sections: list[Section], name: str) -> list[Section]:
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


def _find_headings(page: PageText) -> list[tuple[int, str, int, int]]:
    """Level, title, start of the heading, and start of the line after it."""
    body = page.body
    try:
        tokens = parse_blocks(body, None, page.dialect) if len(body) <= MAX_PAGE_CHARACTERS else None
    except PARSER_ERRORS:
        tokens = None
    offsets = [0, *accumulate(map(len, split_lines(body)))]
    headings = []
    for number, token in enumerate(tokens or ()):
        if token.type == "heading_open" and token.level == 0 and token.map and tokens:
            title = " ".join(tokens[number + 1].content.split())
            headings.append((int(token.tag[1]), title, offsets[token.map[0]], offsets[token.map[1]]))
    return headings
