"""The byte spans of a page's top-level blocks and of the gaps between them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from markdown_it.token import Token

from mirrord.markdown.frontmatter.page_text import line_starts
from mirrord.markdown.parser.dialect import MAX_NESTING, parse, parse_blocks
from mirrord.markdown.parser.work_limit import OPAQUE, PARSER_ERRORS, PLACES_KEY

MAX_PAGE_CHARACTERS = 2_000_000  # a longer page is one opaque block
LIST_SEPARATOR = "<!-- -->"  # separates two lists; part of the gap, not a block

_BLANKS = " \t\r\n"
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

    references: the reference definitions, the only influence of other blocks on a block's meaning.
    steps_used, steps_left: the used and the unused part of the steps allowed for a page of this length.
    """

    body: str
    segments: Sequence[Segment]
    references: Mapping[str, Any]
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


@dataclass(frozen=True, slots=True)
class Region:
    """
    The complete lines of one block at any depth, with the prefixes of its containers.

    kind: the type of its token; `inline` is running text.
    """

    kind: str
    start: int
    end: int


def regions_of(body: str) -> list[Region]:
    """The innermost blocks and tables of *body*, in order; a single one of kind `opaque` if it cannot be parsed."""
    env: dict[str, Any] = {PLACES_KEY: []}
    try:
        is_cut = len(body) <= MAX_PAGE_CHARACTERS and parse_blocks(body, env) is not None
    except PARSER_ERRORS:
        is_cut = False
    return _regions_of_places(body, env[PLACES_KEY]) if is_cut else [Region("opaque", 0, len(body))]


def _regions_of_places(body: str, places: Iterable[tuple[str, int, int]]) -> list[Region]:
    offsets = line_starts(body)
    return [Region(kind, offsets[first], offsets[behind]) for kind, first, behind in dict.fromkeys(places)]


def outline_of(
    body: str, references: Mapping[str, Any] = MappingProxyType({}), within: list[Region] | None = None
) -> Outline:
    """
    *body* split into blocks; never raises.

    references: definitions from elsewhere, if *body* is not a whole page.
    within: receives the `regions` of *body*; stays empty if it cannot be parsed.
    """
    if len(body) > MAX_PAGE_CHARACTERS:
        return unparsed_outline(body, references)
    env: dict[str, Any] = {"references": dict(references)}
    if within is not None:
        env[PLACES_KEY] = []
    try:
        tokens = parse(body, env)
    except PARSER_ERRORS:
        return unparsed_outline(body, references)
    if within is not None:
        within += _regions_of_places(body, env[PLACES_KEY])
    spare = env.get("looks", 0)
    return Outline(
        body, _split_body(body, tokens, flawed=OPAQUE in env), env["references"], env.get("allowed", 0) - spare, spare
    )


def unparsed_outline(body: str, references: Mapping[str, Any] = MappingProxyType({})) -> Outline:
    """*body* as one opaque block."""
    return Outline(body, [Segment(0, len(body), None)], references)


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
