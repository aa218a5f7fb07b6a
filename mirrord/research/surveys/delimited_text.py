"""PURE: delimited text: detect the delimiter and read rows one by one."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mirrord.errors import Damaged

DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|"}
_SAMPLE_ROWS = 50  # rows from which the delimiter is detected


@dataclass(frozen=True, slots=True)
class Row:
    """A row. line: the line of the text where it begins; 1 is the first."""

    line: int
    cells: Sequence[str]

    @property
    def is_empty(self) -> bool:
        return not any(cell.strip() for cell in self.cells)


def read_rows(lines: Iterable[str], delimiter: str) -> Iterator[Row]:
    """
    The rows of a text, empty ones included. Quoted cells may hold delimiters and line breaks, as in spreadsheets.

    lines: with their endings. Raises Damaged, naming the line, for unclosed quotes and for NUL.
    """
    reader = csv.reader(_without_declaration(lines), delimiter=delimiter, strict=True)
    begins = 1
    try:
        for cells in reader:
            if any("\0" in cell for cell in cells):
                raise Damaged(f"line {begins} holds NUL")
            yield Row(begins, cells)
            begins = reader.line_num + 1
    except csv.Error as error:
        raise Damaged(f"line {begins} begins a row that cannot be read: {_describe_error(error)}") from None


def delimiter_of(lines: Sequence[str]) -> str:
    """
    The delimiter of the table that *lines* begin: the one by which most rows have as many cells as the first.

    A comma if no delimiter occurs.
    """
    if lines and (declared := _declared_delimiter(lines[0])):
        return declared
    scores = {sign: _score_delimiter(lines, sign) for sign in DELIMITERS.values()}
    return max(scores, key=lambda sign: scores[sign])


def fit_to_width(row: Row, width: int) -> Sequence[str] | None:
    """The cells of a row in a table of *width* columns, without empty extra cells; None: the number differs."""
    cells = row.cells
    if len(cells) == width:
        return cells
    if len(cells) > width and not any(cell.strip() for cell in cells[width:]):
        return cells[:width]
    return None


def _score_delimiter(lines: Sequence[str], delimiter: str) -> tuple[float, int]:
    """The share of rows with as many cells as the first, and the number of these cells."""
    widths = list[int]()
    try:
        for row in read_rows(lines, delimiter):
            if not row.is_empty:
                widths.append(len(row.cells))
            if len(widths) == _SAMPLE_ROWS:
                break
    except Damaged:  # the sample may end inside quotes
        pass
    if not widths or widths[0] < 2:
        return 0.0, 0
    return round(widths.count(widths[0]) / len(widths), 1), widths[0]


def _without_declaration(lines: Iterable[str]) -> Iterator[str]:
    """The lines without a byte order mark, and with an empty line in place of one that declares the delimiter."""
    for number, line in enumerate(lines):
        if number == 0:
            line = line.removeprefix("\ufeff")
            line = "\n" if _declared_delimiter(line) else line
        yield line


def _declared_delimiter(line: str) -> str | None:
    """The delimiter in a line such as `sep=;`, which spreadsheets put first; None: another line."""
    text = line.removeprefix("\ufeff").strip("\r\n")
    return text[4] if len(text) == 5 and text.lower().startswith("sep=") else None


def _describe_error(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end" in text or "field larger" in text:
        return "a quotation mark has no end"
    return "a quotation mark ends inside a cell" if "expected after" in text else text
