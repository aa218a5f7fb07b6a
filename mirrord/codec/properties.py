"""YAML of front matter, read under guard: what its top-level keys are, where they stand, what they mean.

A plain scalar is a number, true, false or null where JSON would say so (and YAML 1.2's other spellings
of the latter three); a date becomes its ISO string; anything else is the text that was written: `no`,
`1:30`, `0x1F`, `007`, `.nan`, a number JavaScript would round, `[[Page]]`.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import Any, ClassVar, Final, TypeAlias

import yaml
from frontmatter.default_handlers import YAMLHandler
from yaml.constructor import SafeConstructor

from mirrord.errors import Damaged

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None


class Misread(Damaged):
    """YAML that is not read. problem: half a sentence; line: from 0 on, None where it is about the whole."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        where = "the front matter" if line is None else f"line {line + 2} of the front matter:"
        super().__init__(f"{where} {problem}")
        self.problem, self.line = problem, line


class Removed(Enum):
    """Stands for the value of a key that is to go: None is a value."""

    REMOVED = "removed"


REMOVED: Final = Removed.REMOVED

MAX_CHARACTERS = 65_536  # CSafeLoader overflows the C stack at about 60 kB of nesting
MAX_DEPTH = 64
MAX_EVENTS = 6_000  # of the parser: some 3,000 values, read in about 50 ms
_EXACT = 2**53  # integers beyond this change when JavaScript reads them

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
    items: where the items of a list stand.
    """

    key: str
    key_start: int
    key_end: int
    start: int = 0
    end: int = 0
    style: str = ""
    text: str | None = None
    items: list[tuple[int, int]] = field(default_factory=list)


def properties(source: str) -> list[Property]:
    """
    The top-level keys of *source* in order, read as events only, so no input can hurt.

    Raises:
        Misread: not a YAML mapping with text keys, or over a limit, or with aliases, `<<` or an escaped NUL.
    """
    if len(source) > MAX_CHARACTERS:
        raise Misread("is larger than 64 kB")
    try:
        return _Walk().over(yaml.parse(source, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError) as error:
        raise _damaged(error) from error


def load(source: str) -> dict[str, Json]:
    """The values of *source*, which `properties` has let pass."""
    try:
        return YAMLHandler().load(source, Loader=_Loader) or {}
    except (yaml.YAMLError, ValueError) as error:
        raise _damaged(error) from error


def same(one: Json | Removed, other: Json | Removed) -> bool:
    """Equality of JSON: 1 is 1.0 but not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return one == other


class _Walk:
    """The state of one pass over the events: open collections, innermost last."""

    def __init__(self) -> None:
        self.open: list[str] = []  # "sequence", "key" (of a mapping, expecting one) or "value"
        self.found: list[Property] = []

    def over(self, events: Iterator[Any]) -> list[Property]:
        documents = 0
        for count, event in enumerate(events):
            kind = type(event)
            if count > MAX_EVENTS:
                raise Misread("holds more than some 3,000 values")
            if kind is yaml.ScalarEvent:
                if "\0" in event.value:
                    raise _refused(event, "it holds a NUL character, which Postgres cannot store")
                self.node(event, kind)
            elif kind is yaml.SequenceStartEvent or kind is yaml.MappingStartEvent:
                self.node(event, kind)
                self.enter(event, kind)
            elif kind is yaml.SequenceEndEvent or kind is yaml.MappingEndEvent:
                self.leave(event)
            elif kind is yaml.AliasEvent:
                raise _refused(event, "aliases (*name) are not supported")
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise _refused(event, "it holds a second YAML document")
        return self.found

    def node(self, event: Any, kind: type) -> None:
        if not self.open:
            if kind is not yaml.MappingStartEvent:
                raise _refused(event, "it is not made of `key: value` lines")
            return
        position = self.open[-1]
        if position == "key":
            self.key(event, kind)
        elif position == "value":
            self.open[-1] = "key"
            if len(self.open) == 1:
                self.value(event, kind)
        elif len(self.open) == 2:
            self.found[-1].items.append((event.start_mark.index, event.end_mark.index))

    def key(self, event: Any, kind: type) -> None:
        if kind is not yaml.ScalarEvent:
            raise _refused(event, "a key is not plain text")
        if event.value == "<<" and not event.style:
            raise _refused(event, "merge keys (<<) are not supported")
        self.open[-1] = "value"
        if len(self.open) == 1:
            self.found.append(Property(event.value, event.start_mark.index, event.end_mark.index))

    def value(self, event: Any, kind: type) -> None:
        entry = self.found[-1]
        entry.start, entry.end = event.start_mark.index, event.end_mark.index
        if kind is yaml.ScalarEvent:
            entry.text, entry.style = event.value, event.style or ""
        elif kind is yaml.SequenceStartEvent:
            entry.style = "[" if event.flow_style else "-"
        else:
            entry.style = "{" if event.flow_style else ":"

    def enter(self, event: Any, kind: type) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise _refused(event, f"it is nested deeper than {MAX_DEPTH}")
        self.open.append("sequence" if kind is yaml.SequenceStartEvent else "key")

    def leave(self, event: Any) -> None:
        self.open.pop()
        if len(self.open) == 1:
            self.found[-1].end = event.end_mark.index
        elif len(self.open) == 2 and self.open[-1] == "sequence":
            start, _ = self.found[-1].items[-1]
            self.found[-1].items[-1] = (start, event.end_mark.index)


