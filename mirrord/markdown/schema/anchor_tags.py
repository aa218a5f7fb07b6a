"""
Links that are written as `<a href="…">…</a>`: they are links as those of Markdown are. Pure.

Only a pair that says nothing else is read so: a target, perhaps a hint, and between the tags content without links.
"""

import html
import re
from collections.abc import Sequence
from typing import Final

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.parser.dialect import is_script
from mirrord.markdown.schema.document import Mark, Node

LINKING_ATOMS: Final = frozenset(["wikilink", "mention", "footnoteRef"])  # inline nodes that are links themselves

_ATTRIBUTE = re.compile(r"""\s+(href|title)\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+)""", re.IGNORECASE)
_OPENING = re.compile(rf"<a((?:{_ATTRIBUTE.pattern}){{1,2}})\s*>", re.IGNORECASE)
_ANY_OPENING = re.compile(r"<a[\s>/]", re.IGNORECASE)
_CLOSING = re.compile(r"</a\s*>", re.IGNORECASE)
_TEMPLATES = ("{{", "{%")


def link_of_tag(tag: str) -> Mark | None:
    """The link that an opening HTML *tag* sets; None if it is another tag, has other attributes, or runs a script."""
    match = _OPENING.fullmatch(tag)
    pairs = [(name.lower(), _value_of(text)) for name, text in _ATTRIBUTE.findall(match[1])] if match else []
    attrs: dict[str, Json] = dict(pairs)
    href = str(attrs.get("href", ""))
    if len(attrs) < len(pairs) or not _is_target(href) or not all(map(_is_line, attrs.values())):
        return None
    return {"type": "link", "attrs": {name: attrs[name] for name in ("href", "title") if attrs.get(name)}}


def begins_anchor(tag: str) -> bool:
    """Whether *tag* opens any `<a>`, with or without a target."""
    return _ANY_OPENING.match(tag) is not None


def ends_anchor(tag: str) -> bool:
    """Whether *tag* closes an `<a>`."""
    return _CLOSING.fullmatch(tag) is not None


def join_anchors(content: Sequence[Node]) -> Sequence[Node]:
    """Inline *content* in which raw tags of links, of a version that did not read them, are links."""
    if not any(_raw_of(node).startswith(("<a", "<A")) for node in content):
        return content
    result: list[Node] = []
    opening: int | None = None  # in *result*, of the last tag that is not closed
    for index, node in enumerate(content):
        raw = _raw_of(node)
        if begins_anchor(raw):
            opening = len(result)
        elif ends_anchor(raw) and opening is not None:
            around = [*result[max(opening - 1, 0) : opening], *content[index + 1 : index + 2]]
            linked = [] if any(map(_is_linked, around)) else _linked(result[opening], result[opening + 1 :], node)
            if linked:
                result[opening:] = linked
                opening = None
                continue
            opening = None
        result.append(node)
    return result


def _linked(opening: Node, inner: Sequence[Node], closing: Node) -> list[Node]:
    """The nodes between two tags as a link; empty if they cannot be one."""
    mark = link_of_tag(_raw_of(opening))
    marks = opening.get("marks") or []
    if mark is None or (closing.get("marks") or []) != marks or any(map(_is_linking, [opening, *inner])):
        return []
    if not any(map(_is_something, inner)) or any((node.get("marks") or [])[: len(marks)] != marks for node in inner):
        return []
    return [{**node, "marks": [*marks, mark, *(node.get("marks") or [])[len(marks) :]]} for node in inner]


def _is_something(node: Node) -> bool:
    """Whether *node* is more than a blank, a break or a tag."""
    return bool(node["text"].strip()) if "text" in node else node["type"] not in ("hardBreak", "rawInline")


def _is_linked(node: Node) -> bool:
    return any(mark["type"] == "link" for mark in node.get("marks") or [])


def _is_linking(node: Node) -> bool:
    return node["type"] in LINKING_ATOMS or _is_linked(node)


def _raw_of(node: Node) -> str:
    raw = (node.get("attrs") or {}).get("raw") if node["type"] == "rawInline" else None
    return raw if isinstance(raw, str) else ""


def _is_target(href: str) -> bool:
    is_template = href.startswith("{") or any(sign in href for sign in _TEMPLATES)
    return bool(href) and not is_template and not is_script(href)


def _is_line(value: Json) -> bool:
    return isinstance(value, str) and value.isprintable() and value == value.strip()


def _value_of(text: str) -> str:
    return html.unescape(text[1:-1] if text[0] in "\"'" else text)
