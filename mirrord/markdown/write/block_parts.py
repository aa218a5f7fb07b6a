"""
Split lines into blocks or list items, and keep the gaps between them.

Lines have neither line endings nor the prefixes of their containers here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import accumulate, pairwise

from markdown_it.token import Token

from mirrord.errors import Damaged
from mirrord.markdown.parser.dialect import Surroundings
from mirrord.markdown.read.page_outline import LIST_SEPARATOR, Outline, outline_of
from mirrord.markdown.read.reader import read_nodes
from mirrord.markdown.schema.block import Block, block_of
from mirrord.markdown.schema.document import Node
from mirrord.markdown.write.block_writer import MARKERS_OF_LISTS, can_follow_directly


@dataclass(frozen=True, slots=True)
class Line:
    """
    A line of a result.

    at: the number of the unchanged old line; None: a new line.
    replaced: the number of the old line that a new one replaces in its place.
    """

    text: str
    at: int | None = None
    replaced: int | None = None

    def shifted(self, count: int) -> "Line":
        """The line where *count* more old lines are counted before it."""
        at, replaced = (None if number is None else number + count for number in (self.at, self.replaced))
        return Line(self.text, at, replaced)


@dataclass(frozen=True, slots=True)
class Part:
    """
    A block or item and its lines, from start up to end.

    tokens: the block's tokens, with lines counted from the first; empty if it is opaque.
    """

    block: Block
    start: int
    end: int
    tokens: Sequence[Token]

    @property
    def node(self) -> Node:
        """Its normal form."""
        return self.block.normal_form


@dataclass(frozen=True, slots=True)
class SplitLines:
    """
    Lines split into parts; parts without meaning (lone breaks) belong to the gaps.

    surroundings: those that the parts were read in.
    """

    lines: Sequence[str]
    parts: Sequence[Part]
    surroundings: Surroundings

    def lines_of_part(self, index: int) -> list[Line]:
        """The lines of a part."""
        return self._between(self.parts[index].start, self.parts[index].end)

    def gap_after(self, index: int) -> list[Line]:
        """The lines after a part up to the next one or the end; index -1: those before the first part."""
        start = self.parts[index].end if index >= 0 else 0
        end = self.parts[index + 1].start if index + 1 < len(self.parts) else len(self.lines)
        return self._between(start, end)

    def _between(self, start: int, end: int) -> list[Line]:
        return [Line(self.lines[at], at) for at in range(start, end)]


def split_into_blocks(lines: Sequence[str], surroundings: Surroundings, *, ended: bool = True) -> SplitLines:
    """*lines* split into blocks. ended: the last line has an ending too; code of blanks alone needs one."""
    page = outline_of("\n".join([*lines, ""] if ended else lines), surroundings)
    return split_page(lines, page, [Block((node,)) for node in read_nodes(page)])


def split_page(lines: Sequence[str], page: Outline, blocks: Sequence[Block]) -> SplitLines:
    """The *lines* of *page*, joined by LF there, split into its *blocks*."""
    numbers = {start: at for at, start in enumerate(accumulate((len(line) + 1 for line in lines), initial=0))}
    parts = []
    for index, (segment, block) in enumerate(zip(page.segments, blocks, strict=True)):
        if not block.is_empty:
            start = numbers[segment.start]
            end = start + page.source(index).count("\n") + 1
            parts.append(Part(block, start, end, segment.tokens or ()))
    return SplitLines(lines, parts, page.surroundings)


def split_into_items(around: SplitLines, part: Part) -> SplitLines:
    """
    A list split into its items.

    Raises:
        Damaged: the items cannot be located in the lines.
    """
    lines, tokens = around.lines[part.start : part.end], part.tokens
    origin = _first_line(tokens)
    spans = [token.map for token in tokens if token.type == "list_item_open" and token.level == tokens[0].level + 1]
    if len(spans) != len(part.node.get("content", [])):
        raise Damaged("the items of the list cannot be found in its lines")
    parts = []
    for node, span in zip(part.node.get("content", []), spans, strict=True):
        start, end = (span[0] - origin, min(span[1] - origin, len(lines))) if span else (0, 0)
        while end - 1 > start and not lines[end - 1].strip():
            end -= 1
        parts.append(Part(block_of(node), start, end, ()))
    return SplitLines(lines, parts, around.surroundings)


def _first_line(tokens: Sequence[Token]) -> int:
    return tokens[0].map[0] if tokens[0].map else 0


def fingerprints_of(lines: Sequence[Line], surroundings: Surroundings) -> list[str]:
    """The fingerprints of the blocks read from *lines*."""
    cut = split_into_blocks([line.text for line in lines], surroundings)
    return [part.block.fingerprint for part in cut.parts]


_OPEN_SIGNS = ("```", "~~~", "<")  # signs of code and HTML that may continue after a blank line


class Spacing(Enum):
    """The distance between new blocks; wider ones rescue blocks that would merge."""

    UNCHANGED = auto()
    WIDE = auto()  # a blank line on each side of a new block
    SEPARATE = auto()  # and a comment between two lists


@dataclass(frozen=True, slots=True)
class Piece:
    """
    A block or item of the result.

    lines: their `at` counts the lines of the whole cut.
    old_index: the part that it is or replaces. is_changed: it differs from that part in more than texts.
    """

    block: Block
    lines: Sequence[Line]
    old_index: int | None
    is_changed: bool

    @property
    def node(self) -> Node:
        """Its normal form."""
        return self.block.normal_form


def join_pieces(cut: SplitLines, pieces: Sequence[Piece], between: Callable[[Piece, Piece], list[Line]]) -> list[Line]:
    """The *pieces* with the lines *between* two of them, and the gaps before the first and after the last part."""
    result = cut.gap_after(-1)
    if not pieces:
        return result
    for left, right in pairwise(pieces):
        gap = between(left, right)
        result += [
            *left.lines,
            *(gap if _are_old_neighbours(left, right) else _without_absorbed_blanks(left, gap, cut.surroundings)),
        ]
    last, end = pieces[-1], len(cut.parts) - 1
    gap = cut.gap_after(end) if cut.parts else []
    return [
        *result,
        *last.lines,
        *(
            gap
            if last.old_index == end and not last.is_changed
            else _without_absorbed_blanks(last, gap, cut.surroundings)
        ),
    ]


def item_gap(cut: SplitLines, pieces: Sequence[Piece]) -> Callable[[Piece, Piece], list[Line]]:
    """
    The gap between two items: the old one, else the most common one of their list.

    Gaps stay where they are while items change places, and below new items that part two old neighbours.
    """
    places = {piece.old_index: place for place, piece in enumerate(pieces)}
    if len(places) == len(pieces) == len(cut.parts) and None not in places:
        return lambda left, _right: cut.gap_after(places[left.old_index])
    gaps = [bool(cut.gap_after(index)) for index in range(len(cut.parts) - 1)]
    usual, parted = [Line("")] if 2 * sum(gaps) > len(gaps) else [], _parted_neighbours(pieces)

    def between(left: Piece, right: Piece) -> list[Line]:
        if left.old_index is None and right.old_index is not None and right.old_index in parted:
            return cut.gap_after(right.old_index - 1)
        gap = _old_gap(cut, left, right)
        return usual if gap is None else gap

    return between


def _parted_neighbours(pieces: Sequence[Piece]) -> frozenset[int]:
    """The numbers of old parts that have only new ones between them and their old neighbours above."""
    old_indices = [piece.old_index for piece in pieces if piece.old_index is not None]
    return frozenset(right for left, right in pairwise(old_indices) if right == left + 1)


def block_gap(cut: SplitLines, spacing: Spacing, *, tight: bool) -> Callable[[Piece, Piece], list[Line]]:
    """The gap between two blocks; *tight*: no blank line where none is needed."""

    def between(left: Piece, right: Piece) -> list[Line]:
        gap = _old_gap(cut, left, right)
        if gap is None:
            gap = [*_closing_fence(left), *([] if tight and can_follow_directly(left.node, right.node) else [Line("")])]
        if (
            not gap
            and not _are_old_neighbours(left, right)
            and (spacing is not Spacing.UNCHANGED or _is_wider(cut, left, right))
        ):
            gap = [Line("")]
        if (
            spacing is Spacing.SEPARATE
            and _would_merge(left, right)
            and LIST_SEPARATOR not in (line.text for line in gap)
        ):
            gap = [Line(""), Line(LIST_SEPARATOR), Line("")]
        return gap

    return between


def _old_gap(cut: SplitLines, left: Piece, right: Piece) -> list[Line] | None:
    """The gap after the old left part or before the old right part, the wider one; None if one has none."""
    if left.old_index is None or right.old_index is None or left.old_index + 1 >= len(cut.parts) or right.old_index < 1:
        return None
    return max(cut.gap_after(left.old_index), cut.gap_after(right.old_index - 1), key=len)


def _is_wider(cut: SplitLines, left: Piece, right: Piece) -> bool:
    """Whether blocks of these kinds need a blank line here, where such blocks were not neighbours before."""
    if can_follow_directly(left.node, right.node) or left.old_index is None or right.old_index is None:
        return False
    kinds = [left.block.kind, right.block.kind]
    touched = (
        cut.parts[left.old_index : left.old_index + 2],
        cut.parts[max(right.old_index - 1, 0) : right.old_index + 1],
    )
    return all([part.block.kind for part in parts] != kinds for parts in touched)


def _are_old_neighbours(left: Piece, right: Piece) -> bool:
    """Whether both pieces are unchanged and were neighbours."""
    return (
        left.old_index is not None
        and right.old_index == left.old_index + 1
        and not left.is_changed
        and not right.is_changed
    )


def _without_absorbed_blanks(piece: Piece, gap: list[Line], surroundings: Surroundings) -> list[Line]:
    """*gap*, without its blank lines if they would belong to code or HTML that *piece* leaves open."""
    if not gap or gap[0].text.strip() or not _is_left_open(piece, surroundings):
        return gap
    return [line for line in gap if line.text.strip()]


def _is_left_open(piece: Piece, surroundings: Surroundings) -> bool:
    texts = [line.text for line in piece.lines]
    if not any(sign in text for text in texts for sign in _OPEN_SIGNS):
        return False
    return _token_contents(texts, surroundings) != _token_contents([*texts, ""], surroundings)


def _token_contents(lines: Sequence[str], surroundings: Surroundings) -> list[str]:
    return [token.content for part in split_into_blocks(lines, surroundings).parts for token in part.tokens]


def _closing_fence(piece: Piece) -> list[Line]:
    """The closing fence of a code block that the end of its container closed before."""
    first, last = piece.lines[0].text.lstrip(" "), piece.lines[-1].text.strip()
    fence = first[: len(first) - len(first.lstrip(first[:1]))]
    if piece.is_changed or piece.node["type"] != "codeBlock" or len(fence) < 3 or fence[0] not in "`~":
        return []
    closed = len(piece.lines) > 1 and last.startswith(fence) and not last.strip(fence[0])
    return [] if closed else [Line(fence)]


def _would_merge(left: Piece, right: Piece) -> bool:
    if _are_old_neighbours(left, right):
        return False
    markers, indented = MARKERS_OF_LISTS.get(left.node["type"]), right.lines[0].text[:1] in ("\t", " ")
    return markers is not None and (indented or markers == MARKERS_OF_LISTS.get(right.node["type"]))
