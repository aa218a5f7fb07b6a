"""Gaps between the pieces of a result: kept between old neighbours, chosen between others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise

from mirrord.codec.block import Block
from mirrord.codec.cuts import Line, SplitLines, split_into_blocks
from mirrord.codec.document import Node
from mirrord.codec.segments import LIST_SEPARATOR
from mirrord.codec.writer import MARKERS_OF_LISTS, can_follow_directly

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
    old_index: the part that it is or replaces; fresh: it differs from that part.
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
        result += [*left.lines, *(gap if _are_old_neighbours(left, right) else _without_absorbed_blanks(left, gap))]
    last, end = pieces[-1], len(cut.parts) - 1
    gap = cut.gap_after(end) if cut.parts else []
    return [
        *result,
        *last.lines,
        *(gap if last.old_index == end and not last.is_changed else _without_absorbed_blanks(last, gap)),
    ]


def item_gap(cut: SplitLines) -> Callable[[Piece, Piece], list[Line]]:
    """The gap between two items: the old one, else the most common one of their list."""
    gaps = [bool(cut.gap_after(index)) for index in range(len(cut.parts) - 1)]
    usual = [Line("")] if 2 * sum(gaps) > len(gaps) else []

    def between(left: Piece, right: Piece) -> list[Line]:
        gap = _old_gap(cut, left, right)
        return usual if gap is None else gap

    return between


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


def _without_absorbed_blanks(piece: Piece, gap: list[Line]) -> list[Line]:
    """*gap*, without its blank lines if they would belong to code or HTML that *piece* leaves open."""
    if not gap or gap[0].text.strip() or not _is_left_open(piece):
        return gap
    return [line for line in gap if line.text.strip()]


def _is_left_open(piece: Piece) -> bool:
    texts = [line.text for line in piece.lines]
    if not any(sign in text for text in texts for sign in _OPEN_SIGNS):
        return False
    return _token_contents(texts) != _token_contents([*texts, ""])


def _token_contents(lines: Sequence[str]) -> list[str]:
    return [token.content for part in split_into_blocks(lines, {}).parts for token in part.tokens]


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
