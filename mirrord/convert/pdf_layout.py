"""The text of a PDF's pages as HTML: headings, lists, tables and paragraphs."""

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

_BULLET = re.compile(r"^[•◦▪▫‣⁃●○■□·–*-]\s+(?=\S)")
_NUMBER = re.compile(r"^(\d{1,3})[.)]\s+(?=\S)")
_PAGE_NUMBER = re.compile(r"^[-–\s]*\d{1,4}[-–\s]*$")
_HYPHEN = re.compile(r"(?<=[a-zäöüßàâçéèêëîïôûñ])-$")
_HEADING_FACTOR = 1.12  # of the size of most letters, beyond which a line is a heading
_MARGIN_SHARE = 0.12  # of the height of a page, at top and bottom, for its number
_MAX_HEADING_CHARACTERS = 200  # characters
_MAX_CELL_CHARACTERS = 40  # on average; more are columns of text
_SHORT_LINE_SHARE = 0.85  # of the width of a column: a shorter line ends a paragraph


@dataclass(frozen=True, slots=True)
class Line:
    """
    A line of letters.

    left, top, right, bottom: points from the upper left of the page. size: of most letters. cells: its parts between
    gaps that are wider than blanks.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    cells: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells."""

    top: float
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Picture:
    """An image; source: the name of its file."""

    top: float
    source: str


@dataclass(frozen=True, slots=True)
class Page:
    """The content of one page. height: in points."""

    height: float
    lines: Sequence[Line]
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()


@dataclass(slots=True)
class _Run:
    """Lines of one paragraph, heading or item. level: of a heading; None: no heading."""

    lines: list[Line]
    level: int | None = None
    marker: str | None = None
    start: int = field(default=1)

    @property
    def text(self) -> str:
        words = ""
        for line in self.lines:
            part = line.text.strip()
            words = _HYPHEN.sub("", words) + part if _is_hyphenated(words, part) else f"{words} {part}".strip()
        if self.marker == "ul":
            return _BULLET.sub("", words)
        return _NUMBER.sub("", words) if self.marker == "ol" else words


class Sizes:
    """The letter sizes of the text and of headings."""

    def __init__(self, lines: Iterable[Line]) -> None:
        """*lines*: of some pages."""
        weights = Counter[float]()
        for line in lines:
            weights[round(line.size, 1)] += len(line.text)
        self.body = weights.most_common(1)[0][0] if weights else 0.0
        larger = sorted((size for size in weights if size > self.body * _HEADING_FACTOR), reverse=True)
        self._levels = {size: min(level, 6) for level, size in enumerate(larger, 1)}

    def level(self, line: Line) -> int | None:
        """The level of a heading; None: the line is text."""
        size = round(line.size, 1)
        if not self._levels or size <= self.body * _HEADING_FACTOR or len(line.text) > _MAX_HEADING_CHARACTERS:
            return None
        return (
            self._levels.get(size) or self._levels[min(self._levels, key=lambda heading_size: abs(heading_size - size))]
        )


def html_of(page: Page, sizes: Sizes) -> Iterator[str]:
    """The content of a page, from top to bottom, as pieces of HTML."""
    lines, unruled_tables = _split_unruled_tables(
        [line for line in page.lines if not _is_page_number(line, page.height)]
    )
    parts: list[tuple[float, _Run | Table | Picture]] = [
        *((run.lines[0].top, run) for run in _to_runs(lines, sizes)),
        *((table.top, table) for table in (*page.tables, *unruled_tables)),
        *((picture.top, picture) for picture in page.pictures),
    ]
    parts.sort(key=lambda part: part[0])
    for is_item, group in groupby(parts, lambda part: isinstance(part[1], _Run) and part[1].marker is not None):
        group_parts = [part for _, part in group]
        if is_item:
            yield _list_html([part for part in group_parts if isinstance(part, _Run)])
        else:
            yield from map(_part_html, group_parts)


