"""The table of a survey, read twice: first validated, then imported."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from mirrord.commands.core.failure import Failed, invalid_argument
from mirrord.convert.text_encoding import SAMPLE_BYTES, encoding_of, western_codec
from mirrord.errors import Damaged
from mirrord.research.surveys.delimited_text import DELIMITERS, Row, delimiter_of, fit_to_width, read_rows
from mirrord.research.surveys.survey_columns import Column, Columns, column_names, columns_of

SURVEY_CODE = "SURVEY_NOT_IMPORTED"
_MAX_SAMPLE_LINES = 400  # lines used to detect the delimiter
_MAX_LISTED_FAULTS = 20  # faults in one message
_MAX_PREVIEW_ROWS = 10  # rows of a preview


@dataclass(frozen=True, slots=True)
class SurveyTable:
    """How to read a file."""

    file: Path
    encoding: str
    delimiter: str
    has_header: bool
    names: Sequence[str]
    columns: Columns

    def rows(self) -> Iterator[Row]:
        """The rows, without header and empty rows."""
        with self.file.open(encoding=self.encoding, newline="") as stream:
            filled_rows = (row for row in read_rows(stream, self.delimiter) if not row.is_empty)
            yield from islice(filled_rows, 1 if self.has_header else 0, None)


@dataclass(frozen=True, slots=True)
class TableCheck:
    """
    Result of the check of all rows. first_rows: the first rows. text_counts: number of rows with a text, by text
    column.
    """

    rows_count: int
    first_rows: Sequence[Sequence[str]]
    text_counts: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class TableFormat:
    """
    How a table is to be read, as the caller says.

    delimiter: comma, tab, semicolon, pipe, the sign itself, or auto. column_mappings: what columns mean, as
    survey_columns reads it.
    """

    delimiter: str = "auto"
    has_header: bool = True
    column_mappings: Sequence[Mapping[str, object]] = ()


def open_table(file: Path, table_format: TableFormat) -> SurveyTable:
    """
    Detect how to read *file*.

    Raises Failed for a file that is no table of text, and for unsuitable mappings; then `columns` of its facts lists
    the headers.
    """
    encoding = _detect_encoding(file)
    with file.open(encoding=encoding, newline="") as stream:
        first_lines = list(islice(stream, _MAX_SAMPLE_LINES))
    delimiter = table_format.delimiter
    sign = delimiter_of(first_lines) if delimiter == "auto" else DELIMITERS.get(delimiter, delimiter)
    if sign not in DELIMITERS.values():
        names_of_delimiters = ", ".join(DELIMITERS)
        raise invalid_argument(
            f"{SURVEY_CODE}/INVALID_DELIMITER", f"{delimiter!r} is no delimiter.", f"Use auto, {names_of_delimiters}."
        )
    first = _first_row(first_lines, sign)
    names = column_names(first, are_given=table_format.has_header)
    try:
        columns = columns_of(names, table_format.column_mappings)
        return SurveyTable(file, encoding, sign, table_format.has_header, names, columns)
    except Damaged as error:
        raise Failed(
            f"{SURVEY_CODE}/INVALID_MAPPING",
            "invalid",
            f"The columns cannot be used: {error}.",
            "Map columns by header or index (from 0); the headers are in `columns`.",
            {"columns": list(names), "delimiter": _name_of_delimiter(sign), "encoding": encoding},
        ) from error


def check_table(table: SurveyTable) -> TableCheck:
    """
    Check every row. Raises Failed with the faulty lines.

    Only the identifiers of rows are kept in memory during the check.
    """
    faults, line_by_identifier, filled, first = _Faults(), dict[str, int](), Counter[int](), list[Sequence[str]]()
    count = 0
    try:
        for row in table.rows():
            cells = fit_to_width(row, table.columns.width)
            if cells is None:
                faults.add("RAGGED_ROWS", row, f"has {len(row.cells)} cells instead of {table.columns.width}")
                continue
            count += 1
            if len(first) < _MAX_PREVIEW_ROWS:
                first.append(tuple(cells))
            filled.update(column.index for column in table.columns.texts if cells[column.index].strip())
            _check_identifier(table, row, cells, line_by_identifier, faults)
            for column in table.columns.attributes:
                _check_value(column, row, cells, faults)
    except Damaged as error:
        raise _malformed_table(error) from error
    faults.raise_any()
    if not count:
        raise invalid_argument(
            f"{SURVEY_CODE}/EMPTY", "The file has no rows.", "Choose another file, or say has_header=false."
        )
    return TableCheck(count, first, filled)


def _check_identifier(
    table: SurveyTable, row: Row, cells: Sequence[str], line_by_identifier: dict[str, int], faults: "_Faults"
) -> None:
    if table.columns.identifier is None:
        return
    name = cells[table.columns.identifier.index].strip()
    if not name:
        faults.add("MISSING_IDENTIFIER", row, "has no identifier")
    elif name in line_by_identifier:
        faults.add("DUPLICATE_IDENTIFIER", row, f"has the identifier {name[:60]!r} of line {line_by_identifier[name]}")
    else:
        line_by_identifier[name] = row.line


def _check_value(column: Column, row: Row, cells: Sequence[str], faults: "_Faults") -> None:
    try:
        column.read_value(cells[column.index])
    except ValueError as error:
        faults.add("INVALID_VALUE", row, f"in {column.name!r}: {error}")


class _Faults:
    """Faulty rows; only the first are kept."""

    def __init__(self) -> None:
        self._count = 0
        self._code = ""
        self._listed: list[dict[str, object]] = []

    def add(self, code: str, row: Row, problem: str) -> None:
        self._count += 1
        self._code = self._code or code
        if len(self._listed) < _MAX_LISTED_FAULTS:
            self._listed.append({"line": row.line, "problem": problem})

    def raise_any(self) -> None:
        if not self._count:
            return
        problems_text = "; ".join(f"line {fault['line']} {fault['problem']}" for fault in self._listed)
        rest_text = f"; and {self._count - len(self._listed)} more" if self._count > len(self._listed) else ""
        rows_of = "1 row does" if self._count == 1 else f"{self._count} rows do"
        sentence = f"{rows_of} not fit: {problems_text}{rest_text}."
        facts = {"problems": self._listed, "problems_count": self._count}
        raise Failed(
            f"{SURVEY_CODE}/{self._code}", "invalid", sentence, "Mend those lines; nothing was imported.", facts
        )


def _first_row(first_lines: Sequence[str], sign: str) -> Sequence[str]:
    try:
        row_or_none = next((row for row in read_rows(first_lines, sign) if not row.is_empty), None)
    except Damaged as error:
        raise _malformed_table(error) from error
    if row_or_none is None:
        raise invalid_argument(f"{SURVEY_CODE}/EMPTY", "The file has no rows.", "Choose another file.")
    return row_or_none.cells


def _malformed_table(error: Damaged) -> Failed:
    return invalid_argument(
        f"{SURVEY_CODE}/MALFORMED", f"The file is not a readable table: {error}.", "Mend that line."
    )


def _detect_encoding(file: Path) -> str:
    """The encoding that reads the whole file."""
    with file.open("rb") as stream:
        sample = stream.read(SAMPLE_BYTES + 1)
    guess = encoding_of(sample[:SAMPLE_BYTES], is_whole=len(sample) <= SAMPLE_BYTES)
    for encoding in (guess, western_codec(sample), "latin-1"):
        if _is_readable(file, encoding):
            return encoding
    raise invalid_argument(
        f"{SURVEY_CODE}/ENCODING", "The file's letters are in no encoding that is known.", "Save it as UTF-8."
    )


def _is_readable(file: Path, encoding: str) -> bool:
    try:
        with file.open(encoding=encoding, newline="") as stream:
            while stream.read(SAMPLE_BYTES):
                pass
    except UnicodeError:
        return False
    return True


def _name_of_delimiter(sign: str) -> str:
    return next(name for name, known_sign in DELIMITERS.items() if known_sign == sign)
