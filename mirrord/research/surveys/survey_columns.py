"""PURE: what the columns of a survey mean, their cells as values, and the pages of its cases."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from urllib.parse import quote

from mirrord.errors import Damaged
from mirrord.markdown.inline.escaping import escape_text

_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?(?:[eE][+-]?\d{1,3})?")
_DECIMAL_COMMA = re.compile(r"([+-]?\d{1,15}),(\d{1,15})")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_WORDS = {
    **dict.fromkeys(("true", "yes", "y", "t", "1"), True),
    **dict.fromkeys(("false", "no", "n", "f", "0"), False),
}

Value = str | int | float | bool


class Target(StrEnum):
    """The use of a column."""

    SOURCE_TEXT = "source_text"  # the cells are the texts of sources
    CASE_ATTRIBUTE = "case_attribute"  # the cells are attributes of cases
    IDENTIFIER = "identifier"  # the cells name the cases
    SKIP = "skip"  # the column is not imported


class ValueType(StrEnum):
    """The type of an attribute's values."""

    TEXT = "text"
    NUMBER = "number"
    DATE = "date"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table. index: 0 is the first. name: of the attribute or question."""

    index: int
    name: str
    type: ValueType = ValueType.TEXT

    def read_value(self, cell: str) -> Value | None:
        """
        The value of a cell; None if it is blank.

        Raises ValueError with the end of a sentence if the cell does not fit the column's type.
        """
        text = cell.strip()
        return _READERS[self.type](text) if text else None


@dataclass(frozen=True, slots=True)
class Columns:
    """The imported columns. identifier: None if rows have none. width: columns of the table."""

    texts: tuple[Column, ...]
    attributes: tuple[Column, ...]
    identifier: Column | None
    width: int


def column_names(first: Sequence[str], *, are_given: bool) -> list[str]:
    """The names of the columns, all non-empty and distinct: the cells of the first row, or else their numbers."""
    names = list[str]()
    for number, cell in enumerate(first, 1):
        name = " ".join(cell.split()) if are_given else ""
        name = name or f"Column {number}"
        candidate, number_of_name = name, 1
        while candidate.casefold() in map(str.casefold, names):
            number_of_name += 1
            candidate = f"{name} ({number_of_name})"
        names.append(candidate)
    return names


def columns_of(names: Sequence[str], mappings: Sequence[Mapping[str, object]]) -> Columns:
    """
    The columns of *mappings*: `column` (index from 0, or header), `target`, `attribute_name`, `attribute_type`.

    Raises Damaged with a sentence.
    """
    columns_by_target: dict[Target, list[Column]] = {target: [] for target in Target}
    used = set[int]()
    for mapping in mappings:
        index = _column_index(names, mapping.get("column"))
        if index in used:
            raise Damaged(f"the column {names[index]!r} is mapped twice")
        used.add(index)
        columns_by_target[_target_of(mapping)].append(
            Column(index, _attribute_name(mapping, names[index]), _type_of(mapping))
        )
    if not columns_by_target[Target.SOURCE_TEXT]:
        raise Damaged("at least one column must be a source_text")
    if len(columns_by_target[Target.IDENTIFIER]) > 1:
        raise Damaged("only one column can be the identifier")
    _check_names(columns_by_target[Target.CASE_ATTRIBUTE])
    return Columns(
        tuple(columns_by_target[Target.SOURCE_TEXT]),
        tuple(columns_by_target[Target.CASE_ATTRIBUTE]),
        next(iter(columns_by_target[Target.IDENTIFIER]), None),
        len(names),
    )


def _column_index(names: Sequence[str], column: object) -> int:
    known_names = ", ".join(names[:30])
    if isinstance(column, str) and column not in names and column.isdecimal():
        column = int(column)
    if isinstance(column, int) and not isinstance(column, bool):
        if not 0 <= column < len(names):
            raise Damaged(f"there is no column {column}; the first is 0, the last {len(names) - 1}")
        return column
    label = " ".join(str(column).split())
    for number, name in enumerate(names):
        if name == label:
            return number
    matching = [number for number, name in enumerate(names) if name.casefold() == label.casefold()]
    if not matching:
        raise Damaged(f"there is no column {label!r}; there are {known_names}")
    return matching[0]


def _target_of(mapping: Mapping[str, object]) -> Target:
    try:
        return Target(str(mapping.get("target")))
    except ValueError:
        raise Damaged(f"{mapping.get('target')!r} is no target; there are {', '.join(Target)}") from None


def _type_of(mapping: Mapping[str, object]) -> ValueType:
    try:
        return ValueType(str(mapping.get("attribute_type") or ValueType.TEXT))
    except ValueError:
        raise Damaged(f"{mapping.get('attribute_type')!r} is no type; there are {', '.join(ValueType)}") from None


def _attribute_name(mapping: Mapping[str, object], header: str) -> str:
    name = " ".join(str(mapping.get("attribute_name") or header).split())
    if not name or len(name) > 100 or not name.isprintable():
        raise Damaged(f"{name[:100]!r} is no name of an attribute: 1 to 100 letters")
    return name


def _check_names(columns: Sequence[Column]) -> None:
    names = set[str]()
    for column in columns:
        if column.name.casefold() in names:
            raise Damaged(f"two attributes are called {column.name!r}")
        names.add(column.name.casefold())


def _read_text(text: str) -> Value:
    return text


def _read_number(text: str) -> Value:
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


def _read_date(text: str) -> Value:
    if dotted := _DOTTED.fullmatch(text):
        text = f"{dotted[3]}-{int(dotted[2]):02}-{int(dotted[1]):02}"
    text = text.replace("/", "-") if text[4:5] == "/" else text
    try:
        return date.fromisoformat(text).isoformat() if len(text) == 10 else _read_moment(text)
    except ValueError:
        raise ValueError(f"{text[:60]!r} is not a date such as 2024-12-31 or 31.12.2024") from None


def _read_moment(text: str) -> str:
    if len(text) < 16:
        raise ValueError
    return datetime.fromisoformat(text).isoformat()


def _read_boolean(text: str) -> Value:
    try:
        return _WORDS[text.casefold()]
    except KeyError:
        raise ValueError(f"{text[:60]!r} is neither yes nor no") from None


_READERS = {
    ValueType.TEXT: _read_text,
    ValueType.NUMBER: _read_number,
    ValueType.DATE: _read_date,
    ValueType.BOOLEAN: _read_boolean,
}


DIRECTORY = "Cases"
CASE = "case"  # the value of `type` in the front matter of a case
ATTRIBUTES = "attributes"  # the key of a case's attributes: a mapping of values by name
SURVEY = "survey"  # the key of the survey's name

_PROSE = re.compile(r"(?![-+#>=|:~$ ]|\d+[.)])[^\\`*_\[\]!<>&~=$%^|\n\r\t]*")
_PLAIN = re.compile(r"[A-Za-zÀ-ÖØ-öø-ÿ](?:[\w .,'/()-]*[\w.)'])?")
_PLAIN_DATE_OR_ID = re.compile(  # a date, which readers of YAML accept as one, and the ids of pages
    r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d)?|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_NOT_TEXT = frozenset("null true false yes no on off y n".split())
_UNSTORABLE = re.compile(r"[^\n\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_SAFE_IN_LINKS = "!$&'*+,;=:@/-._~"


def answer_markdown(text: str) -> str:
    """A respondent's answer as paragraphs of Markdown."""
    clean = _UNSTORABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " "))
    lines = [line.strip() for line in clean.strip().split("\n")]
    return "\n".join(line and _escape_line(line, several=len(lines) > 1) for line in lines)


