"""Marks and inline nodes as HTML tags, for which Markdown has no syntax."""

import html
import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

from markdown_it.token import Token

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.parser.dialect import is_script
from mirrord.markdown.schema.anchor_tags import begins_anchor, ends_anchor, link_of_tag
from mirrord.markdown.schema.document import TAGGED, Mark, Node, is_node, parse_json_or_none
from mirrord.markdown.schema.node_rules import NATIVE_ATTRIBUTES, is_native

_TAG = re.compile(r'<(/?)(u|sub|sup|span|mark|strong|em)(?: (data-tt|style)="([^"]*)")?>')
# Where Markdown's delimiters for a mark open or close nothing, its tag is written; not all programs know `~~`.
TAGS_OF_DELIMITERS: Mapping[str, str] = MappingProxyType({"*": "em", "_": "em", "**": "strong", "__": "strong"})
_MARK_BY_TAG: Mapping[str, str] = MappingProxyType(
    {**{tag: mark for mark, tag in TAGGED.items()}, "strong": "bold", "em": "italic"}
)
_LINKING_TOKENS = frozenset(["link_open", "wikilink", "footnote_ref"])
_BREAKS = frozenset(["softbreak", "hardbreak"])
_TEXTS = frozenset(["text", "text_special"])
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
    """The tags for a normal mark; None for one with delimiters in Markdown."""
    name = mark["type"]
    if not is_native(mark):
        return _data_tag(mark), "</span>"
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
    """The tag of an inline node, with its JSON."""
    return f"{_data_tag(node)}</span>"


def _data_tag(data: Mark | Node) -> str:
    return f'<span data-tt="{html.escape(json.dumps(data, ensure_ascii=False))}">'


class TagIndex:
    """
    The HTML tags of one paragraph that represent marks and nodes, by their index among the tokens.

    A pair counts only if both tags are inside the same emphasis or link.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.opening: dict[int, Mark] = {}
        self.closing: set[int] = set()
        self.atoms: dict[int, Node] = {}
        self.atom_ends: set[int] = set()  # closing tags of atoms
        self._anchor_ends: set[int] = set()
        self._read_tags(tokens)
        self._read_anchors(tokens)

    def _read_tags(self, tokens: Sequence[Token]) -> None:
        levels: list[list[tuple[re.Match[str], int]]] = [[]]
        for index, token in enumerate(tokens):
            if token.nesting == 1:
                levels.append([])
            elif token.nesting == -1:
                levels.pop()
            elif token.type == "html_inline" and (match := _TAG.fullmatch(token.content)):
                self._read_tag(levels[-1], match, index)

    def _read_tag(self, unclosed: list[tuple[re.Match[str], int]], match: re.Match[str], index: int) -> None:
        if not match[1]:
            unclosed.append((match, index))
        elif unclosed and unclosed[-1][0][2] == match[2] and not match[3]:
            opening, start = unclosed.pop()
            if index == start + 1:
                self._read_empty_pair(opening, start)
            elif mark := _mark_of_tag(opening):
                self.opening[start] = mark
                self.closing.add(index)

    def _read_anchors(self, tokens: Sequence[Token]) -> None:
        """The links that are pairs of `<a href>` and `</a>` in the same emphasis, around content without links."""
        opening: int | None = None  # the last tag that may begin a link
        level, content, links = 0, 0, 0  # of the tokens since then; links that are open
        for index, token in enumerate(tokens):
            level += token.nesting + (index in self.opening) - (index in self.closing)
            links += token.nesting if token.type in ("link_open", "link_close") else 0
            if level < 0:
                opening = None
            if token.type in _LINKING_TOKENS or links:
                opening = None
            elif token.type != "html_inline":
                content += _is_something(token)
            elif begins_anchor(token.content):
                is_apart = not index or (tokens[index - 1].type != "link_close" and index - 1 not in self._anchor_ends)
                opening = index if is_apart else None
                level, content = 0, 0
            elif ends_anchor(token.content):
                is_apart = index + 1 == len(tokens) or tokens[index + 1].type != "link_open"
                if opening is not None and not level and content and is_apart:
                    self._read_anchor(tokens, opening, index)
                opening = None

    def _read_anchor(self, tokens: Sequence[Token], opening: int, end: int) -> None:
        if mark := link_of_tag(tokens[opening].content):
            self.opening[opening] = mark
            self.closing.add(end)
            self._anchor_ends.add(end)

    def _read_empty_pair(self, opening: re.Match[str], start: int) -> None:
        node = parse_json_or_none(html.unescape(opening[4])) if opening[3] == "data-tt" else None
        if is_node(node) and _is_kept_as_json(cast(Node, node)) and is_safe(cast(Node, node)):
            self.atoms[start] = cast(Node, node)
            self.atom_ends.add(start + 1)


def _is_something(token: Token) -> bool:
    """Whether *token* is more than a blank, a break or a delimiter."""
    return bool(token.content.strip()) if token.type in _TEXTS else not token.nesting and token.type not in _BREAKS


def _is_kept_as_json(node: Node) -> bool:
    return not is_native(node) or node["type"] == "image"  # earlier versions kept images with a size so


def is_safe(node: Node) -> bool:
    """Whether no link in a node would run a script: JSON bypasses the parser, which refuses such links."""
    marks = node.get("marks") or []
    return all(map(_is_safe_mark, marks)) and all(map(is_safe, node.get("content") or []))


def _is_safe_mark(mark: Mark) -> bool:
    href = (mark.get("attrs") or {}).get("href")
    return not isinstance(href, str) or not is_script(href)


def _mark_of_tag(opening: re.Match[str]) -> Mark | None:
    tag, kind, value = opening[2], opening[3], opening[4]
    if kind is None:
        return {"type": _MARK_BY_TAG[tag]} if tag in _MARK_BY_TAG else None
    if kind == "data-tt":
        return _mark_of_json(parse_json_or_none(html.unescape(value))) if tag == "span" else None
    styles = _attributes_of_style(value)
    if tag == "span":
        return {"type": "textStyle", "attrs": styles} if styles else None
    if tag == "mark" and styles and styles.keys() == {"backgroundColor"}:
        return {"type": "highlight", "attrs": {"color": styles["backgroundColor"]}}
    return None


def _attributes_of_style(text: str) -> dict[str, Json] | None:
    """The attributes set by a `style`; None if it sets anything else."""
    result: dict[str, Json] = {}
    for part in text.rstrip("; ").split(";"):
        name, _, value = part.partition(":")
        key, value = _PROPERTIES.get(name.strip()), value.strip()
        if key is None or key in result or not NATIVE_ATTRIBUTES["textStyle"][key](value):
            return None
        result[key] = value
    return result


def _mark_of_json(mark: object) -> Mark | None:
    """A mark from JSON; None if it is none, or one that has another form."""
    if not isinstance(mark, dict) or not mark.keys() <= {"type", "attrs"} or not isinstance(mark.get("type"), str):
        return None
    if not isinstance(mark.get("attrs", {}), dict):
        return None
    checked_mark = cast(Mark, mark)
    return checked_mark if not is_native(checked_mark) and _is_safe_mark(checked_mark) else None
