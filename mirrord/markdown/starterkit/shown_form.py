"""
Documents as an editor with StarterKit, tables, tasks and images can show them. Pure.

`mirrord.starterkit_document` in Postgres does the same for apps; a test holds that both agree. Each block becomes one
block, and each inline node one text or atom. Attributes stay; marks that the editor lacks are left out.
"""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.schema.document import INLINE, Document, Mark, Node, text_node
from mirrord.markdown.write.content_losses import ORDINARY_MARKS, ORDINARY_NODES

SCHEMA: Final = "starterkit"
RAW_LANGUAGE: Final = "mirrord-raw"  # of code blocks that are raw Markdown
MATH_LANGUAGE: Final = "mirrord-math"
NODE_LANGUAGE: Final = "mirrord-node"  # of code blocks that are a node as JSON

_SHOWN_INLINE: Final = frozenset(["hardBreak", "image"])  # as they are
_ITEM_TYPES: Mapping[str, str] = MappingProxyType(
    {"bulletList": "listItem", "orderedList": "listItem", "taskList": "taskItem"}
)
_CELL_TYPES: Final = frozenset(["tableHeader", "tableCell"])
_PART_TYPES: Final = frozenset(["doc", "text", "listItem", "taskItem", "tableRow", *_CELL_TYPES])
_CODE_MARK: Mark = {"type": "code"}


def to_starterkit(document: Document) -> Document:
    """*document* for an editor with StarterKit, tables, tasks and images."""
    content = [show_block(node) for node in document.get("content") or ()]
    return {"type": "doc", "content": content or [{"type": "paragraph"}]}


def show_block(node: Node) -> Node:
    """The block *node* as a block of such an editor."""
    name = node["type"]
    if name in INLINE:
        return {"type": "paragraph", "content": [show_inline(node)]}
    if node.get("marks"):
        return _code_block(node, NODE_LANGUAGE, _json_of(node))
    if name == "rawBlock":
        return _code_block(node, RAW_LANGUAGE, string_attribute(node, "raw"))
    if name == "mathBlock":
        return _code_block(node, MATH_LANGUAGE, string_attribute(node, "latex"))
    if name in ("callout", "footnoteDef", "details") and (parts := _quoted_parts(node)) is not None:
        return {"type": "blockquote", **_id_attrs(node), "content": parts}
    if name not in ORDINARY_NODES or name in _PART_TYPES or not _fits(node):
        return _code_block(node, NODE_LANGUAGE, _json_of(node))
    return _with_shown_content(node)


def show_part(node: Node) -> Node:
    """A block, item, row or cell as it is shown in its place."""
    return _with_shown_content(node) if node["type"] in _PART_TYPES else show_block(node)


def show_inline(node: Node) -> Node:
    """The inline *node* as a text, a line break or an image."""
    if "text" not in node and node["type"] not in _SHOWN_INLINE:
        return text_node(shown_text(node), visible_marks(node))
    marks = node.get("marks")
    if not marks:
        return node
    result: Node = {**node, "marks": visible_marks(node)}
    if not result["marks"]:
        del result["marks"]
    return result


def visible_marks(node: Node) -> list[Mark]:
    """The marks of *node* that such an editor shows: code excludes all others there."""
    marks = node.get("marks") or []
    if any(mark["type"] == "code" for mark in marks):
        return [_CODE_MARK]
    return [mark for mark in marks if mark["type"] in ORDINARY_MARKS]


def shown_text(node: Node) -> str:
    """The text that stands for an inline *node* that such an editor lacks: nearly its Markdown; never empty."""
    return _text_form(node) or f"{{{node['type']}}}"


def is_shown_as_text(node: Node) -> bool:
    """Whether the inline *node* is shown as a text although it is none."""
    return "text" not in node and node["type"] not in _SHOWN_INLINE


def _text_form(node: Node) -> str:
    name = node["type"]
    if name in ("wikilink", "embed"):
        heading, alias = string_attribute(node, "heading"), string_attribute(node, "alias")
        inside = string_attribute(node, "target") + (heading and f"#{heading}") + (alias and f"|{alias}")
        return f"{'!' if name == 'embed' else ''}[[{inside}]]"
    if name == "footnoteRef":
        return f"[^{string_attribute(node, 'label')}]"
    if name == "mathInline":
        dollars = "$$" if (node.get("attrs") or {}).get("display") is True else "$"
        return dollars + string_attribute(node, "latex") + dollars
    if name == "mention":
        return "@" + (string_attribute(node, "label") or string_attribute(node, "id"))
    return string_attribute(node, "raw") if name == "rawInline" else ""


