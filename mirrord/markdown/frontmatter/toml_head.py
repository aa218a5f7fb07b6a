"""
TOML front matter (`+++`, of Hugo and Zola): its values as JSON, and changing single keys; other bytes stay.

The result is not trusted: `page_properties.with_keys` reads it back and compares.
"""

import math
import tomllib
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from datetime import date, datetime, time

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, Date, DateTime, InlineTable, Item, Table, Time

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.record_text import check_head_storable
from mirrord.markdown.frontmatter.yaml_reader import (
    MAX_EXACT_INTEGER,
    MAX_YAML_CHARACTERS,
    MAX_YAML_DEPTH,
    Json,
    Removed,
    is_same_json,
)


def load_toml(source: str) -> dict[str, Json]:
    """
    The values of *source* by key; dates as ISO text, and numbers that JSON lacks as text.

    Raises:
        Damaged: not TOML, over a limit, or a text that a row cannot hold.
    """
    _check_limits(source)
    try:
        values = {key: _to_json(value, 2) for key, value in tomllib.loads(source).items()}
    except (ValueError, RecursionError) as error:
        raise Damaged(f"the front matter is not valid TOML: {error}") from error
    check_head_storable(values)
    return values


def _check_limits(source: str) -> None:
    if len(source) > MAX_YAML_CHARACTERS:
        raise Damaged("the front matter is larger than 64 kB")
    if any(line.partition("=")[0].count(".") > MAX_YAML_DEPTH for line in source.splitlines()):
        raise Damaged(f"the front matter has a key of more than {MAX_YAML_DEPTH} parts")


def _to_json(value: object, depth: int) -> Json:
    if depth > MAX_YAML_DEPTH:
        raise Damaged(f"the front matter is nested deeper than {MAX_YAML_DEPTH}")
    match value:
        case dict():
            return {str(key): _to_json(item, depth + 1) for key, item in value.items()}
        case list():
            return [_to_json(item, depth + 1) for item in value]
        case datetime() | date() | time():
            return value.isoformat()
        case str() if "\0" in value:
            raise Damaged("the front matter holds a NUL character, which Postgres cannot store")
        case float() if not math.isfinite(value):
            return str(value)
        case int() if not isinstance(value, bool) and abs(value) > MAX_EXACT_INTEGER:
            return str(value)
        case bool() | int() | float() | str():
            return value
    raise Damaged("the front matter holds a value that JSON lacks")


def rewrite_toml(source: str, changes: Mapping[str, Json | Removed], ending: str) -> str:
    """
    *source* with *changes* applied; added lines end with *ending*. A new `id` goes first, other new keys before tables.

    Raises:
        Damaged: it cannot be changed without harm.
    """
    first = ""
    try:
        document = tomlkit.parse(source)
        if tomlkit.dumps(document) != source:
            raise Damaged("the front matter is written in a way that mirrord cannot change without harm")
        values = load_toml(source)
        for key, value in changes.items():
            if key == "id" and key not in document and not isinstance(value, Removed):
                first = f"id = {_make_item(value).as_string()}{ending}"
            else:
                _change_key(document, key, values.get(key), value, ending)
        return first + tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise Damaged(f"the front matter cannot be changed: {error}") from error


def _change_key(table: MutableMapping[str, Item], key: str, old: Json, new: Json | Removed, ending: str) -> None:
    if isinstance(new, Removed):
        table.pop(key, None)
        return
    before = table.get(key)
    if isinstance(before, Table | InlineTable) and isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            if name not in new:
                before.pop(name, None)
            elif name not in old or not is_same_json(old[name], new[name]):
                _change_key(before, name, old.get(name), new[name], ending)
    elif isinstance(before, Array) and isinstance(old, list) and isinstance(new, list):
        _change_array(before, old, new)
    elif before is not None:
        table[key] = _make_item(new, before)
    else:
        item = _make_item(new)
        if not isinstance(table, InlineTable):
            item.trivia.trail = ending
        table[key] = item


def _change_array(array: Array, old: list[Json], new: list[Json]) -> None:
    """Change the items between those that are equal at both ends."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if not is_same_json(old[at], new[at])), shorter)
    tail = next((at for at in range(shorter - head) if not is_same_json(old[-1 - at], new[-1 - at])), shorter - head)
    for _ in range(head, len(old) - tail):
        del array[head]
    for at in range(head, len(new) - tail):
        array.insert(at, _make_item(new[at]))


def _make_item(value: Json, before: Item | None = None) -> Item:
    """*value* as TOML; a text is a date or a time if the value *before* was one."""
    if value is None:
        raise Damaged("TOML front matter has no form for a key without a value")
    if isinstance(value, str):
        moment = _moment_of(value, before)
        is_over_lines = "\n" in value and not value.startswith("\n") and "\r" not in value
        return tomlkit.item(moment) if moment is not None else tomlkit.string(value, multiline=is_over_lines)
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        for key, item in value.items():
            table.append(key, _make_item(item))
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        for item in value:
            array.append(_make_item(item))
        return array
    return tomlkit.item(value)


def _moment_of(text: str, before: Item | None) -> date | datetime | time | None:
    """*text* as a moment of the kind of the value *before*; None: it is none, or that was none."""
    with suppress(ValueError):
        if isinstance(before, DateTime):
            return datetime.fromisoformat(text)
        if isinstance(before, Date):
            return date.fromisoformat(text)
        if isinstance(before, Time):
            return time.fromisoformat(text)
    return None
