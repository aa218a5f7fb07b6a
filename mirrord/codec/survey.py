"""Tables of text, such as surveys: which sign parts their cells, and their rows one after the other."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mirrord.errors import Damaged

DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|"}
_SAMPLE = 50  # rows by which the sign is told


@dataclass(frozen=True, slots=True)
class Row:
    """line: of the text, where it begins; 1 is the first."""

    line: int
    cells: Sequence[str]

    @property
    def is_empty(self) -> bool:
        return not any(cell.strip() for cell in self.cells)


def rows(lines: Iterable[str], delimiter: str) -> Iterator[Row]:
    """
    The rows of a text, empty ones too. Quotes hold delimiters and line breaks, as spreadsheets write them.

    lines: with their endings. Raises Damaged, naming the line, for quotes that do not end, and for NUL.
    """
    reader = csv.reader(_declared(lines), delimiter=delimiter, strict=True)
    begins = 1
    try:
        for cells in reader:
            if any("\0" in cell for cell in cells):
                raise Damaged(f"line {begins} holds NUL")
            yield Row(begins, cells)
            begins = reader.line_num + 1
    except csv.Error as error:
        raise Damaged(f"line {begins} begins a row that cannot be read: {_reason(error)}") from None


def delimiter_of(lines: Sequence[str]) -> str:
    """
    The sign that parts the cells of the table that *lines* begin: the one by which most rows have as many as the first.

    A comma, where no sign parts anything.
    """
    if lines and (said := _said(lines[0])):
        return said
    scores = {sign: _score(lines, sign) for sign in DELIMITERS.values()}
    return max(scores, key=lambda sign: scores[sign])


def widened(row: Row, width: int) -> Sequence[str] | None:
    """The cells of a row of a table that has *width* columns; None: it has others. Empty cells at the end are none."""
    cells = row.cells
    if len(cells) == width:
        return cells
    if len(cells) > width and not any(cell.strip() for cell in cells[width:]):
        return cells[:width]
    return None


def _score(lines: Sequence[str], delimiter: str) -> tuple[float, int]:
    """The share of rows that have as many cells as the first, and how many these are."""
    widths = list[int]()
    try:
        for row in rows(lines, delimiter):
            if not row.is_empty:
                widths.append(len(row.cells))
            if len(widths) == _SAMPLE:
                break
    except Damaged:  # the sample may end amid quotes
        pass
    if not widths or widths[0] < 2:
        return 0.0, 0
    return round(widths.count(widths[0]) / len(widths), 1), widths[0]


def _declared(lines: Iterable[str]) -> Iterator[str]:
    """Without the mark of the encoding, and with an empty line instead of one that only says the sign."""
    for number, line in enumerate(lines):
        if number == 0:
            line = line.removeprefix("\ufeff")
            line = "\n" if _said(line) else line
        yield line


def _said(line: str) -> str | None:
    """What the line `sep=;`, which spreadsheets put first, says."""
    text = line.removeprefix("\ufeff").strip("\r\n")
    return text[4] if len(text) == 5 and text.lower().startswith("sep=") else None


def _reason(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end" in text or "field larger" in text:
        return "a quotation mark has no end"
    return "a quotation mark ends amid a cell" if "expected after" in text else text