def string_attribute(node: Node, key: str) -> str:
    """The attribute *key* of *node*; "" if it is no string."""
    value = (node.get("attrs") or {}).get(key)
    return value if isinstance(value, str) else ""


def header_text(node: Node) -> str:
    """The first words of the quote that a callout, footnote or unfolding block is shown as."""
    if node["type"] == "callout":
        title = string_attribute(node, "title")
        return f"[!{string_attribute(node, 'type')}]{string_attribute(node, 'fold')}" + (title and f" {title}")
    if node["type"] == "footnoteDef":
        return f"[^{string_attribute(node, 'label')}]:"
    return "<details open>" if (node.get("attrs") or {}).get("open") is True else "<details>"


def parts_of_details(node: Node) -> tuple[Sequence[Node], Sequence[Node]] | None:
    """The summary and the blocks of a `details` node; None if it is built differently."""
    content = node.get("content") or []
    if [child["type"] for child in content] != ["detailsSummary", "detailsContent"]:
        return None
    return content[0].get("content") or (), content[1].get("content") or ()


def _quoted_parts(node: Node) -> list[Node] | None:
    """The blocks of the quote that stands for *node*; None if it has no such form."""
    inline: list[Node] = [text_node(header_text(node))]
    blocks: Sequence[Node] = node.get("content") or ()
    if node["type"] == "details":
        if (parts := parts_of_details(node)) is None or not _are_inline(parts[0]):
            return None
        summary, blocks = parts
        if summary:
            inline += [text_node(" "), *map(show_inline, summary)]
    return [{"type": "paragraph", "content": inline}, *map(show_block, blocks)]


def _fits(node: Node) -> bool:
    """Whether an ordinary block has the parts that such an editor requires."""
    name, content = node["type"], node.get("content") or []
    if name in ("paragraph", "heading"):
        return _are_inline(content)
    if name == "codeBlock":
        return all(child["type"] == "text" and not child.get("marks") for child in content)
    if name == "blockquote":
        return bool(content)
    if name in _ITEM_TYPES:
        return bool(content) and all(_is_item(child, _ITEM_TYPES[name]) for child in content)
    if name == "table":
        return bool(content) and all(map(_is_row, content))
    return name == "horizontalRule" and not content


def _are_inline(content: Sequence[Node]) -> bool:
    return all(child["type"] in INLINE or child["type"] not in _BLOCK_TYPES for child in content)


_BLOCK_TYPES: Final = (ORDINARY_NODES - INLINE) | frozenset(
    ["callout", "details", "detailsSummary", "detailsContent", "mathBlock", "footnoteDef", "rawBlock"]
)


def _is_item(node: Node, name: str) -> bool:
    content = node.get("content") or []
    return node["type"] == name and not node.get("marks") and bool(content) and _is_paragraph(content[0])


def _is_paragraph(node: Node) -> bool:
    return node["type"] == "paragraph" and not node.get("marks") and _fits(node)


def _is_row(node: Node) -> bool:
    return node["type"] == "tableRow" and not node.get("marks") and all(map(_is_cell, node.get("content") or ()))


def _is_cell(node: Node) -> bool:
    return node["type"] in _CELL_TYPES and not node.get("marks") and bool(node.get("content"))


def _with_shown_content(node: Node) -> Node:
    name, content = node["type"], node.get("content")
    if not content or name == "codeBlock":
        return node
    if name in ("paragraph", "heading"):
        return {**node, "content": [show_inline(child) for child in content]}
    if name in _ITEM_TYPES or name in ("table", "tableRow"):
        return {**node, "content": [_with_shown_content(child) for child in content]}
    return {**node, "content": [show_block(child) for child in content]}


def _code_block(node: Node, language: str, text: str) -> Node:
    attrs: dict[str, Json] = {**_id_attrs(node).get("attrs", {}), "language": language}
    return {"type": "codeBlock", "attrs": attrs, **({"content": [text_node(text)]} if text else {})}  # type: ignore[typeddict-item]


def _id_attrs(node: Node) -> Node:
    block_id = (node.get("attrs") or {}).get("id")
    return {"attrs": {"id": block_id}} if isinstance(block_id, str) else {}  # type: ignore[typeddict-item]


def _json_of(node: Node) -> str:
    return json.dumps(node, ensure_ascii=False, indent=2)
