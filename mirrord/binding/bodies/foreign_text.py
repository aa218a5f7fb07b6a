"""Syntax of a site generator in a page, which an app's document has as ordinary text. Pure."""

from mirrord.markdown.inline.inline_reader import merge_texts
from mirrord.markdown.schema.document import Node, text_node

_MARKDOWN = ("<", "[", "&")  # how raw parts begin that are Markdown's own: HTML, definitions of links, entities


def with_foreign_text(node: Node) -> Node:
    """*node* of a page with dialect, with text instead of the raw parts that only its program reads."""
    raw = _foreign_raw(node)
    if raw is not None and node["type"] == "rawInline":
        return text_node(raw, node.get("marks") or ())
    if raw is not None and "\n" not in raw:
        return {"type": "paragraph", "content": [text_node(raw)]}
    children = node.get("content")
    return {**node, "content": merge_texts(list(map(with_foreign_text, children)))} if children else node


def _foreign_raw(node: Node) -> str | None:
    raw = (node.get("attrs") or {}).get("raw") if node["type"] in ("rawInline", "rawBlock") else None
    return raw if isinstance(raw, str) and raw and not raw.startswith(_MARKDOWN) else None
