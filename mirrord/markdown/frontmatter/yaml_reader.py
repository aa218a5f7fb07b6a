"""
Read the YAML of front matter: top-level keys, where they stand and what they mean, within limits.

A plain scalar is a number, true, false or null if it is one in JSON (or another YAML 1.2 spelling of the
latter three); a date becomes its ISO string; anything else stays text: `no`, `1:30`, `0x1F`, `007`,
`.nan`, a number JavaScript would round, `[[Page]]`.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import Any, Final, TypeAlias

import yaml
from frontmatter.default_handlers import YAMLHandler
from yaml.constructor import SafeConstructor

from mirrord.errors import Damaged

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None


class Misread(Damaged):
    """YAML that cannot be read. problem: half a sentence. line: from 0 on; None: the front matter as a whole."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        where = "the front matter" if line is None else f"line {line + 2} of the front matter:"
        super().__init__(f"{where} {problem}")
        self.problem, self.line = problem, line


class Removed(Enum):
    """Stands for the value of a key to remove, since None is a value."""

    REMOVED = "removed"


REMOVED: Final = Removed.REMOVED

MAX_YAML_CHARACTERS = 65_536  # of a front matter; CSafeLoader overflows the C stack at about 60 kB of nesting
MAX_YAML_DEPTH = 64
MAX_EVENTS = 6_000  # of the parser: about 3,000 values, read in about 50 ms
MAX_EXACT_INTEGER = 2**53  # JavaScript rounds integers beyond this

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$")
_BOOLEAN = re.compile(r"(?:true|True|TRUE|false|False|FALSE)$")
_NULL = re.compile(r"(?:~|null|Null|NULL|)$")
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d$"
    r"|\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?$"
)
_WIKILINK = re.compile(r"!?\[\[[^\[\]\r\n]+\]\]")


@dataclass(slots=True)
class Property:
    """
    One top-level key. Offsets are code points of the YAML source.

    text: the scalar as text, without quotes; None for a list or a mapping.
    style: `'`, `"`, `|`, `>` for such scalars, "" for a plain one, `[` and `{` for values in flow
        style, `-` and `:` for lists and mappings over several lines.
    end: meaningless for the last two, which end before the next key.
    items: the spans of the items of a list.
    value: its value as JSON.
    """

    key: str
    key_start: int
    key_end: int
    start: int = 0
    end: int = 0
    style: str = ""
    text: str | None = None
    items: list[tuple[int, int]] = field(default_factory=list)
    value: Json = None


def read_properties(source: str) -> list[Property]:
    """
    The top-level keys of *source* in order, read from parser events only, so that no input can do harm.

    Raises:
        Misread: not a YAML mapping with text keys, or over a limit, or with aliases, `<<` or an escaped NUL.
    """
    if not source:  # most texts written by agents have no front matter
        return []
    if len(source) > MAX_YAML_CHARACTERS:
        raise Misread("is larger than 64 kB")
    try:
        entries: list[Property] = YAMLHandler().load(source, Loader=_Loader)
        return entries
    except (yaml.YAMLError, ValueError) as error:
        raise _misread_of(error) from error


def load_values(source: str) -> dict[str, Json]:
    """The values of *source* by key; the last one of a repeated key. Raises Misread as `properties` does."""
    return values_of(read_properties(source))


def values_of(entries: Sequence[Property]) -> dict[str, Json]:
    """The values of *entries*, a result of `properties`, by key as in `load`."""
    return {entry.key: entry.value for entry in entries}


