"""Rewriting single properties inside YAML source: other lines keep every byte, the changed ones their style.

What is written here is not trusted: `frontmatter.with_keys` reads the result back and compares.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

import yaml

from mirrord.codec.properties import Json, Property, Removed, load, properties, same, values_of
from mirrord.codec.text import lines
from mirrord.errors import Damaged

_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{6})?(?:[-+]\d\d:\d\d)?)?")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?: [A-Za-z0-9_-]+)*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NO_TEXT = frozenset("null true false yes no on off y n".split())  # some reader of YAML takes these for something else
_BREAK = re.compile("[\n\r\x85\u2028\u2029]")
_ODD_BREAK = re.compile("[\r\x85\u2028\u2029]")

Edit = tuple[int, int, str]  # from, to, new text


def rewritten(source: str, changes: Mapping[str, Json | Removed], ending: str) -> str:
    """
    *source* with *changes* made; lines added end with *ending*. A new `id` goes first, other new keys last.

    Raises:
        Damaged: a key to change is not at the start of a line of its own.
    """
    found = properties(source)
    values = values_of(found)
    edits: list[Edit] = []
    added: dict[str, Json] = {}
    for key, value in changes.items():
        places = [index for index, entry in enumerate(found) if entry.key == key]
        if isinstance(value, Removed):
            edits += [(*_span(source, found, index), "") for index in places]
        elif places:
            edits.append(_replaced(source, found, places[-1], values[key], value, ending))
        else:
            added[key] = value
    return _with_added(_applied(source, edits), added, _margin(source, found), ending)


def _applied(source: str, edits: list[Edit]) -> str:
    for start, end, text in sorted(edits, reverse=True):
        source = source[:start] + text + source[end:]
    return source


def _with_added(source: str, added: Mapping[str, Json], margin: str, ending: str) -> str:
    first, last = "", ""
    for key, value in added.items():
        text = f"{margin}{_name(key)}:" + _after_colon(value, "", margin, ending)
        if key == "id":
            first += text
        else:
            last += text
    return first + source + last


def is_plain(text: str) -> bool:
    """Whether *text* surely stands for itself; most keys and ids do, and the emitter of YAML takes long to say so."""
    return _PLAIN.fullmatch(text) is not None and text.lower() not in _NO_TEXT


def _name(key: str) -> str:
    if is_plain(key):
        return key
    plain = _dump({key: 0}).removesuffix(": 0\n")
    return plain if "\n" not in plain and not plain.startswith("?") else _scalar(key, '"')


def _margin(source: str, found: Sequence[Property]) -> str:
    return source[_line_start(source, found[0].key_start) : found[0].key_start] if found else ""


def _line_start(source: str, position: int) -> int:
    return max(source.rfind("\n", 0, position), source.rfind("\r", 0, position)) + 1


def _line_end(source: str, position: int) -> int:
    if position and source[position - 1] in "\r\n":
        return position
    return position + len(next(iter(lines(source[position:])), ""))


def _span(source: str, found: Sequence[Property], index: int) -> tuple[int, int]:
    """The lines of one property, without the blank lines and comments that follow it."""
    entry = found[index]
    start = _line_start(source, entry.key_start)
    if source[start : entry.key_start].strip(" "):
        raise Damaged(f"the front matter's key `{entry.key}` does not stand on a line of its own")
    limit = _line_start(source, found[index + 1].key_start) if index + 1 < len(found) else len(source)
    kept = lines(source[start:limit])
    while len(kept) > 1 and _is_outside(kept[-1], entry.key_start - start):
        kept.pop()
    end = start + sum(map(len, kept))
    if entry.style not in ("-", ":"):
        end = max(end, _line_end(source, entry.end))
    return start, end


def _is_outside(line: str, column: int) -> bool:
    """Whether a trailing line is blank or a comment no deeper than the key: not part of its value."""
    text = line.lstrip(" \t")
    return not text.strip() or (text.startswith("#") and len(line) - len(text) <= column)


def _replaced(source: str, found: Sequence[Property], index: int, old: Json, new: Json, ending: str) -> Edit:
    entry = found[index]
    start, end = _span(source, found, index)
    colon = source.index(":", entry.key_end) + 1
    if _is_one_line(source, entry):
        text = _one_line(source, entry, old, new)
        if text is not None:
            kept = source[colon : entry.start] if source[colon : entry.start].strip(" \t") == "" else ""
            return colon, entry.end, f"{kept or ' '}{text}" if text else ""
    if isinstance(old, list) and isinstance(new, list) and new and entry.style == "-":
        places = _item_lines(source, entry, end)
        if places:
            return places[0][0], end, _block_list(source, entry, places, old, new, ending)
    comment = _comment(source, entry, colon, end)
    return colon, end, _after_colon(new, comment, source[start : entry.key_start], ending)


def _is_one_line(source: str, entry: Property) -> bool:
    return entry.style not in ("-", ":", "|", ">") and len(lines(source[entry.start : entry.end])) <= 1


def _comment(source: str, entry: Property, colon: int, end: int) -> str:
    """The comment behind the value or, of a block, behind its key."""
    block = entry.style in ("-", ":", "|", ">")
    rest = next(iter(lines(source[colon if block else entry.end : end])), "").strip()
    if entry.style in ("|", ">"):
        rest = rest.lstrip("|>+-0123456789 ")
    return f" {rest}" if rest.startswith("#") else ""


def _one_line(source: str, entry: Property, old: Json, new: Json) -> str | None:
    """*new* in the style of the old one-line value; None if it takes several lines."""
    if isinstance(new, list | dict) and new:
        if entry.style != ("[" if isinstance(new, list) else "{"):
            return None
        text = _flow(new)
        if isinstance(new, list) and isinstance(old, list) and old:
            text = _flow_list(source, entry, old, new)
        return text if same(load(f"key: {text}\n")["key"], new) else None  # `[[x]]` would be a wikilink
    if entry.style != '"' and _is_literal(new):
        return None
    return _scalar(new, entry.style)


def _after_colon(value: Json, comment: str, margin: str, ending: str) -> str:
    """What follows the colon of a key at *margin*, up to the end of its last line."""
    if _is_literal(value):
        head, *rest = lines(_dump({"k": value}, "|").removeprefix('"k"').removeprefix("k").removeprefix(":"))
        return head.rstrip() + comment + ending + _indented("".join(rest), margin, ending)
    if isinstance(value, list | dict) and value:
        return comment + ending + _indented(_dump(value), margin + "  ", ending)
    text = _scalar(value, "")
    return (f" {text}" if text else "") + comment + ending


def _item_lines(source: str, entry: Property, end: int) -> list[tuple[int, int]]:
    """The lines of each item of a list; none where one does not begin with its dash."""
    starts = [_line_start(source, start) for start, _ in entry.items]
    margin = re.match(" *", source[starts[0] :])
    dash = (margin.group() if margin else "") + "-"
    return list(pairwise([*starts, end])) if all(source.startswith(dash, start) for start in starts) else []


def _block_list(
    source: str,
    entry: Property,
    places: list[tuple[int, int]],
    old: list[Json],
    new: list[Json],
    ending: str,
) -> str:
    """The lines of a list whose unchanged items keep theirs."""
    margin = source[places[0][0] : source.index("-", places[0][0])]
    quote = _quote(source, entry)
    return "".join(
        _indented(_item(value, quote), margin, ending) if index is None else source[slice(*places[index])]
        for index, value in _matched(old, new)
    )


def _flow_list(source: str, entry: Property, old: list[Json], new: list[Json]) -> str:
    items = entry.items
    lead, tail = source[entry.start : items[0][0]], source[items[-1][1] : entry.end]
    comma = source[items[0][1] : items[1][0]] if len(items) > 1 else ", "
    quote = _quote(source, entry)
    return (
        lead
        + comma.join(
            _flow(value, quote) if index is None else source[slice(*items[index])]
            for index, value in _matched(old, new)
        )
        + tail
    )


def _matched(old: list[Json], new: list[Json]) -> Iterator[tuple[int | None, Json]]:
    """Each new item with the index of the old item it is, None where it is new."""
    before = [json.dumps(item, sort_keys=True) for item in old]
    after = [json.dumps(item, sort_keys=True) for item in new]
    for tag, i, _, j, j_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        for offset in range(j_end - j):
            yield (i + offset if tag == "equal" else None), new[j + offset]


def _quote(source: str, entry: Property) -> str:
    """The quotes of the first item: new ones get the same."""
    first = source[entry.items[0][0]]
    return first if first in ("'", '"') else ""


def _item(value: Json, quote: str) -> str:
    if isinstance(value, str) and "\n" not in value:
        return f"- {_scalar(value, quote)}\n"
    return _dump([value])


def _is_literal(value: Json) -> bool:
    """Whether a text over several lines is written as they are; final blank lines would not be safe."""
    return isinstance(value, str) and "\n" in value and bool(value.strip()) and not value.endswith("\n\n")


def _scalar(value: Json, style: str) -> str:
    """A value as it stands behind `key: ` on the same line; nothing for None."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return _flow(value)
    if style not in ("'", '"') and (is_plain(value) or _ISO_DATE.fullmatch(value)):
        return value
    return _dump({"k": value}, style).partition(":")[2].strip(" \n")  # other blanks are the value's


def _flow(value: Json, quote: str = "") -> str:
    return _dump([value], quote if isinstance(value, str) else "", flow=True)[1:-2]


def _indented(text: str, margin: str, ending: str) -> str:
    return "".join(margin + line[:-1] + ending if line != "\n" else ending for line in lines(text))


class _Dumper(yaml.SafeDumper):
    """Quotes what either YAML 1.1 or `properties` would not read as that very text."""


def _string(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """Line breaks are escaped but for `|`; PyYAML does not read back what it writes of the odd ones."""
    literal = dumper.default_style == "|" and not _ODD_BREAK.search(value)
    style = '"' if _BREAK.search(value) and not literal else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style)


_Dumper.add_representer(str, _string)
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
