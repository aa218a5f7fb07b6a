"""
TipTap documents: names of nodes and marks, the shape required of what apps wrote, and JSON embedded in text.

Comments in a page hold the attributes of blocks as JSON.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NotRequired, TypedDict, cast

import orjson

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.schema.node_types import NODES


class Mark(TypedDict):
    """A mark on an inline node."""

    type: str
    attrs: NotRequired[dict[str, Json]]


class Node(TypedDict):
    """A ProseMirror node as JSON; `text` on text nodes only."""

    type: str
    attrs: NotRequired[dict[str, Json]]
    content: NotRequired[list["Node"]]
    marks: NotRequired[list[Mark]]
    text: NotRequired[str]


Document = Node  # of type "doc"

MAX_DEPTH: Final = 120  # nodes inside nodes: more than `dialect.MAX_NESTING` levels of Markdown produce

INLINE: Final = frozenset(
    ["text", "hardBreak", "image", "mathInline", "footnoteRef", "wikilink", "embed", "mention", "rawInline"]
)
TEXTBLOCKS: Final = frozenset(["paragraph", "heading"])
BLOCKS: Final = TEXTBLOCKS | {
    *("bulletList", "orderedList", "listItem", "taskList", "taskItem", "codeBlock", "blockquote", "callout"),
    *("details", "detailsSummary", "detailsContent", "horizontalRule", "mathBlock", "footnoteDef", "rawBlock"),
    *("table", "tableRow", "tableHeader", "tableCell"),
}
DELIMITED: Final = frozenset(["bold", "italic", "strike", "highlight"])  # marks set by delimiters
TAGGED: Final = {"underline": "u", "subscript": "sub", "superscript": "sup"}  # marks set by HTML tags
MARKS: Final = DELIMITED | TAGGED.keys() | {"code", "link", "textStyle"}

MAX_SPANNED_PLACES: Final = 100_000  # rows times columns of a table with merged cells; editors have a value for each
_BOUNDS: Mapping[str, Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        name: bounds
        for name, node in NODES.items()
        if (bounds := {key: value.bounds for key, value in node.attributes.items() if value.bounds})
    }
)
_KEYS = frozenset(["type", "attrs", "content", "marks", "text"])
_PARTS: Final = (("attrs", dict), ("content", list), ("marks", list))  # the keys with containers, and of which type


def make_document(content: Sequence[Node]) -> Document:
    """A document of *content*."""
    return {"type": "doc", "content": list(content)}


def text_node(text: str, marks: Sequence[Mark] = ()) -> Node:
    """A text node; *text* is not empty."""
    return {"type": "text", "text": text, "marks": list(marks)} if marks else {"type": "text", "text": text}


def check_document(value: object) -> Document:
    """
    *value*, checked to have the shape of a document.

    Raises:
        Damaged: it is no ProseMirror JSON, is nested too deep, or has a number that makes it too large to be shown.
    """
    if not isinstance(value, dict) or value.get("type") != "doc":
        raise Damaged("the content is not a TipTap document (its `type` is not `doc`)")
    _check_node(value, 0)
    return cast(Document, value)


def is_node(value: object) -> bool:
    """Whether *value* has the shape of a ProseMirror node."""
    try:
        _check_node(value, 0)
    except Damaged:
        return False
    return True


def _check_node(value: object, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise Damaged(f"the content is nested deeper than {MAX_DEPTH}")
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise Damaged("the content holds something that is not a TipTap node")
    name = value["type"]
    if name == "text" and len(value) == 2 and isinstance(value.get("text"), str):
        return  # without marks, as half of all nodes
    if not value.keys() <= _KEYS:
        unknown = value.keys() - _KEYS
        raise Damaged(f"the content holds a {name} with the unknown key `{min(map(str, unknown))}`")
    _check_parts(name, value)
    for mark in value.get("marks") or ():
        if not _is_mark(mark):
            raise Damaged(f"the content holds a {name} with an invalid mark")
    for child in value.get("content") or ():
        _check_node(child, depth + 1)
    if name == "table":
        _check_places(cast(Node, value))


def is_in_bounds(name: str, key: str, value: object) -> bool:
    """Whether an attribute of a node of type *name* is no number that is out of its bounds."""
    bounds = _BOUNDS.get(name, {}).get(key)
    if bounds is None or value is None:
        return True
    return isinstance(value, int) and not isinstance(value, bool) and bounds[0] <= value <= bounds[1]


def _check_places(table: Node) -> None:
    """Raise Damaged if the merged cells of a checked table make it too large."""
    rows = [[_spans_of(cell) for cell in row.get("content") or []] for row in table.get("content") or []]
    is_merged = any(spans != (1, 1) for row in rows for spans in row)
    if is_merged and _width_of(rows) * len(rows) > MAX_SPANNED_PLACES:
        raise Damaged(f"the content holds a table whose merged cells make it larger than {MAX_SPANNED_PLACES} cells")


def _spans_of(cell: Node) -> tuple[int, int]:
    attrs = cell.get("attrs") or {}
    columns, lines = (
        attrs.get(key) if key in _BOUNDS.get(cell["type"], {}) else None for key in ("colspan", "rowspan")
    )
    return cast(int, columns) or 1, cast(int, lines) or 1


def _width_of(rows: Sequence[Sequence[tuple[int, int]]]) -> int:
    """The columns of a table of cells that span (columns, rows)."""
    width, reaching, ends = 0, 0, Counter[int]()  # columns of cells above that reach into the row, and where they end
    for number, row in enumerate(rows):
        reaching += sum(columns for columns, _ in row) - ends[number]
        width = max(width, reaching)
        for columns, lines in row:
            ends[number + lines] += columns
    return width


def _is_mark(value: object) -> bool:
    if not isinstance(value, dict) or value.keys() - {"type", "attrs"}:
        return False
    return isinstance(value.get("type"), str) and isinstance(value.get("attrs"), dict | None)


def _check_parts(name: str, value: Mapping[str, object]) -> None:
    for key, kind in _PARTS:
        part = value.get(key)
        if part is not None and not isinstance(part, kind):
            raise Damaged(f"the content holds a {name} whose `{key}` is not a {kind.__name__}")
    if ("text" in value) != (name == "text") or not isinstance(value.get("text", ""), str):
        raise Damaged(f"the content holds a {name} whose `text` is wrong")
    if name not in _BOUNDS or not value.get("attrs"):
        return
    for key, (lowest, highest) in _BOUNDS[name].items():
        if not is_in_bounds(name, key, cast(Mapping[str, object], value["attrs"]).get(key)):
            raise Damaged(f"the content holds a {name} whose `{key}` is not a number from {lowest} to {highest}")


def parse_json(source: str) -> object:
    """
    The value of the JSON *source*.

    Raises Damaged if it is no JSON, or cannot be written again: a number out of range, or brackets nested deeper than
    orjson allows.
    """
    try:
        value: object = orjson.loads(source)
        orjson.dumps(value)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError) as error:
        raise Damaged("it is no JSON, or holds a number that is too large, or is nested too deep") from error
    return value


def parse_json_or_none(source: str) -> object:
    """The value of *source*, which may be any text; None where `parsed` raises."""
    try:
        return parse_json(source)
    except Damaged:
        return None


_COMMENT = re.compile(r"<!-- tiptap (\{.*\}) -->")


def write_comment(attrs: Mapping[str, Json]) -> str:
    """The comment that holds *attrs*."""
    text = json.dumps(attrs, ensure_ascii=False, separators=(",", ":"))
    return f"<!-- tiptap {text.replace('--', _escape('--')).replace('>', _escape('>'))} -->"


def read_comment(source: str) -> dict[str, Json] | None:
    """The attributes in the comment *source*; None if it is any other text."""
    match = _COMMENT.fullmatch(source.strip(" \n"))
    return cast("dict[str, Json] | None", parse_json_or_none(match[1])) if match else None


def _escape(text: str) -> str:
    return "".join(f"\\u{ord(char):04x}" for char in text)