def _part_html(part: _Run | Table | Picture) -> str:
    match part:
        case Table():
            return _table_html(part)
        case Picture():
            return f'<p><img src="{html.escape(part.source)}"></p>'
        case _:
            tag = f"h{part.level}" if part.level else "p"
            return f"<{tag}>{html.escape(part.text)}</{tag}>"


def _split_unruled_tables(lines: Sequence[Line]) -> tuple[list[Line], list[Table]]:
    """Lines outside tables, and tables without rules: successive lines with equal numbers of short cells."""
    remaining, tables = [], []
    for count, group in groupby(lines, lambda line: 0 if _list_tag(line.text) else len(line.cells)):
        group_lines = list(group)
        letters = sum(len(cell) for line in group_lines for cell in line.cells)
        if count > 1 and len(group_lines) > 1 and letters <= _MAX_CELL_CHARACTERS * count * len(group_lines):
            tables.append(Table(group_lines[0].top, [line.cells for line in group_lines]))
        else:
            remaining += group_lines
    return remaining, tables


def _to_runs(lines: Sequence[Line], sizes: Sizes) -> list[_Run]:
    right_edge = max((line.right for line in lines), default=0.0)
    left_edge = min((line.left for line in lines), default=0.0)
    runs: list[_Run] = []
    for line in lines:
        level = sizes.level(line)
        marker = None if level else _list_tag(line.text)
        if (
            runs
            and marker is None
            and level == runs[-1].level
            and _continues_paragraph(runs[-1], line, left_edge, right_edge)
        ):
            runs[-1].lines.append(line)
        else:
            number = _NUMBER.match(line.text)
            runs.append(_Run([line], level, marker, int(number[1]) if number else 1))
    return runs


def _continues_paragraph(run: _Run, line: Line, left_edge: float, right_edge: float) -> bool:
    """Whether *line* belongs to the same paragraph as *run*."""
    last = run.lines[-1]
    gap, height = line.top - last.bottom, max(last.bottom - last.top, 1.0)
    if gap > 0.5 * height or gap < -height or abs(line.size - last.size) > 1:
        return False
    if run.level:
        return True
    is_short = last.right - left_edge < _SHORT_LINE_SHARE * (right_edge - left_edge)
    hangs = run.marker is not None and line.left > run.lines[0].left + 2
    return not is_short and (hangs or run.marker is None)


def _list_tag(text: str) -> str | None:
    if _BULLET.match(text):
        return "ul"
    return "ol" if _NUMBER.match(text) else None


def _list_html(runs: Sequence[_Run], depth: int = 0) -> str:
    """Items as nested lists; an item further right belongs below the one before."""
    edge, result, remaining = runs[0].lines[0].left, "", list(runs)
    while remaining:
        marker = remaining[0].marker
        start = f' start="{remaining[0].start}"' if marker == "ol" and remaining[0].start != 1 else ""
        result += f"<{marker}{start}>"
        while remaining and remaining[0].marker == marker:
            item = remaining.pop(0)
            nested = []
            while remaining and remaining[0].lines[0].left > edge + 4 and depth < 8:
                nested.append(remaining.pop(0))
            result += f"<li>{html.escape(item.text)}{_list_html(nested, depth + 1) if nested else ''}</li>"
        result += f"</{marker}>"
    return result


def _table_html(table: Table) -> str:
    header, *body_rows = [[html.escape(" ".join(cell.split())) for cell in row] for row in table.rows]
    head = "".join(f"<th>{cell}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in body_rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _is_page_number(line: Line, height: float) -> bool:
    is_outside = line.bottom < _MARGIN_SHARE * height or line.top > (1 - _MARGIN_SHARE) * height
    return is_outside and bool(_PAGE_NUMBER.match(line.text))


def _is_hyphenated(words: str, part: str) -> bool:
    return bool(_HYPHEN.search(words)) and part[:1].islower()
