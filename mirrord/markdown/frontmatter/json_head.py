"""
JSON front matter (`{` … `}` at the start of a page, of Hugo): its values, and changing single keys; other bytes stay.

The result is not trusted: `page_properties.with_keys` reads it back and compares.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.record_text import check_head_storable
from mirrord.markdown.frontmatter.yaml_reader import (
    MAX_EXACT_INTEGER,
    MAX_YAML_CHARACTERS,
    MAX_YAML_DEPTH,
    Json,
    Removed,
)

_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_NUL_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


class _Member(NamedTuple):
    """A key, and the offsets of the key, of its value and behind that."""

    key: str
    start: int
    value_start: int
    end: int


def load_json(source: str) -> dict[str, Json]:
    """
    The values of *source* by key; numbers that a row cannot hold as text, as of YAML.

    Raises:
        Damaged: not an object of JSON, over a limit, or a text that a row cannot hold.
    """
    if len(source) > MAX_YAML_CHARACTERS:
        raise Damaged("the front matter is larger than 64 kB")
    if _NUL_ESCAPE.search(source):
        raise Damaged("the front matter holds a NUL character, which Postgres cannot store")
    try:
        values = json.loads(
            source, parse_constant=_refuse_constant, parse_int=_read_integer, parse_float=_read_fraction
        )
    except (ValueError, RecursionError) as error:
        raise Damaged(f"the front matter is not valid JSON: {error}") from error
    if not isinstance(values, dict):
        raise Damaged("the front matter is not an object of JSON")
    if _depth_of(values) > MAX_YAML_DEPTH:
        raise Damaged(f"the front matter is nested deeper than {MAX_YAML_DEPTH}")
    check_head_storable(values)
    return values


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is no number")


def _read_integer(text: str) -> Json:
    number = int(text)
    return number if abs(number) <= MAX_EXACT_INTEGER else text


def _read_fraction(text: str) -> Json:
    number = float(text)
    return number if math.isfinite(number) else text


def _depth_of(value: Json) -> int:
    """The levels of objects and lists in *value*."""
    depth, level = 0, [value]
    while level:
        inner: list[Json] = []
        for item in level:
            inner += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        depth, level = depth + 1, inner
    return depth


def rewrite_json(source: str, changes: Mapping[str, Json | Removed], ending: str) -> str:
    """*source* with *changes* applied; empty without its last key. A new `id` goes first, other new keys last."""
    for key, value in changes.items():
        source = _without(source, key) if isinstance(value, Removed) else _with_value(source, key, value, ending)
    return source if _members_of(source) else ""


def _members_of(source: str) -> list[_Member]:
    members: list[_Member] = []
    position = _skip_blanks(source, source.index("{") + 1)
    while source[position] == '"':
        key, behind = _DECODER.raw_decode(source, position)
        value_start = _skip_blanks(source, source.index(":", behind) + 1)
        _, end = _DECODER.raw_decode(source, value_start)
        members.append(_Member(key, position, value_start, end))
        position = _skip_blanks(source, end)
        if source[position] == ",":
            position = _skip_blanks(source, position + 1)
    return members


def _skip_blanks(source: str, position: int) -> int:
    match = _BLANKS.match(source, position)
    return match.end() if match else position


def _without(source: str, key: str) -> str:
    """*source* without every member of that *key*."""
    members = _members_of(source)
    index = next((index for index, member in enumerate(members) if member.key == key), None)
    if index is None:
        return source
    if index + 1 < len(members):
        start, end = members[index].start, members[index + 1].start
    else:
        start, end = members[index - 1].end if index else members[index].start, members[index].end
    return _without(source[:start] + source[end:], key)


def _with_value(source: str, key: str, value: Json, ending: str) -> str:
    members = _members_of(source)
    if not members:
        return f"{{{ending}  {json.dumps(key, ensure_ascii=False)}: {_write_value(value, '  ', ending)}{ending}}}"
    gap = source[source.index("{") + 1 : members[0].start]
    margin = re.split(r"[\r\n]", gap)[-1] if re.search(r"[\r\n]", gap) else None
    written = _write_value(value, margin, ending)
    same = [member for member in members if member.key == key]
    if same:
        return source[: same[-1].value_start] + written + source[same[-1].end :]
    entry = f"{json.dumps(key, ensure_ascii=False)}: {written}"
    if key == "id":
        start = members[0].start
        return f"{source[:start]}{entry},{gap or ' '}{source[start:]}"
    end = members[-1].end
    return f"{source[:end]},{gap or ' '}{entry}{source[end:]}"


def _write_value(value: Json, margin: str | None, ending: str) -> str:
    """JSON of *value*; margin: the indent of its member, over lines if it holds values; None: all on one line."""
    if margin is None or not isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    written = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=margin or 2)
    return written.replace("\n", ending + margin)