class _Loader(yaml.CSafeLoader):
    """CSafeLoader with this module's reading of scalars; tags are taken for what they stand on."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012
    yaml_constructors: ClassVar[dict[Any, Any]] = {}

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.source = source


def _plain(loader: _Loader, node: Any) -> Json:
    return str(node.value)


def _null(loader: _Loader, node: Any) -> Json:
    return None if _NULL.match(node.value) else str(node.value)


def _boolean(loader: _Loader, node: Any) -> Json:
    return node.value[0] in "tT" if _BOOLEAN.match(node.value) else str(node.value)


def _number(loader: _Loader, node: Any) -> Json:
    text: str = node.value
    if not _NUMBER.match(text):
        return text
    if text.lstrip("-").isdigit():
        return int(text) if len(text) < 18 and abs(int(text)) <= _EXACT else text
    number = float(text)
    return number if math.isfinite(number) else text


def _date(loader: _Loader, node: Any) -> Json:
    try:
        moment = SafeConstructor.construct_yaml_timestamp(loader, node)
    except ValueError:
        return str(node.value)
    return moment.isoformat() if isinstance(moment, date) else str(node.value)


def _list(loader: _Loader, node: Any) -> Json:
    if node.flow_style and len(node.value) == 1:
        written = loader.source[node.start_mark.index : node.end_mark.index]
        if _WIKILINK.fullmatch(written):
            return written
    return [loader.construct_object(item, deep=True) for item in node.value]


def _mapping(loader: _Loader, node: Any) -> Json:
    return {key.value: loader.construct_object(value, deep=True) for key, value in node.value}


def _other(loader: _Loader, node: Any) -> Json:
    if isinstance(node, yaml.ScalarNode):
        return _plain(loader, node)
    return _list(loader, node) if isinstance(node, yaml.SequenceNode) else _mapping(loader, node)


_TAG = "tag:yaml.org,2002:"
for _name, _pattern, _first, _construct in (
    ("null", _NULL, ["~", "n", "N", ""], _null),
    ("bool", _BOOLEAN, list("tTfF"), _boolean),
    ("float", _NUMBER, list("-0123456789"), _number),
    ("timestamp", _DATE, list("0123456789"), _date),
):
    _Loader.add_implicit_resolver(_TAG + _name, _pattern, _first)
    _Loader.add_constructor(_TAG + _name, _construct)
_Loader.add_constructor(_TAG + "str", _plain)
_Loader.add_constructor(_TAG + "seq", _list)
_Loader.add_constructor(_TAG + "map", _mapping)
_Loader.add_constructor(None, _other)


def _refused(event: Any, problem: str) -> Misread:
    return Misread(problem, event.start_mark.line)


def _damaged(error: yaml.YAMLError | ValueError) -> Misread:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    return Misread(problem, mark.line) if mark is not None else Misread(f"is not valid YAML: {problem}")
