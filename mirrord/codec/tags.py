"""Marks and inline nodes as HTML tags: `<u>`, styles, and JSON in `data-tt` for what Markdown has no sign for."""

import html
import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

from markdown_it.token import Token

from mirrord.codec.dialect import runs
from mirrord.codec.document import TAGGED, Mark, Node, is_node
from mirrord.codec.embedded import embedded
from mirrord.codec.properties import Json
from mirrord.codec.schema import NATIVE, is_plain

_TAG = re.compile(r'<(/?)(u|sub|sup|span|mark)(?: (data-tt|style)="([^"]*)")?>')
_NAMES: Mapping[str, str] = MappingProxyType({tag: mark for mark, tag in TAGGED.items()})
_STYLES: Mapping[str, str] = MappingProxyType(
    {
        "color": "color",
        "backgroundColor": "background-color",
        "fontSize": "font-size",
        "fontFamily": "font-family",
    }
)
_PROPERTIES: Mapping[str, str] = MappingProxyType({style: name for name, style in _STYLES.items()})


def tags_of(mark: Mark) -> tuple[str, str] | None:
    """The tags that set a normal mark; None for one that Markdown has a sign for."""
    name = mark["type"]
    if not is_plain(mark):
        return _data(mark), "</span>"
    if name in TAGGED:
        return f"<{TAGGED[name]}>", f"</{TAGGED[name]}>"
    attrs = mark.get("attrs", {})
    if name == "highlight" and attrs:
        return f'<mark style="background-color: {attrs["color"]}">', "</mark>"
    if name == "textStyle":
        style = "; ".join(f"{_STYLES[key]}: {attrs[key]}" for key in _STYLES if key in attrs)
        return f'<span style="{style}">', "</span>"
    return None


def tag_of(node: Node) -> str:
    """An inline node as JSON."""
    return f"{_data(node)}</span>"


def _data(data: Mark | Node) -> str:
    return f'<span data-tt="{html.escape(json.dumps(data, ensure_ascii=False))}">'


class Tags:
    """
    The HTML tags of one paragraph that stand for marks and nodes, found by their index among the tokens.

    A pair counts only where both ends are inside the same emphasis or link.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.opening: dict[int, Mark] = {}
        self.closing: set[int] = set()
        self.atoms: dict[int, Node] = {}
        self.done: set[int] = set()  # closing tags of atoms
        levels: list[list[tuple[re.Match[str], int]]] = [[]]
        for index, token in enumerate(tokens):
            if token.nesting == 1:
                levels.append([])
            elif token.nesting == -1:
                levels.pop()
            elif token.type == "html_inline" and (found := _TAG.fullmatch(token.content)):
                self._tag(levels[-1], found, index)

    def _tag(self, unclosed: list[tuple[re.Match[str], int]], found: re.Match[str], index: int) -> None:
        if not found[1]:
            unclosed.append((found, index))
        elif unclosed and unclosed[-1][0][2] == found[2] and not found[3]:
            opening, start = unclosed.pop()
            if index == start + 1:
                self._empty(opening, start)
            elif mark := _mark(opening):
                self.opening[start] = mark
                self.closing.add(index)

    def _empty(self, opening: re.Match[str], start: int) -> None:
        node = embedded(html.unescape(opening[4])) if opening[3] == "data-tt" else None
        if is_node(node) and not is_plain(cast(Node, node)) and is_safe(cast(Node, node)):
            self.atoms[start] = cast(Node, node)
            self.done.add(start + 1)


def is_safe(node: Node) -> bool:
    """Whether no link in a node would run a script: JSON goes around the parser, which lets none pass."""
    marks = node.get("marks") or []
    return all(map(_is_safe_mark, marks)) and all(map(is_safe, node.get("content") or []))


def _is_safe_mark(mark: Mark) -> bool:
    href = (mark.get("attrs") or {}).get("href")
    return not isinstance(href, str) or not runs(href)


def _mark(opening: re.Match[str]) -> Mark | None:
    tag, kind, value = opening[2], opening[3], opening[4]
    if kind is None:
        return {"type": _NAMES[tag]} if tag in _NAMES else None
    if kind == "data-tt":
        return _given(embedded(html.unescape(value))) if tag == "span" else None
    styles = _styles(value)
    if tag == "span":
        return {"type": "textStyle", "attrs": styles} if styles else None
    if tag == "mark" and styles and styles.keys() == {"backgroundColor"}:
        return {"type": "highlight", "attrs": {"color": styles["backgroundColor"]}}
    return None


def _styles(text: str) -> dict[str, Json] | None:
    """The attributes a `style` sets; None if it says anything else."""
    result: dict[str, Json] = {}
    for part in text.rstrip("; ").split(";"):
        name, _, value = part.partition(":")
        key, value = _PROPERTIES.get(name.strip()), value.strip()
        if key is None or key in result or not NATIVE["textStyle"][key](value):
            return None
        result[key] = value
    return result


def _given(mark: object) -> Mark | None:
    """A mark out of JSON, where it is one that is not written otherwise."""
    if not isinstance(mark, dict) or not mark.keys() <= {"type", "attrs"} or not isinstance(mark.get("type"), str):
        return None
    if not isinstance(mark.get("attrs", {}), dict):
        return None
    given = cast(Mark, mark)
    return given if not is_plain(given) and _is_safe_mark(given) else None
