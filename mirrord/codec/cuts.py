"""Split lines into parts (the blocks of a page, the items of a list) and the gaps between them.

Lines have neither line endings nor the prefixes of their containers here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from markdown_it.token import Token

from mirrord.codec.block import Block, block_of
from mirrord.codec.document import Node
from mirrord.codec.reader import read_nodes
from mirrord.codec.segments import Outline, outline_of
from mirrord.errors import Damaged


@dataclass(frozen=True, slots=True)
class Line:
    """
    A line of a result.

    at: the number of the unchanged old line; None: a new line.
    """

    text: str
    at: int | None = None


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

    references: the reference definitions the parts were read with.
    """

    lines: Sequence[str]
    parts: Sequence[Part]
    references: Mapping[str, Any]

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


def split_into_blocks(lines: Sequence[str], references: Mapping[str, Any], *, ended: bool = True) -> SplitLines:
    """*lines* split into blocks. ended: the last line has an ending too; code of blanks alone needs one."""
    page = outline_of("\n".join([*lines, ""] if ended else lines), references)
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
    return SplitLines(lines, parts, page.references)


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
    return SplitLines(lines, parts, around.references)


def _first_line(tokens: Sequence[Token]) -> int:
    return tokens[0].map[0] if tokens[0].map else 0


def fingerprints_of(lines: Sequence[Line], references: Mapping[str, Any]) -> list[str]:
    """The fingerprints of the blocks read from *lines*."""
    cut = split_into_blocks([line.text for line in lines], references)
    return [part.block.fingerprint for part in cut.parts]