def front_matter_markdown(keys: Mapping[str, Value | Mapping[str, Value]]) -> str:
    """A front matter with *keys*; top-level keys are plain words, those of a mapping any text."""
    lines = ["---"]
    for key, value in keys.items():
        if isinstance(value, Mapping):
            lines += [f"{key}:"] if value else []
            lines += [f"  {_yaml_scalar(name)}: {_yaml_scalar(entry)}" for name, entry in value.items()]
        else:
            lines.append(f"{key}: {_yaml_scalar(value)}")
    return "\n".join((*lines, "---", ""))


def heading_markdown(title: str, target: str | None = None, level: int = 2) -> str:
    """A heading that links to *target*; None: no link."""
    label = _escape_label(title)
    return f"{'#' * level} {f'[{label}]({target})' if target is not None else label}\n\n"


def list_markdown(links: Iterable[tuple[str, str]]) -> str:
    """A list of links, by title and target."""
    return "".join(f"- [{_escape_label(title)}]({target})\n" for title, target in links)


def destination_from(directory: str, path: str, heading: str | None = None) -> str:
    """The link destination of the page at *path*, and of a heading there, for a page in *directory*."""
    place = quote("../" * (directory.count("/") + 1) + path, safe=_SAFE_IN_LINKS)
    return f"{place}#{quote(heading, safe='')}" if heading is not None else place


def _escape_line(line: str, *, several: bool) -> str:
    """Escape a line. several: there are more lines, so math or a link that begins here could end in one of them."""
    # `$1 \$$` would be math: a backslash before one of two dollars leaves the other one to close it
    wary = "$$" in line or (several and any(sign in line for sign in "$[]"))
    return line if _PROSE.fullmatch(line) else escape_text(line, "\n", "\n", wary=wary)


def _escape_label(text: str) -> str:
    return text if _PROSE.fullmatch(text) else escape_text(text, "x", "x", wary=True)


def _yaml_scalar(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return json.dumps(value)
    if _PLAIN_DATE_OR_ID.fullmatch(value) or (_PLAIN.fullmatch(value) and value.casefold() not in _NOT_TEXT):
        return value
    return json.dumps(_UNSTORABLE.sub("\ufffd", value), ensure_ascii=False)
