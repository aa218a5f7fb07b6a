"""A survey's file: read twice from its beginning, first to see whether all of it can be taken in."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from mirrord.codec.columns import Column, Columns, columns_of, headers
from mirrord.codec.survey import DELIMITERS, Row, delimiter_of, rows, widened
from mirrord.commands.failure import Failed, invalid
from mirrord.convert.encoding import SAMPLE, encoding_of, western
from mirrord.errors import Damaged

CODE = "SURVEY_NOT_IMPORTED"
_LOOKED_AT = 400  # lines by which the delimiter is told
_LISTED = 20  # faults in one message
_SHOWN = 10  # rows of a preview


@dataclass(frozen=True, slots=True)
class Table:
    """How a file is to be read."""

    file: Path
    encoding: str
    delimiter: str
    has_header: bool
    names: Sequence[str]
    columns: Columns

    def rows(self) -> Iterator[Row]:
        """Its rows, without header and empty ones."""
        with self.file.open(encoding=self.encoding, newline="") as stream:
            found = (row for row in rows(stream, self.delimiter) if not row.is_empty)
            yield from islice(found, 1 if self.has_header else 0, None)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a first look at all rows told. first: some of them. filled: by text column, how many rows have a text."""

    count: int
    first: Sequence[Sequence[str]]
    filled: Mapping[int, int]


def opened(file: Path, delimiter: str, mappings: Sequence[Mapping[str, object]], *, has_header: bool) -> Table:
    """
    How to read *file*. delimiter: a name of one, the sign itself, or auto.

    Raises Failed for what is no table of text, and for mappings that do not fit it; then `columns` of its facts are
    the names there are.
    """
    encoding = _encoding(file)
    with file.open(encoding=encoding, newline="") as stream:
        begins = list(islice(stream, _LOOKED_AT))
    sign = delimiter_of(begins) if delimiter == "auto" else DELIMITERS.get(delimiter, delimiter)
    if sign not in DELIMITERS.values():
        known = ", ".join(DELIMITERS)
        raise invalid(f"{CODE}/INVALID_DELIMITER", f"{delimiter!r} is no delimiter.", f"Use auto, {known}.")
    first = _first(begins, sign)
    names = headers(first, are_given=has_header)
    try:
        return Table(file, encoding, sign, has_header, names, columns_of(names, mappings))
    except Damaged as error:
        raise Failed(
            f"{CODE}/INVALID_MAPPING",
            "invalid",
            f"The columns cannot be used: {error}.",
            "Map columns by header or index (from 0); the headers are in `columns`.",
            {"columns": list(names), "delimiter": _name(sign), "encoding": encoding},
        ) from error


def checked(table: Table) -> Checked:
    """
    Look at every row. Raises Failed, listing the lines, if one does not fit.

    What is kept of a row is its identifier, as long as this looks.
    """
    faults, seen, filled, first = _Faults(), dict[str, int](), Counter[int](), list[Sequence[str]]()
    count = 0
    try:
        for row in table.rows():
            cells = widened(row, table.columns.width)
            if cells is None:
                faults.add("RAGGED_ROWS", row, f"has {len(row.cells)} cells instead of {table.columns.width}")
                continue
            count += 1
            if len(first) < _SHOWN:
                first.append(tuple(cells))
            filled.update(column.index for column in table.columns.texts if cells[column.index].strip())
            _check_identifier(table, row, cells, seen, faults)
            for column in table.columns.attributes:
                _check_value(column, row, cells, faults)
    except Damaged as error:
        raise _malformed(error) from error
    faults.raise_any()
    if not count:
        raise invalid(f"{CODE}/EMPTY", "The file has no rows.", "Choose another file, or say has_header=false.")
    return Checked(count, first, filled)


def _check_identifier(table: Table, row: Row, cells: Sequence[str], seen: dict[str, int], faults: "_Faults") -> None:
    if table.columns.identifier is None:
        return
    name = cells[table.columns.identifier.index].strip()
    if not name:
        faults.add("MISSING_IDENTIFIER", row, "has no identifier")
    elif name in seen:
        faults.add("DUPLICATE_IDENTIFIER", row, f"has the identifier {name[:60]!r} of line {seen[name]}")
    else:
        seen[name] = row.line


def _check_value(column: Column, row: Row, cells: Sequence[str], faults: "_Faults") -> None:
    try:
        column.value(cells[column.index])
    except ValueError as error:
        faults.add("INVALID_VALUE", row, f"in {column.name!r}: {error}")


class _Faults:
    """Rows that do not fit; only the first are kept."""

    def __init__(self) -> None:
        self._count = 0
        self._code = ""
        self._listed: list[dict[str, object]] = []

    def add(self, code: str, row: Row, why: str) -> None:
        self._count += 1
        self._code = self._code or code
        if len(self._listed) < _LISTED:
            self._listed.append({"line": row.line, "problem": why})

    def raise_any(self) -> None:
        if not self._count:
            return
        told = "; ".join(f"line {one['line']} {one['problem']}" for one in self._listed)
        more = f"; and {self._count - len(self._listed)} more" if self._count > len(self._listed) else ""
        rows_of = "1 row does" if self._count == 1 else f"{self._count} rows do"
        sentence = f"{rows_of} not fit: {told}{more}."
        facts = {"problems": self._listed, "problems_count": self._count}
        raise Failed(f"{CODE}/{self._code}", "invalid", sentence, "Mend those lines; nothing was imported.", facts)


def _first(begins: Sequence[str], sign: str) -> Sequence[str]:
    try:
        found = next((row for row in rows(begins, sign) if not row.is_empty), None)
    except Damaged as error:
        raise _malformed(error) from error
    if found is None:
        raise invalid(f"{CODE}/EMPTY", "The file has no rows.", "Choose another file.")
    return found.cells


def _malformed(error: Damaged) -> Failed:
    return invalid(f"{CODE}/MALFORMED", f"The file is no table that can be read: {error}.", "Mend that line.")


def _encoding(file: Path) -> str:
    """The one by which all of the file can be read."""
    with file.open("rb") as stream:
        sample = stream.read(SAMPLE + 1)
    found = encoding_of(sample[:SAMPLE], is_whole=len(sample) <= SAMPLE)
    for encoding in (found, western(sample), "latin-1"):
        if _reads(file, encoding):
            return encoding
    raise invalid(f"{CODE}/ENCODING", "The file's letters are in no encoding that is known.", "Save it as UTF-8.")


def _reads(file: Path, encoding: str) -> bool:
    try:
        with file.open(encoding=encoding, newline="") as stream:
            while stream.read(SAMPLE):
                pass
    except UnicodeError:
        return False
    return True


def _name(sign: str) -> str:
    return next(name for name, one in DELIMITERS.items() if one == sign)
