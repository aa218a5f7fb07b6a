"""
Where the texts of a block stand in its lines, at any depth of lists and quotes, and their edits made there.

Everything beside the edits stays: indents, signs, tabs, fences, the padding of cells.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, zip_longest
from typing import NamedTuple

from markdown_it.common.utils import mdTrim
from markdown_it.token import Token

from mirrord.markdown.inline.inline_splice import TextEdit
from mirrord.markdown.parser.inline_spans import Span
from mirrord.markdown.write.block_parts import Line

_PIPE = re.compile(r"(?<!\\)\|")
_MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?=[ \t]|\Z)|\[(?:\^[^\]]*\]:|[ xX]\](?=[ \t]))")
_CLOSING = re.compile(r"[ \t]*(?:(?:#+|</summary>)[ \t]*)?")
_BLANKS = " \t"
_INLINE = "inline"


class LineEdit(NamedTuple):
    """
    The characters from `column` of line `first` up to `behind` of line `last` become *text*.

    prefix: of the lines that *text* adds.
    """

    first: int
    column: int
    last: int
    behind: int
    text: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """
    A cell of a table: its columns from start up to end, between its pipes.

    alignment: of its text. is_padded: it is as wide as the others of its column.
    """

    start: int
    end: int
    alignment: str
    is_padded: bool

    def edits_of_padding(self, line: int, text: Span, growth: int) -> list[LineEdit]:
        """The edits that keep the cell's width, if its *text* in *line* grows by *growth* characters."""
        above, below = text.start - self.start, self.end - text.end
        if not self.is_padded or not growth or not above or not below:
            return []
        total = max(above + below - growth, 2)
        width = min(above, total - 1)
        if self.alignment == "right":
            width = max(total - below, 1)
        elif self.alignment == "center":
            width = total // 2
        return [
            LineEdit(line, self.start, line, text.start, " " * width),
            LineEdit(line, text.end, line, self.end, " " * (total - width)),
        ]


@dataclass(frozen=True, slots=True)
class TextPlace:
    """
    The place of a text in lines.

    starts: the position in the text at which each of its lines begins. lines: their numbers.
    columns: of the characters of each line, and of its end. prefix: of a line that is added.
    cell: the cell that holds the text, in which pipes need a backslash.
    """

    token: Token
    lines: Sequence[int]
    starts: Sequence[int]
    columns: Sequence[Sequence[int]]
    prefix: str = ""
    cell: Cell | None = None

    def edits_of(self, edits: Sequence[TextEdit]) -> list[LineEdit]:
        """Edits of the text as edits of the lines."""
        result = [self._edit_of(edit) for edit in edits]
        if self.cell and result:
            growth = sum(len(edit.text) - (edit.behind - edit.column) for edit in result)
            text = Span(self.columns[0][0], self.columns[0][-1])
            result += self.cell.edits_of_padding(self.lines[0], text, growth)
        return result

    def _edit_of(self, edit: TextEdit) -> LineEdit:
        first, column = self._locate(edit.start)
        last, behind = self._locate(edit.end)
        text = edit.text.replace("|", r"\|") if self.cell else edit.text
        return LineEdit(first, column, last, behind, text, self.prefix)

    def _locate(self, position: int) -> tuple[int, int]:
        at = bisect_right(self.starts, position) - 1
        columns = self.columns[at]
        return self.lines[at], columns[min(position - self.starts[at], len(columns) - 1)]


class Row(NamedTuple):
    """
    A row of a table.

    cells: the tokens of its cells with their alignments. head: the number of the table's first line.
    """

    head: int
    cells: list[tuple[Token, str]]


class TextToken(NamedTuple):
    """A token with a text. row: the row that it is a cell of."""

    token: Token
    row: Row | None = None


def text_tokens(tokens: Sequence[Token]) -> list[TextToken]:
    """Those of *tokens* with a text, in the order of the nodes that hold the texts; not those of empty cells."""
    result: list[TextToken] = []
    head, alignment = 0, ""
    row: Row | None = None
    for token in tokens:
        if token.type == "thead_open" and token.map:
            head = token.map[0]
        elif token.type == "tr_open":
            row = Row(head, [])
        elif token.type == "tr_close":
            row = None
        elif token.type in ("th_open", "td_open"):
            alignment = str(token.attrs.get("style", "")).removeprefix("text-align:")
        elif token.nesting == 0:
            if token.content or token.type != _INLINE:
                result.append(TextToken(token, row))
            if row:
                row.cells.append((token, alignment))
    return result


def find_text(text: TextToken, lines: Sequence[str], origin: int) -> TextPlace | None:
    """The place of *text* in *lines*, the first of which has the number *origin*; None if it is not there."""
    token, row = text
    if token.map is None:
        return None
    start, end = token.map[0] - origin, token.map[1] - origin
    if row:
        return _find_cell(token, row, lines, start, row.head - origin)
    texts = text_of(token).split("\n")
    if token.type == _INLINE:
        return _find_lines(token, texts, lines, end - len(texts))
    first = start + (token.type == "fence")
    place = _find_lines(token, texts, lines, first)
    return _find_lines(token, texts, lines, first + 1) if place is None and token.type == "math_block" else place


