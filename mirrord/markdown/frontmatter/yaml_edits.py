"""
Change single properties in YAML source; other lines keep every byte.

The result is not trusted: `page_properties.with_keys` reads it back and compares, but for `plain_changes`.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import yaml

from mirrord.errors import Damaged
from mirrord.markdown.bounded_diff import find_opcodes
from mirrord.markdown.frontmatter.page_text import split_lines
from mirrord.markdown.frontmatter.yaml_reader import (
    Json,
    Property,
    Removed,
    is_same_json,
    load_values,
    read_properties,
    values_of,
)

_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{6})?(?:[-+]\d\d:\d\d)?)?")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?: [A-Za-z0-9_-]+)*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NO_TEXT = frozenset("null true false yes no on off y n".split())  # some YAML readers give these another meaning
_BREAK = re.compile("[\n\r\x85\u2028\u2029]")
_ODD_BREAK = re.compile("[\r\x85\u2028\u2029]")

Edit = tuple[int, int, str]  # from, to, new text


def rewrite_properties(
    source: str, changes: Mapping[str, Json | Removed], ending: str, entries: Sequence[Property] | None = None
) -> str:
    """
    *source* with *changes* applied; added lines end with *ending*. A new `id` goes first, other new keys last.

    entries: its properties, if the caller has read them.

    Raises:
        Damaged: a key to change is not at the start of a line of its own.
    """
    entries = read_properties(source) if entries is None else entries
    values = values_of(entries)
    edits: list[Edit] = []
    added: dict[str, Json] = {}
    for key, value in changes.items():
        places = [index for index, entry in enumerate(entries) if entry.key == key]
        if isinstance(value, Removed):
            edits += [(*_span_of_lines(source, entries, index), "") for index in places]
        elif places:
            edits.append(_replace_value(source, entries, places[-1], values[key], value, ending))
        else:
            added[key] = value
    return _add_keys(_apply_edits(source, edits), added, _margin_of(source, entries), ending)


def _apply_edits(source: str, edits: list[Edit]) -> str:
    for start, end, text in sorted(edits, reverse=True):
        source = source[:start] + text + source[end:]
    return source


def _add_keys(source: str, added: Mapping[str, Json], margin: str, ending: str) -> str:
    first, last = "", ""
    for key, value in added.items():
        text = f"{margin}{_write_key(key)}:" + _write_after_colon(value, "", margin, ending)
        if key == "id":
            first += text
        else:
            last += text
    return first + source + last


def is_plain_text(text: str) -> bool:
    """Whether *text* surely needs no quotes; true for most keys and ids, and much faster than the YAML emitter."""
    return _PLAIN.fullmatch(text) is not None and text.lower() not in _NO_TEXT


def _write_key(key: str) -> str:
    if is_plain_text(key):
        return key
    plain = _dump({key: 0}).removesuffix(": 0\n")
    return plain if "\n" not in plain and not plain.startswith("?") else _write_scalar(key, '"')


def _margin_of(source: str, entries: Sequence[Property]) -> str:
    return source[_line_start(source, entries[0].key_start) : entries[0].key_start] if entries else ""


def _line_start(source: str, position: int) -> int:
    return max(source.rfind("\n", 0, position), source.rfind("\r", 0, position)) + 1


def _line_end(source: str, position: int) -> int:
    if position and source[position - 1] in "\r\n":
        return position
    return position + len(next(iter(split_lines(source[position:])), ""))


def _span_of_lines(source: str, entries: Sequence[Property], index: int) -> tuple[int, int]:
    """The lines of one property, without the blank lines and comments that follow it."""
    entry = entries[index]
    start = _line_start(source, entry.key_start)
    if source[start : entry.key_start].strip(" "):
        raise Damaged(f"the front matter's key `{entry.key}` does not stand on a line of its own")
    limit = _line_start(source, entries[index + 1].key_start) if index + 1 < len(entries) else len(source)
    entry_lines = split_lines(source[start:limit])
    while len(entry_lines) > 1 and _is_outside(entry_lines[-1], entry.key_start - start):
        entry_lines.pop()
    end = start + sum(map(len, entry_lines))
    if entry.style not in ("-", ":"):
        end = max(end, _line_end(source, entry.end))
    return start, end


def _is_outside(line: str, column: int) -> bool:
    """Whether a trailing line is blank or a comment no deeper than the key: not part of its value."""
    text = line.lstrip(" \t")
    return not text.strip() or (text.startswith("#") and len(line) - len(text) <= column)


def _replace_value(source: str, entries: Sequence[Property], index: int, old: Json, new: Json, ending: str) -> Edit:
    entry = entries[index]
    start, end = _span_of_lines(source, entries, index)
    colon = source.index(":", entry.key_end) + 1
    if _is_one_line(source, entry):
        text = _write_on_one_line(source, entry, old, new)
        if text is not None:
            blanks = source[colon : entry.start] if source[colon : entry.start].strip(" \t") == "" else ""
            return colon, entry.end, f"{blanks or ' '}{text}" if text else ""
    if isinstance(old, list) and isinstance(new, list) and new and entry.style == "-":
        places = _spans_of_items(source, entry, end)
        if places:
            return places[0][0], end, _write_block_list(source, entry, places, old, new, ending)
    comment = _comment_of(source, entry, colon, end)
    return colon, end, _write_after_colon(new, comment, source[start : entry.key_start], ending)


def _is_one_line(source: str, entry: Property) -> bool:
    return entry.style not in ("-", ":", "|", ">") and len(split_lines(source[entry.start : entry.end])) <= 1


def _comment_of(source: str, entry: Property, colon: int, end: int) -> str:
    """The comment after the value or, for a block, after its key."""
    block = entry.style in ("-", ":", "|", ">")
    remainder = next(iter(split_lines(source[colon if block else entry.end : end])), "").strip()
    if entry.style in ("|", ">"):
        remainder = remainder.lstrip("|>+-0123456789 ")
    return f" {remainder}" if remainder.startswith("#") else ""


def _write_on_one_line(source: str, entry: Property, old: Json, new: Json) -> str | None:
    """*new* in the style of the old one-line value; None if it needs several lines."""
    if isinstance(new, list | dict) and new:
        if entry.style != ("[" if isinstance(new, list) else "{"):
            return None
        text = _write_flow(new)
        if isinstance(new, list) and isinstance(old, list) and old:
            text = _write_flow_list(source, entry, old, new)
        return text if is_same_json(load_values(f"key: {text}\n")["key"], new) else None  # `[[x]]` would be a wikilink
    if entry.style != '"' and _is_literal(new):
        return None
    return _write_scalar(new, entry.style)


def _write_after_colon(value: Json, comment: str, margin: str, ending: str) -> str:
    """The text after the colon of a key at *margin*, up to the end of its last line."""
    if _is_literal(value):
        head, *other_lines = split_lines(
            _dump({"k": value}, "|").removeprefix('"k"').removeprefix("k").removeprefix(":")
        )
        return head.rstrip() + comment + ending + _indent("".join(other_lines), margin, ending)
    if isinstance(value, list | dict) and value:
        return comment + ending + _indent(_dump(value), margin + "  ", ending)
    text = _write_scalar(value, "")
    return (f" {text}" if text else "") + comment + ending


def _spans_of_items(source: str, entry: Property, end: int) -> list[tuple[int, int]]:
    """The spans of the lines of each list item; empty if one does not begin with its dash."""
    starts = [_line_start(source, start) for start, _ in entry.items]
    margin = re.match(" *", source[starts[0] :])
    dash = (margin.group() if margin else "") + "-"
    return list(pairwise([*starts, end])) if all(source.startswith(dash, start) for start in starts) else []


def _write_block_list(
    source: str,
    entry: Property,
    places: list[tuple[int, int]],
    old: list[Json],
    new: list[Json],
    ending: str,
) -> str:
    """The lines of a list; unchanged items keep theirs."""
    margin = source[places[0][0] : source.index("-", places[0][0])]
    quote = _quote_of_items(source, entry)
    return "".join(
        _indent(_write_item(value, quote), margin, ending) if index is None else source[slice(*places[index])]
        for index, value in _match_items(old, new)
    )


def _write_flow_list(source: str, entry: Property, old: list[Json], new: list[Json]) -> str:
    items = entry.items
    lead, tail = source[entry.start : items[0][0]], source[items[-1][1] : entry.end]
    comma = source[items[0][1] : items[1][0]] if len(items) > 1 else ", "
    quote = _quote_of_items(source, entry)
    return (
        lead
        + comma.join(
            _write_flow(value, quote) if index is None else source[slice(*items[index])]
            for index, value in _match_items(old, new)
        )
        + tail
    )


def _match_items(old: list[Json], new: list[Json]) -> Iterator[tuple[int | None, Json]]:
    """Each new item with the index of the equal old item; None if it is new."""
    before = [json.dumps(item, sort_keys=True) for item in old]
    after = [json.dumps(item, sort_keys=True) for item in new]
    for tag, i, _, j, j_end in find_opcodes(before, after):
        for offset in range(j_end - j):
            yield (i + offset if tag == "equal" else None), new[j + offset]


def _quote_of_items(source: str, entry: Property) -> str:
    """The quotes of the first item, used for new ones too."""
    first = source[entry.items[0][0]]
    return first if first in ("'", '"') else ""


def _write_item(value: Json, quote: str) -> str:
    if isinstance(value, str) and "\n" not in value:
        return f"- {_write_scalar(value, quote)}\n"
    return _dump([value])


def _is_literal(value: Json) -> bool:
    """Whether a text is written as a literal block; final blank lines would not be safe in one."""
    return isinstance(value, str) and "\n" in value and bool(value.strip()) and not value.endswith("\n\n")


def _write_scalar(value: Json, style: str) -> str:
    """A value as written after `key: ` on the same line; empty for None."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return _write_flow(value)
    if style not in ("'", '"') and (is_plain_text(value) or _ISO_DATE.fullmatch(value)):
        return value
    return _dump({"k": value}, style).partition(":")[2].strip(" \n")  # other blanks belong to the value


def _write_flow(value: Json, quote: str = "") -> str:
    if isinstance(value, int):  # true and false too; the YAML emitter takes a hundred times as long
        return json.dumps(value)
    return _dump([value], quote if isinstance(value, str) else "", flow=True)[1:-2]


def _indent(text: str, margin: str, ending: str) -> str:
    return "".join(margin + line[:-1] + ending if line != "\n" else ending for line in split_lines(text))


class _Dumper(yaml.SafeDumper):
    """Quotes texts that YAML 1.1 or `properties` would read as another value."""


def _represent_string(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """Escape line breaks except in `|`; PyYAML does not read back the unusual ones that it writes."""
    literal = dumper.default_style == "|" and not _ODD_BREAK.search(value)
    style = '"' if _BREAK.search(value) and not literal else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style)


_Dumper.add_representer(str, _represent_string)
_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"), list("-0123456789")
)


def _dump(value: Json, style: str = "", *, flow: bool = False) -> str:
    return str(
        yaml.dump(
            value,
            Dumper=_Dumper,
            default_style=style if style in ("'", '"', "|") else None,
            default_flow_style=flow,
            allow_unicode=True,
            sort_keys=False,
            width=sys.maxsize,
        )
    )
