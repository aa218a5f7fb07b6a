"""
Read small YAML and JSON records, and rewrite them without touching unchanged keys.

YAML is read like front matter (see `properties`). JSON holds one object; mirrord writes it in a canonical form:
sorted keys, two blanks a level, a final line ending.
"""

import json
import math
from collections.abc import Mapping
from typing import NoReturn

from mirrord.domain.place import RecordFormat
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import BOM, first_line_ending
from mirrord.markdown.frontmatter.yaml_edits import rewrite_properties
from mirrord.markdown.frontmatter.yaml_reader import (
    MAX_YAML_DEPTH,
    REMOVED,
    Json,
    Misread,
    Removed,
    is_same_json,
    load_values,
)

MAX_JSON_CHARACTERS = 8 << 20  # characters

Data = dict[str, Json]


def read_record(form: RecordFormat, text: str) -> Data:
    """
    The values of a record.

    Raises Damaged if it cannot be read, or holds values that a row cannot; the message names the line.
    """
    source = text.removeprefix(BOM)
    data = _read_yaml(source) if form is RecordFormat.YAML else _read_json(source)
    check_storable(data)
    return data


def write_record(form: RecordFormat, text: str | None, data: Mapping[str, Json]) -> str:
    """
    *text* with the values of *data*; None: a new file. In YAML all other keys and all comments keep their bytes.

    Raises Damaged if *text* cannot be read, or cannot hold these values.
    """
    check_storable(data)
    before = read_record(form, text) if text is not None else None
    if text is not None and before is not None and is_same_json(before, dict(data)):
        return text
    new = _with_values(text or "", before or {}, data) if form is RecordFormat.YAML else canonical_json(data)
    if not is_same_json(read_record(form, new), dict(data)):
        raise Damaged("it is written in a way that mirrord cannot change without harm")
    return new


def canonical_json(data: Mapping[str, object]) -> str:
    """JSON in mirrord's canonical form: the same text for the same values."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2, sort_keys=True) + "\n"


def _with_values(text: str, before: Data, data: Mapping[str, Json]) -> str:
    mark, source, ending = BOM if text.startswith(BOM) else "", text.removeprefix(BOM), first_line_ending(text)
    if source and source[-1] not in "\r\n":
        source += ending
    changes: dict[str, Json | Removed] = {key: REMOVED for key in before if key not in data}
    changes |= {key: value for key, value in data.items() if not is_same_json(before.get(key, REMOVED), value)}
    return mark + rewrite_properties(source, changes, ending)


def _read_yaml(source: str) -> Data:
    try:
        return load_values(source)
    except Misread as misread:
        where = "it" if misread.line is None else f"line {misread.line + 1}:"
        raise Damaged(f"{where} {misread.problem}") from misread


def _read_json(source: str) -> Data:
    if len(source) > MAX_JSON_CHARACTERS:
        raise Damaged("it is larger than 8 MB")
    try:
        data = json.loads(source, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise Damaged(f"line {error.lineno}: {error.msg}") from error
    except RecursionError as error:
        raise Damaged(f"it is nested deeper than {MAX_YAML_DEPTH}") from error
    except ValueError as error:
        raise Damaged(f"it holds an invalid number: {error}") from error
    if not isinstance(data, dict):
        raise Damaged("line 1: it is not one object, `{…}`")
    return data


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def check_storable(data: Mapping[str, object]) -> None:
    """
    Raises Damaged for values that a row cannot hold.

    `jsonb` allows neither NUL nor halves of surrogate pairs, and nesting is limited to MAX_DEPTH.
    """
    pending: list[tuple[object, int]] = [(data, 1)]
    while pending:
        value, depth = pending.pop()
        if depth > MAX_YAML_DEPTH:
            raise Damaged(f"it is nested deeper than {MAX_YAML_DEPTH}")
        if isinstance(value, dict):
            pending += [(each, depth + 1) for pair in value.items() for each in pair]
        elif isinstance(value, list):
            pending += [(each, depth + 1) for each in value]
        elif isinstance(value, str) and not _is_storable(value):
            raise Damaged("it holds a character that no text can hold (NUL, or half of a surrogate pair)")
        elif isinstance(value, int | float) and not _is_exact(value):
            raise Damaged("it holds a number that is too large")


def check_head_storable(values: Mapping[str, object]) -> None:
    """As check_storable(), of the values of front matter."""
    try:
        check_storable(values)
    except Damaged as damaged:
        raise Damaged(f"the front matter cannot be stored: {damaged}") from damaged


def _is_exact(number: float) -> bool:
    """Whether a number is stored exactly: integers beyond 64 bits are rounded on the way."""
    return math.isfinite(number) if isinstance(number, float) else -(1 << 63) <= number < 1 << 64


def _is_storable(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
