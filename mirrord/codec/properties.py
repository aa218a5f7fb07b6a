"""YAML of front matter, read under guard: what its top-level keys are, where they stand, what they mean.

A plain scalar is a number, true, false or null where JSON would say so (and YAML 1.2's other spellings
of the latter three); a date becomes its ISO string; anything else is the text that was written: `no`,
`1:30`, `0x1F`, `007`, `.nan`, a number JavaScript would round, `[[Page]]`.
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
    value: what it means.
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


def properties(source: str) -> list[Property]:
    """
    The top-level keys of *source* in order, read as events only, so no input can hurt.

    Raises:
        Misread: not a YAML mapping with text keys, or over a limit, or with aliases, `<<` or an escaped NUL.
    """
    if not source:  # most texts that agents write have no front matter
        return []
    if len(source) > MAX_CHARACTERS:
        raise Misread("is larger than 64 kB")
    try:
        found: list[Property] = YAMLHandler().load(source, Loader=_Loader)
        return found
    except (yaml.YAMLError, ValueError) as error:
        raise _damaged(error) from error


def load(source: str) -> dict[str, Json]:
    """The values of *source* by key; of a key that is there twice, the last. Raises Misread as `properties` does."""
    return values_of(properties(source))


def values_of(found: Sequence[Property]) -> dict[str, Json]:
    """What `properties` found, by key as `load` has it."""
    return {entry.key: entry.value for entry in found}


def same(one: Json | Removed, other: Json | Removed) -> bool:
    """Equality of JSON: 1 is 1.0 but not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return one == other


class _Loader(yaml.CSafeLoader):
    """One pass over the events of the parser: what they say is taken in as it is let pass."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.source = source
        self.last: Any = None  # event
        self.left = MAX_EVENTS
        self.anchors: set[str] = set()

    def next(self) -> type:
        """Go on to the next event; what kind it is."""
        event: Any = self.get_event()
        self.last = event
        if self.left < 0:
            raise Misread("holds more than some 3,000 values")
        self.left -= 1
        kind = type(event)
        if kind is yaml.ScalarEvent:
            if "\0" in event.value:
                raise _refused(event, "it holds a NUL character, which Postgres cannot store")
        elif kind is yaml.AliasEvent:
            raise _refused(event, "aliases (*name) are not supported")
        return kind

    def get_single_data(self) -> list[Property]:
        self.next()
        if self.next() is yaml.StreamEndEvent:
            return []
        if self.next() is not yaml.MappingStartEvent:
            raise _refused(self.last, "it is not made of `key: value` lines")
        self.check_anchor()
        found = []
        while (kind := self.next()) is not yaml.MappingEndEvent:
            found.append(self.property(kind))
        self.next()
        if self.next() is yaml.DocumentStartEvent:
            raise _refused(self.last, "it holds a second YAML document")
        return found

    def property(self, kind: type) -> Property:
        entry = Property(self.key(kind), self.last.start_mark.index, self.last.end_mark.index)
        kind, first = self.next(), self.last
        entry.start = first.start_mark.index
        if kind is yaml.ScalarEvent:
            entry.text, entry.style, entry.value = first.value, first.style or "", self.scalar()
        elif kind is yaml.SequenceStartEvent:
            entry.style = "[" if first.flow_style else "-"
            entry.value = self.sequence(2, entry.items)
        else:
            entry.style = "{" if first.flow_style else ":"
            entry.value = self.mapping(2)
        entry.end = self.last.end_mark.index
        return entry

    def key(self, kind: type) -> str:
        event = self.last
        if kind is not yaml.ScalarEvent:
            raise _refused(event, "a key is not plain text")
        if event.value == "<<" and not event.style:
            raise _refused(event, "merge keys (<<) are not supported")
        self.check_anchor()
        return str(event.value)

    def node(self, kind: type, depth: int) -> Json:
        """What begins with the last event. depth: how many collections it is in, itself one of them if it is one."""
        if kind is yaml.ScalarEvent:
            return self.scalar()
        return self.sequence(depth) if kind is yaml.SequenceStartEvent else self.mapping(depth)

    def sequence(self, depth: int, places: list[tuple[int, int]] | None = None) -> Json:
        """places: where its items stand is added there."""
        first = self.last
        self.check_depth(depth)
        items: list[Json] = []
        while (kind := self.next()) is not yaml.SequenceEndEvent:
            start = self.last.start_mark.index
            items.append(self.node(kind, depth + 1))
            if places is not None:
                places.append((start, self.last.end_mark.index))
        if first.flow_style and len(items) == 1:
            written = self.source[first.start_mark.index : self.last.end_mark.index]
            if _WIKILINK.fullmatch(written):
                return written
        return items

    def mapping(self, depth: int) -> Json:
        self.check_depth(depth)
        values: dict[str, Json] = {}
        while (kind := self.next()) is not yaml.MappingEndEvent:
            key = self.key(kind)
            values[key] = self.node(self.next(), depth + 1)
        return values

    def scalar(self) -> Json:
        """Tags are taken for what they stand on."""
        self.check_anchor()
        event = self.last
        text: str = event.value
        if event.tag is not None and event.tag != "!":
            read = _TAGGED.get(event.tag)
        else:
            read = _PLAIN.get(text[:1]) if event.implicit[0] else None
        return read(text) if read is not None else text

    def check_depth(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise _refused(self.last, f"it is nested deeper than {MAX_DEPTH}")
        self.check_anchor()

    def check_anchor(self) -> None:
        anchor = self.last.anchor
        if anchor is not None:
            if anchor in self.anchors:
                raise _refused(self.last, f"there is a second &{anchor}")
            self.anchors.add(anchor)


def _null(text: str) -> Json:
    return None if _NULL.match(text) else text


def _boolean(text: str) -> Json:
    return text[0] in "tT" if _BOOLEAN.match(text) else text


def _number(text: str) -> Json:
    if not _NUMBER.match(text):
        return text
    if text.lstrip("-").isdigit():
        return int(text) if len(text) < 18 and abs(int(text)) <= _EXACT else text
    number = float(text)
    return number if math.isfinite(number) else text


def _date(text: str) -> Json:
    if not _DATE.match(text):
        return text
    try:
        moment = _DATES.construct_yaml_timestamp(yaml.ScalarNode("", text))
    except ValueError:
        return text
    return moment.isoformat() if isinstance(moment, date) else text


def _number_or_date(text: str) -> Json:
    return _number(text) if _NUMBER.match(text) else _date(text)


_DATES = SafeConstructor()
_PLAIN: Mapping[str, Callable[[str], Json]] = {
    **dict.fromkeys(["", "~", "n", "N"], _null),
    **dict.fromkeys("tTfF", _boolean),
    **dict.fromkeys("0123456789", _number_or_date),
    "-": _number,
}  # by the first character
_TAG = "tag:yaml.org,2002:"
_TAGGED: Mapping[str, Callable[[str], Json]] = {
    f"{_TAG}null": _null,
    f"{_TAG}bool": _boolean,
    f"{_TAG}float": _number,
    f"{_TAG}timestamp": _date,
}


def _refused(event: Any, problem: str) -> Misread:
    return Misread(problem, event.start_mark.line)


def _damaged(error: yaml.YAMLError | ValueError) -> Misread:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    return Misread(problem, mark.line) if mark is not None else Misread(f"is not valid YAML: {problem}")