def text_of(token: Token) -> str:
    """The text that an app sees of a block other than running text."""
    if token.type == "math_block":
        return token.content.strip()
    if token.type in ("fence", "code_block"):
        return token.content.removesuffix("\n")
    return token.content.rstrip("\n") if token.type != _INLINE else token.content


def _find_lines(token: Token, texts: Sequence[str], lines: Sequence[str], first: int) -> TextPlace | None:
    """The place of *texts* at the ends of the *lines* from *first* on; None if they are not there."""
    if first < 0 or first + len(texts) > len(lines):
        return None
    columns: list[range] = []
    for text, line in zip(texts, lines[first:], strict=False):
        bare = text.strip(_BLANKS)
        column = line.rfind(bare) if bare else len(line)
        if column < 0 or not _may_follow(token, line[column + len(bare) :]):
            return None
        lead = len(text) - len(text.lstrip(_BLANKS)) if bare else 0
        columns.append(range(column - lead, column + len(text) - lead + 1))
    clipped = [_clip(places, text, line) for places, text, line in zip(columns, texts, lines[first:], strict=False)]
    starts = [0, *accumulate(len(text) + 1 for text in texts)][:-1]
    pattern = max((number for number, text in enumerate(texts) if text.strip(_BLANKS)), default=0)
    prefix = _MARKER.sub(lambda match: " " * len(match[0]), lines[first + pattern][: clipped[pattern][0]])
    return TextPlace(token, range(first, first + len(texts)), starts, clipped, prefix)


def _clip(places: range, text: str, line: str) -> Sequence[int]:
    """The *places* of the characters of *text* that are in *line*; of blanks its end."""
    if not text.strip(_BLANKS):
        return [len(line)] * len(places)
    return places if places.start >= 0 else [max(place, 0) for place in places]


def _may_follow(token: Token, tail: str) -> bool:
    """Whether *tail* is no part of the text before it."""
    if token.type == "math_block":
        return tail.strip(_BLANKS) in ("", "$$")
    return _CLOSING.fullmatch(tail) is not None if token.type == _INLINE else not tail.strip(_BLANKS)


def _find_cell(token: Token, row: Row, lines: Sequence[str], number: int, head: int) -> TextPlace | None:
    """The place of a cell in the line with that *number*; *head*: the number of the table's first line."""
    line = lines[number] if 0 <= number < len(lines) else ""
    spans = _cell_spans(line)
    first = next((at for at in (0, 1) if _fit(row, line, spans[at:])), None)
    if first is None:
        return None
    at = next(at for at, (cell, _) in enumerate(row.cells) if cell is token)
    span = spans[first + at]
    is_padded = [span.end - span.start] == _padded_widths(lines[head : head + 2])[first + at : first + at + 1]
    return _place_of_cell(token, line, number, Cell(*span, row.cells[at][1], is_padded))


def _cell_spans(line: str) -> list[Span]:
    bounds = [-1, *(match.start() for match in _PIPE.finditer(line)), len(line)]
    return [Span(start + 1, end) for start, end in pairwise(bounds)]


def _padded_widths(lines: Sequence[str]) -> list[int]:
    """The widths of the columns in which the header is as wide as the line below it, -1 for others."""
    head, rule = ([span.end - span.start for span in _cell_spans(line)] for line in lines)
    return [width if width == dashes else -1 for width, dashes in zip_longest(head, rule, fillvalue=-1)]


def _fit(row: Row, line: str, spans: Sequence[Span]) -> bool:
    """Whether each cell of *row* is the text of one of *spans*; before the first cell there may be signs."""
    for at, (cell, _) in enumerate(row.cells):
        text = mdTrim(line[slice(*spans[at])].replace(r"\|", "|")) if at < len(spans) else ""
        if not (text.endswith(cell.content) if at == 0 and cell.content else text == cell.content):
            return False
    return True


def _place_of_cell(token: Token, line: str, number: int, cell: Cell) -> TextPlace:
    columns = [at for at in range(cell.start, cell.end) if not line.startswith(r"\|", at)]
    first = "".join(line[at] for at in columns).rfind(token.content)
    chosen = columns[first : first + len(token.content)]
    places = [at - 1 if line[at] == "|" else at for at in chosen]
    return TextPlace(token, [number], [0], [[*places, chosen[-1] + 1]], cell=cell)


def edit_lines(lines: Sequence[str], edits: Sequence[LineEdit]) -> list[Line]:
    """*lines* with *edits*, which do not overlap."""
    result = [Line(text, at) for at, text in enumerate(lines)]
    for edit in sorted(edits, key=lambda edit: (edit.first, edit.column, edit.last, edit.behind), reverse=True):
        before, after = result[edit.first].text[: edit.column], result[edit.last].text[edit.behind :]
        first, *added = (before + edit.text.replace("\n", "\n" + edit.prefix) + after).split("\n")
        changed = Line(first, replaced=edit.first)
        result[edit.first : edit.last + 1] = [changed, *map(Line, added)]
    return result
