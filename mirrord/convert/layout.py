"""The text of a PDF's pages, which is only letters at places, as HTML: headings, lists, tables and paragraphs."""

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
_LARGER = 1.12  # times the size of most letters: a heading
_MARGIN = 0.12  # of a page's height, where its number is
_LONGEST_HEADING = 200  # characters
_LONGEST_CELL = 40  # characters on average: more are columns of text
_SHORT = 0.85  # of a column's width: a line that ends before ends a paragraph


@dataclass(frozen=True, slots=True)
class Line:
    """
    A line of letters.

    left, top, right, bottom: points from the page's upper left. size: of most letters. cells: its parts, where gaps
    that are wider than blanks part it.
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
    """What one page shows. height: in points."""

    height: float
    lines: Sequence[Line]
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()


@dataclass(slots=True)
class _Run:
    """Lines that belong together, as one paragraph, heading or item. level: of a heading; None: it is none."""

    lines: list[Line]
    level: int | None = None
    marker: str | None = None
    start: int = field(default=1)

    @property
    def text(self) -> str:
        words = ""
        for line in self.lines:
            part = line.text.strip()
            words = _HYPHEN.sub("", words) + part if _is_divided(words, part) else f"{words} {part}".strip()
        if self.marker == "ul":
            return _BULLET.sub("", words)
        return _NUMBER.sub("", words) if self.marker == "ol" else words


class Sizes:
    """Which sizes of letters are those of the text, and which of headings."""

    def __init__(self, lines: Iterable[Line]) -> None:
        """*lines*: of some pages."""
        weights = Counter[float]()
        for line in lines:
            weights[round(line.size, 1)] += len(line.text)
        self.body = weights.most_common(1)[0][0] if weights else 0.0
        larger = sorted((size for size in weights if size > self.body * _LARGER), reverse=True)
        self._levels = {size: min(level, 6) for level, size in enumerate(larger, 1)}

    def level(self, line: Line) -> int | None:
        """Of a heading; None: the line is text."""
        size = round(line.size, 1)
        if not self._levels or size <= self.body * _LARGER or len(line.text) > _LONGEST_HEADING:
            return None
        return self._levels.get(size) or self._levels[min(self._levels, key=lambda known: abs(known - size))]


def html_of(page: Page, sizes: Sizes) -> Iterator[str]:
    """What a page shows, from top to bottom, as pieces of HTML."""
    lines, bare = _without_rules([line for line in page.lines if not _is_page_number(line, page.height)])
    parts: list[tuple[float, _Run | Table | Picture]] = [
        *((run.lines[0].top, run) for run in _runs(lines, sizes)),
        *((table.top, table) for table in (*page.tables, *bare)),
        *((picture.top, picture) for picture in page.pictures),
    ]
    parts.sort(key=lambda part: part[0])
    for is_item, group in groupby(parts, lambda part: isinstance(part[1], _Run) and part[1].marker is not None):
        found = [part for _, part in group]
        if is_item:
            yield _list([part for part in found if isinstance(part, _Run)])
        else:
            yield from map(_piece, found)


def _piece(part: _Run | Table | Picture) -> str:
    match part:
        case Table():
            return _table(part)
        case Picture():
            return f'<p><img src="{html.escape(part.source)}"></p>'
        case _:
            tag = f"h{part.level}" if part.level else "p"
            return f"<{tag}>{html.escape(part.text)}</{tag}>"


def _without_rules(lines: Sequence[Line]) -> tuple[list[Line], list[Table]]:
    """Lines that are none of tables, and tables that only gaps show: lines of as many short cells below each other."""
    rest, tables = [], []
    for count, group in groupby(lines, lambda line: 0 if _marker(line.text) else len(line.cells)):
        found = list(group)
        letters = sum(len(cell) for line in found for cell in line.cells)
        if count > 1 and len(found) > 1 and letters <= _LONGEST_CELL * count * len(found):
            tables.append(Table(found[0].top, [line.cells for line in found]))
        else:
            rest += found
    return rest, tables


def _runs(lines: Sequence[Line], sizes: Sizes) -> list[_Run]:
    right = max((line.right for line in lines), default=0.0)
    left = min((line.left for line in lines), default=0.0)
    runs: list[_Run] = []
    for line in lines:
        level = sizes.level(line)
        marker = None if level else _marker(line.text)
        if runs and marker is None and level == runs[-1].level and _goes_on(runs[-1], line, left, right):
            runs[-1].lines.append(line)
        else:
            number = _NUMBER.match(line.text)
            runs.append(_Run([line], level, marker, int(number[1]) if number else 1))
    return runs


def _goes_on(run: _Run, line: Line, left: float, right: float) -> bool:
    """Whether *line* is of the same paragraph as those before."""
    last = run.lines[-1]
    gap, height = line.top - last.bottom, max(last.bottom - last.top, 1.0)
    if gap > 0.5 * height or gap < -height or abs(line.size - last.size) > 1:
        return False
    if run.level:
        return True
    is_short = last.right - left < _SHORT * (right - left)
    hangs = run.marker is not None and line.left > run.lines[0].left + 2
    return not is_short and (hangs or run.marker is None)


def _marker(text: str) -> str | None:
    if _BULLET.match(text):
        return "ul"
    return "ol" if _NUMBER.match(text) else None


def _list(runs: Sequence[_Run], depth: int = 0) -> str:
    """Items as lists; an item further right is below the one before."""
    edge, result, rest = runs[0].lines[0].left, "", list(runs)
    while rest:
        marker = rest[0].marker
        start = f' start="{rest[0].start}"' if marker == "ol" and rest[0].start != 1 else ""
        result += f"<{marker}{start}>"
        while rest and rest[0].marker == marker:
            item = rest.pop(0)
            below = []
            while rest and rest[0].lines[0].left > edge + 4 and depth < 8:
                below.append(rest.pop(0))
            result += f"<li>{html.escape(item.text)}{_list(below, depth + 1) if below else ''}</li>"
        result += f"</{marker}>"
    return result


def _table(table: Table) -> str:
    first, *rest = [[html.escape(" ".join(cell.split())) for cell in row] for row in table.rows]
    head = "".join(f"<th>{cell}</th>" for cell in first)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rest)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _is_page_number(line: Line, height: float) -> bool:
    is_outside = line.bottom < _MARGIN * height or line.top > (1 - _MARGIN) * height
    return is_outside and bool(_PAGE_NUMBER.match(line.text))


def _is_divided(words: str, part: str) -> bool:
    return bool(_HYPHEN.search(words)) and part[:1].islower()
