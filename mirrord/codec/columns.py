"""What the columns of a survey mean, as somebody says; and their cells as values."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from mirrord.errors import Damaged

_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?(?:[eE][+-]?\d{1,3})?")
_DECIMAL_COMMA = re.compile(r"([+-]?\d{1,15}),(\d{1,15})")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_WORDS = {
    **dict.fromkeys(("true", "yes", "y", "t", "1"), True),
    **dict.fromkeys(("false", "no", "n", "f", "0"), False),
}

Value = str | int | float | bool


class Target(StrEnum):
    """What becomes of a column."""

    SOURCE_TEXT = "source_text"  # its cells are texts of sources
    CASE_ATTRIBUTE = "case_attribute"  # they are what is known of cases
    IDENTIFIER = "identifier"  # they name the cases
    SKIP = "skip"


class ValueType(StrEnum):
    """What the values of an attribute are."""

    TEXT = "text"
    NUMBER = "number"
    DATE = "date"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True)
class Column:
    """A column; index: 0 is the first. name: of the attribute or question."""

    index: int
    name: str
    type: ValueType = ValueType.TEXT

    def value(self, cell: str) -> Value | None:
        """
        What a cell says; None: nothing.

        Raises ValueError with the end of a sentence if it does not say what the column is of.
        """
        text = cell.strip()
        return _READERS[self.type](text) if text else None


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that are used. identifier: None: rows have none. width: of the table."""

    texts: tuple[Column, ...]
    attributes: tuple[Column, ...]
    identifier: Column | None
    width: int


def headers(first: Sequence[str], *, are_given: bool) -> list[str]:
    """The names of columns: the cells of the first row, or else their numbers; none is empty, none twice."""
    names = list[str]()
    for number, cell in enumerate(first, 1):
        name = " ".join(cell.split()) if are_given else ""
        name = name or f"Column {number}"
        free, again = name, 1
        while free.casefold() in map(str.casefold, names):
            again += 1
            free = f"{name} ({again})"
        names.append(free)
    return names


def columns_of(names: Sequence[str], mappings: Sequence[Mapping[str, object]]) -> Columns:
    """
    The columns that *mappings* mean: `column` (index from 0, or header), `target`, `attribute_name`, `attribute_type`.

    Raises Damaged with a sentence.
    """
    found: dict[Target, list[Column]] = {target: [] for target in Target}
    used = set[int]()
    for mapping in mappings:
        index = _index(names, mapping.get("column"))
        if index in used:
            raise Damaged(f"the column {names[index]!r} is mapped twice")
        used.add(index)
        found[_target(mapping)].append(Column(index, _named(mapping, names[index]), _type(mapping)))
    if not found[Target.SOURCE_TEXT]:
        raise Damaged("at least one column must be a source_text")
    if len(found[Target.IDENTIFIER]) > 1:
        raise Damaged("only one column can be the identifier")
    _check_names(found[Target.CASE_ATTRIBUTE])
    return Columns(
        tuple(found[Target.SOURCE_TEXT]),
        tuple(found[Target.CASE_ATTRIBUTE]),
        next(iter(found[Target.IDENTIFIER]), None),
        len(names),
    )


def _index(names: Sequence[str], column: object) -> int:
    listed = ", ".join(names[:30])
    if isinstance(column, str) and column not in names and column.isdecimal():
        column = int(column)
    if isinstance(column, int) and not isinstance(column, bool):
        if not 0 <= column < len(names):
            raise Damaged(f"there is no column {column}; the first is 0, the last {len(names) - 1}")
        return column
    wanted = " ".join(str(column).split())
    for number, name in enumerate(names):
        if name == wanted:
            return number
    alike = [number for number, name in enumerate(names) if name.casefold() == wanted.casefold()]
    if not alike:
        raise Damaged(f"there is no column {wanted!r}; there are {listed}")
    return alike[0]


def _target(mapping: Mapping[str, object]) -> Target:
    try:
        return Target(str(mapping.get("target")))
    except ValueError:
        raise Damaged(f"{mapping.get('target')!r} is no target; there are {', '.join(Target)}") from None


def _type(mapping: Mapping[str, object]) -> ValueType:
    try:
        return ValueType(str(mapping.get("attribute_type") or ValueType.TEXT))
    except ValueError:
        raise Damaged(f"{mapping.get('attribute_type')!r} is no type; there are {', '.join(ValueType)}") from None


def _named(mapping: Mapping[str, object], header: str) -> str:
    name = " ".join(str(mapping.get("attribute_name") or header).split())
    if not name or len(name) > 100 or not name.isprintable():
        raise Damaged(f"{name[:100]!r} is no name of an attribute: 1 to 100 letters")
    return name


def _check_names(columns: Sequence[Column]) -> None:
    seen = set[str]()
    for column in columns:
        if column.name.casefold() in seen:
            raise Damaged(f"two attributes are called {column.name!r}")
        seen.add(column.name.casefold())


def _text(text: str) -> Value:
    return text


def _number(text: str) -> Value:
    if comma := _DECIMAL_COMMA.fullmatch(text):
        if len(comma[2]) == 3:
            raise ValueError(f"{text!r} may be a decimal number or thousands; write it with a point or without a comma")
        text = f"{comma[1]}.{comma[2]}"
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text[:60]!r} is not a number")
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:60]!r} is too large a number")
    return int(text) if text.lstrip("+-").isdecimal() else number


def _date(text: str) -> Value:
    if dotted := _DOTTED.fullmatch(text):
        text = f"{dotted[3]}-{int(dotted[2]):02}-{int(dotted[1]):02}"
    text = text.replace("/", "-") if text[4:5] == "/" else text
    try:
        return date.fromisoformat(text).isoformat() if len(text) == 10 else _moment(text)
    except ValueError:
        raise ValueError(f"{text[:60]!r} is not a date such as 2024-12-31 or 31.12.2024") from None


def _moment(text: str) -> str:
    if len(text) < 16:
        raise ValueError
    return datetime.fromisoformat(text).isoformat()


def _boolean(text: str) -> Value:
    try:
        return _WORDS[text.casefold()]
    except KeyError:
        raise ValueError(f"{text[:60]!r} is neither yes nor no") from None


_READERS = {
    ValueType.TEXT: _text,
    ValueType.NUMBER: _number,
    ValueType.DATE: _date,
    ValueType.BOOLEAN: _boolean,
}