def is_same_json(value: Json | Removed, other: Json | Removed) -> bool:
    """Equality of JSON: 1 is 1.0 but not true."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(is_same_json, value, other))
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(is_same_json(item, other[key]) for key, item in value.items())
    return value == other


class _Loader(yaml.CSafeLoader):
    """One pass over the events of the parser, which checks and interprets each of them."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.source = source
        self.last_event: Any = None
        self.events_left = MAX_EVENTS
        self.anchors: set[str] = set()

    def advance(self) -> type:
        """Advance to the next event and return its type."""
        event: Any = self.get_event()
        self.last_event = event
        if self.events_left < 0:
            raise Misread("holds more than some 3,000 values")
        self.events_left -= 1
        kind = type(event)
        if kind is yaml.ScalarEvent:
            if "\0" in event.value:
                raise _misread_at(event, "it holds a NUL character, which Postgres cannot store")
        elif kind is yaml.AliasEvent:
            raise _misread_at(event, "aliases (*name) are not supported")
        return kind

    def get_single_data(self) -> list[Property]:
        self.advance()
        if self.advance() is yaml.StreamEndEvent:
            return []
        if self.advance() is not yaml.MappingStartEvent:
            raise _misread_at(self.last_event, "it is not made of `key: value` lines")
        self.check_anchor()
        entries = []
        while (kind := self.advance()) is not yaml.MappingEndEvent:
            entries.append(self.read_property(kind))
        self.advance()
        if self.advance() is yaml.DocumentStartEvent:
            raise _misread_at(self.last_event, "it holds a second YAML document")
        return entries

    def read_property(self, kind: type) -> Property:
        entry = Property(self.read_key(kind), self.last_event.start_mark.index, self.last_event.end_mark.index)
        kind, first = self.advance(), self.last_event
        entry.start = first.start_mark.index
        if kind is yaml.ScalarEvent:
            entry.text, entry.style, entry.value = first.value, first.style or "", self.read_scalar()
        elif kind is yaml.SequenceStartEvent:
            entry.style = "[" if first.flow_style else "-"
            entry.value = self.read_sequence(2, entry.items)
        else:
            entry.style = "{" if first.flow_style else ":"
            entry.value = self.read_mapping(2)
        entry.end = self.last_event.end_mark.index
        return entry

    def read_key(self, kind: type) -> str:
        event = self.last_event
        if kind is not yaml.ScalarEvent:
            raise _misread_at(event, "a key is not plain text")
        if event.value == "<<" and not event.style:
            raise _misread_at(event, "merge keys (<<) are not supported")
        self.check_anchor()
        return str(event.value)

    def read_node(self, kind: type, depth: int) -> Json:
        """The value that begins with the last event. depth: number of collections around it, itself included."""
        if kind is yaml.ScalarEvent:
            return self.read_scalar()
        return self.read_sequence(depth) if kind is yaml.SequenceStartEvent else self.read_mapping(depth)

    def read_sequence(self, depth: int, places: list[tuple[int, int]] | None = None) -> Json:
        """The list that begins with the last event. places: receives the spans of its items."""
        first = self.last_event
        self.check_depth(depth)
        items: list[Json] = []
        while (kind := self.advance()) is not yaml.SequenceEndEvent:
            start = self.last_event.start_mark.index
            items.append(self.read_node(kind, depth + 1))
            if places is not None:
                places.append((start, self.last_event.end_mark.index))
        if first.flow_style and len(items) == 1:
            flow_text = self.source[first.start_mark.index : self.last_event.end_mark.index]
            if _WIKILINK.fullmatch(flow_text):
                return flow_text
        return items

    def read_mapping(self, depth: int) -> Json:
        self.check_depth(depth)
        values: dict[str, Json] = {}
        while (kind := self.advance()) is not yaml.MappingEndEvent:
            key = self.read_key(kind)
            values[key] = self.read_node(self.advance(), depth + 1)
        return values

    def read_scalar(self) -> Json:
        """The value of the last event; known tags decide its type."""
        self.check_anchor()
        event = self.last_event
        text: str = event.value
        if event.tag is not None and event.tag != "!":
            to_value = _READERS_BY_TAG.get(event.tag)
        else:
            to_value = _READERS_OF_PLAIN.get(text[:1]) if event.implicit[0] else None
        return to_value(text) if to_value is not None else text

    def check_depth(self, depth: int) -> None:
        if depth > MAX_YAML_DEPTH:
            raise _misread_at(self.last_event, f"it is nested deeper than {MAX_YAML_DEPTH}")
        self.check_anchor()

    def check_anchor(self) -> None:
        anchor = self.last_event.anchor
        if anchor is not None:
            if anchor in self.anchors:
                raise _misread_at(self.last_event, f"there is a second &{anchor}")
            self.anchors.add(anchor)


def _to_null(text: str) -> Json:
    return None if _NULL.match(text) else text


def _to_boolean(text: str) -> Json:
    return text[0] in "tT" if _BOOLEAN.match(text) else text


def _to_number(text: str) -> Json:
    if not _NUMBER.match(text):
        return text
    if text.lstrip("-").isdigit():
        return int(text) if len(text) < 18 and abs(int(text)) <= MAX_EXACT_INTEGER else text
    number = float(text)
    return number if math.isfinite(number) else text


def _to_date(text: str) -> Json:
    if not _DATE.match(text):
        return text
    try:
        moment = _DATES.construct_yaml_timestamp(yaml.ScalarNode("", text))
    except ValueError:
        return text
    return moment.isoformat() if isinstance(moment, date) else text


def _to_number_or_date(text: str) -> Json:
    return _to_number(text) if _NUMBER.match(text) else _to_date(text)


_DATES = SafeConstructor()
_READERS_OF_PLAIN: Mapping[str, Callable[[str], Json]] = {
    **dict.fromkeys(["", "~", "n", "N"], _to_null),
    **dict.fromkeys("tTfF", _to_boolean),
    **dict.fromkeys("0123456789", _to_number_or_date),
    "-": _to_number,
}  # by the first character
_TAG = "tag:yaml.org,2002:"
_READERS_BY_TAG: Mapping[str, Callable[[str], Json]] = {
    f"{_TAG}null": _to_null,
    f"{_TAG}bool": _to_boolean,
    f"{_TAG}float": _to_number,
    f"{_TAG}timestamp": _to_date,
}


def _misread_at(event: Any, problem: str) -> Misread:
    return Misread(problem, event.start_mark.line)


def _misread_of(error: yaml.YAMLError | ValueError) -> Misread:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    return Misread(problem, mark.line) if mark is not None else Misread(f"is not valid YAML: {problem}")
