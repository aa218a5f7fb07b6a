"""
Read a page again after an edit and parse only the blocks that may have changed.

The parser keeps no state between top-level blocks: its result for the remaining text of a page depends on that text
and on reference definitions only. So parsing may begin at an old block after a blank line, if its lines and the line
ending after them are unchanged, and may stop where an old block begins in the unchanged end. A paragraph or heading
ends at a blank line in any case, so beside one nothing but the changed blocks is parsed; any other neighbour is
parsed, too, to see whether it is as before. Constructs that can reach beyond their block (`_FAR_REACHING`) break this
argument, and so does the syntax of other programs; then the whole page is read.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from markdown_it.token import Token

from mirrord.domain.dialect import Dialect
from mirrord.markdown.frontmatter.page_text import split_lines
from mirrord.markdown.parser.dialect import Surroundings
from mirrord.markdown.parser.foreign_syntax import CONSTRUCTS
from mirrord.markdown.read.item_reparse import find_changed_items, read_changed_items, tokens_of_changed_items
from mirrord.markdown.read.page_outline import MAX_PAGE_CHARACTERS, Outline, Segment, outline_of
from mirrord.markdown.read.reader import read_nodes
from mirrord.markdown.read.row_reparse import find_changed_rows, read_changed_rows, tokens_of_changed_rows
from mirrord.markdown.schema.block import Block, blocks_of, common_length, count_common_ends

_FAR_REACHING = re.compile(  # comments, formulas, which end in other blocks and items, definitions, toggles
    r"%%|\$\$|\]:|</?(?:details|summary)", re.IGNORECASE
)
_TOGGLE = re.compile(r"<(?i:details)")  # a toggle above could end here now, or no longer end here
_MAX_STEPS_LOST_PER_CHARACTER = 8  # steps; the most by which the parser's budget shrinks with each removed character
_BLANKS = " \t\r\n"
_TEXTS = ("paragraph_open", "heading_open")


@dataclass(frozen=True, slots=True)
class Reading:
    """
    The parsed body of a page.

    spans: start and end of each block, as in `segments.Segment`. blocks: the blocks, as many as spans.
    surroundings: as in `segments.Outline`, except for the line numbers of references.
    opaque: some block exceeded a limit of the parser.
    spent, spare: as in `segments.Outline`; after a partial reading an upper and a lower bound.
    outline: of the whole page; None if only a part of a block was read again, and got more or fewer lines. The lines
    of its tokens count from any line, the same for those of one block.
    """

    body: str
    spans: Sequence[tuple[int, int]]
    blocks: Sequence[Block]
    surroundings: Surroundings
    opaque: bool
    spent: int
    spare: int
    outline: Outline | None = field(default=None, compare=False, repr=False)


def read_whole(body: str, dialect: Dialect = Dialect.PLAIN) -> Reading:
    """Read all of *body*; never raises."""
    return reading_of(outline_of(body, Surroundings(dialect=dialect)))


def reading_of(page: Outline) -> Reading:
    """The reading of a page that is split into blocks already."""
    return Reading(
        page.body,
        [(segment.start, segment.end) for segment in page.segments],
        blocks_of(read_nodes(page)),
        page.surroundings,
        opaque=any(segment.tokens is None for segment in page.segments),
        spent=page.steps_used,
        spare=page.steps_left,
        outline=page,
    )


def read_after_edit(
    before: Reading, body: str, parsed_texts: Mapping[str, list[Token]] = MappingProxyType({})
) -> Reading | None:
    """
    The result of `read_whole` for *body*, derived from the reading *before* an edit; None: read the whole page.

    parsed_texts: the tokens in texts of the page before the edit, by content.
    """
    if len(body) > MAX_PAGE_CHARACTERS or before.opaque or CONSTRUCTS[before.surroundings.dialect]:
        return None
    head, tail = _common_ends(before.body, body)
    if (reading := _read_within_block(before, body, (head, tail), parsed_texts)) is not None:
        return reading
    first = _first_block_to_parse(before, head)
    kept_from = bisect_left(
        before.spans, (len(before.body) - tail,)
    )  # the first block that begins in the unchanged rest
    kept_from += _is_joined(before, kept_from, body)
    changed = _Changed(body, first, kept_from, min(kept_from + 1, len(before.spans)))
    if _reaches_far(before, first, changed.text_in(before, before.body), changed.text_in(before, body)):
        return None
    narrow = _without_neighbours(before, head, changed)
    reading = _read_blocks(before, narrow, parsed_texts)
    return _read_blocks(before, changed, parsed_texts) if reading is None and narrow != changed else reading


class _Changed(NamedTuple):
    """
    The blocks of a page that an edit may have changed, by their numbers before it.

    first: of those to parse; kept_from: the first that is as before; behind: the first that is not parsed.
    """

    body: str
    first: int
    kept_from: int
    behind: int

    def text_in(self, before: Reading, body: str) -> str:
        """The text to parse in *body*, which is the page before or after the edit."""
        shift = len(body) - len(before.body)
        return body[self.start_in(before) : _start_of_block(before, self.behind) + shift]

    def start_in(self, before: Reading) -> int:
        """Where that text begins."""
        return _start_of_block(before, self.first) if self.first else 0


def _is_joined(before: Reading, index: int, body: str) -> bool:
    """Whether an edit took the blank line away that a block had above it, so that it may be part of another one."""
    if not 0 < index < len(before.spans):
        return False
    start = before.spans[index][0]
    above = body[: start + len(body) - len(before.body)]
    gap = above[len(above.rstrip(_BLANKS)) :]
    return _is_blank_line_last(before.body[before.spans[index - 1][1] : start]) and not _is_blank_line_last(gap)


def _start_of_block(before: Reading, index: int) -> int:
    return before.spans[index][0] if index < len(before.spans) else len(before.body)


def _without_neighbours(before: Reading, head: int, changed: _Changed) -> _Changed:
    """The same without unchanged blocks that in any case end, or begin, where they did."""
    if before.outline is None:
        return changed
    above = bisect_left(before.spans, head, key=lambda span: span[1]) - 1
    if above >= changed.first and _start_of_block(before, above + 1) <= head and _ends_by_itself(before.outline, above):
        changed = changed._replace(first=above + 1)
    if changed.first < changed.kept_from < len(before.spans) and _ends_by_itself(before.outline, changed.kept_from - 1):
        shorter = changed._replace(behind=changed.kept_from)
        return shorter if shorter.text_in(before, changed.body).strip(_BLANKS) else changed
    return changed


def _ends_by_itself(page: Outline, index: int) -> bool:
    """Whether a block is a text with a blank line behind it: any other one may go on, if the next lines fit."""
    tokens, gap = page.segments[index].tokens, page.gap(index)
    return tokens is not None and tokens[0].type in _TEXTS and gap.endswith("\n") and _is_blank_line_last(gap)


def _read_blocks(before: Reading, changed: _Changed, parsed_texts: Mapping[str, list[Token]]) -> Reading | None:
    """The page after an edit, of which only the *changed* blocks are parsed; None if others may have changed."""
    body, first, kept_from, behind = changed
    start, shift = changed.start_in(before), len(body) - len(before.body)
    part = outline_of(changed.text_in(before, body), before.surroundings, parsed_texts=parsed_texts)
    reading = reading_of(part)
    spent, spare = (
        before.spent + reading.spent,
        before.spare - reading.spent + min(shift, 0) * _MAX_STEPS_LOST_PER_CHARACTER,
    )
    if reading.opaque or spare < 0:
        return None
    spans, blocks = [(start + a, start + b) for a, b in reading.spans], list(reading.blocks)
    if kept_from < behind:
        if not spans or spans.pop() != _shift_span(before.spans[kept_from], shift):
            return None
        blocks.pop()
    elif kept_from < len(before.spans) and not (spans and _ends_by_itself(part, len(spans) - 1)):
        return None
    between = [_shift_segment(segment, start) for segment in part.segments[: len(spans)]]
    return Reading(
        body,
        [*before.spans[:first], *spans, *(_shift_span(span, shift) for span in before.spans[kept_from:])],
        [*before.blocks[:first], *_reuse_blocks(before.blocks[first:kept_from], blocks), *before.blocks[kept_from:]],
        before.surroundings,
        opaque=False,
        spent=spent,
        spare=spare,
        outline=_join_outline(before, body, first, between, kept_from, shift),
    )


def _join_outline(
    before: Reading, body: str, first: int, between: Sequence[Segment], kept_from: int, shift: int
) -> Outline | None:
    if before.outline is None:
        return None
    segments = before.outline.segments
    below = [_shift_segment(segment, shift) for segment in segments[kept_from:]]
    return Outline(body, [*segments[:first], *between, *below], before.surroundings)


def _shift_segment(segment: Segment, shift: int) -> Segment:
    return Segment(segment.start + shift, segment.end + shift, segment.tokens)


def _read_within_block(
    before: Reading, body: str, ends: tuple[int, int], parsed_texts: Mapping[str, list[Token]]
) -> Reading | None:
    """As read_after_edit() where only parts of one list or table may have changed; *ends*: lengths of what did not."""
    page, (head, tail) = before.outline, ends
    index = bisect_right(before.spans, head, key=lambda span: span[0]) - 1
    if page is None or index < 0 or len(before.body) - tail > before.spans[index][1]:
        return None
    node = before.blocks[index].nodes[0]
    items = find_changed_items(page, index, node, head, tail)
    rows = find_changed_rows(page, index, node, head, tail)
    parts = items or rows
    if parts is None:
        return None
    shift = len(body) - len(before.body)
    changed_text = body[parts.start : parts.end + shift]
    if _reaches_far(before, index, before.body[parts.start : parts.end], changed_text):
        return None
    now = outline_of((rows.head if rows else "") + changed_text, before.surroundings, parsed_texts=parsed_texts)
    spare = before.spare - now.steps_used + min(shift, 0) * _MAX_STEPS_LOST_PER_CHARACTER
    if rows:
        new_node = read_changed_rows(node, rows, now)
    else:
        new_node = read_changed_items(page, index, node, items, now) if items else None
    if new_node is None or spare < 0:
        return None
    tokens = tokens_of_changed_rows(page, index, rows, now) if rows else None
    tokens = tokens_of_changed_items(page, index, items, now) if items else tokens
    (start, end), below = before.spans[index], before.spans[index + 1 :]
    return Reading(
        body,
        [*before.spans[:index], (start, end + shift), *(_shift_span(span, shift) for span in below)],
        [*before.blocks[:index], *blocks_of([new_node]), *before.blocks[index + 1 :]],
        before.surroundings,
        opaque=False,
        spent=before.spent + now.steps_used,
        spare=spare,
        outline=_join_outline(before, body, index, [Segment(start, end + shift, tokens)], index + 1, shift)
        if tokens
        else None,
    )


def _common_ends(old: str, new: str) -> tuple[int, int]:
    """The lengths of the common prefix and suffix, which do not overlap."""
    shorter = min(len(old), len(new))
    head = common_length(shorter, lambda a, b: old[a:b] == new[a:b])
    tail = common_length(
        shorter - head, lambda a, b: old[len(old) - b : len(old) - a] == new[len(new) - b : len(new) - a]
    )
    return head, tail


def _first_block_to_parse(before: Reading, head: int) -> int:
    """The first block to parse: the last one before the edit that follows a blank line, or the first of all."""
    first = bisect_left(before.spans, head, key=lambda span: span[1]) - 1
    while first > 0 and not _is_blank_line_last(before.body[before.spans[first - 1][1] : before.spans[first][0]]):
        first -= 1
    return max(first, 0)


def _is_blank_line_last(gap: str) -> bool:
    gap_lines = split_lines(gap)
    return len(gap_lines) > 1 and not gap_lines[-1].strip(_BLANKS)


def _reaches_far(before: Reading, first: int, old: str, new: str) -> bool:
    """Whether the part that was *old* and is *new* may interact with distant blocks."""
    if _FAR_REACHING.search(old) or _FAR_REACHING.search(new):
        return True
    if not first:
        return False
    above = _TOGGLE.finditer(before.body, 0, before.spans[first - 1][1])
    holders = (bisect_right(before.spans, match.start(), key=lambda span: span[0]) - 1 for match in above)
    return any(before.blocks[index].kind != "details" for index in holders if index >= 0)


def _shift_span(span: tuple[int, int], shift: int) -> tuple[int, int]:
    return span[0] + shift, span[1] + shift


def _reuse_blocks(old: Sequence[Block], new: list[Block]) -> list[Block]:
    """*new*, with the equal blocks at both ends taken from *old*."""
    start, end = count_common_ends(old, new)
    return [*old[:start], *new[start : len(new) - end], *old[len(old) - end :]]
