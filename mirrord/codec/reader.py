"""Reading: a page's Markdown as a TipTap document. Total: whatever is not understood stays as a raw block."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

from markdown_it.token import Token

from mirrord.codec.document import Document, Node, document, is_node, text_node
from mirrord.codec.embedded import embedded
from mirrord.codec.frontmatter import split
from mirrord.codec.inline_reader import raw_inline, read_inline
from mirrord.codec.normal import normal
from mirrord.codec.schema import is_beyond
from mirrord.codec.segments import Outline, outline
from mirrord.codec.tables import read_table
from mirrord.codec.tags import is_safe
from mirrord.codec.text import unix

_HOLDERS = frozenset(
    ["listItem", "taskItem", "blockquote", "callout", "detailsContent", "tableHeader", "tableCell", "footnoteDef"]
)
FENCE = "tiptap-node"  # the info string of a fence that holds a node Markdown lacks, as JSON

DONE, TODO = "[x]", "[ ]"  # the boxes of tasks


def read(text: str) -> Document:
    """The body of *text* as a document; never raises."""
    return document(nodes(outline(split(text).body)))


def nodes(page: Outline) -> list[Node]:
    """One node a segment."""
    return [
        raw_block(unix(page.source(index))) if segment.tokens is None else read_block(segment.tokens)
        for index, segment in enumerate(page.segments)
    ]


def raw_block(source: str) -> Node:
    """Markdown the schema lacks, as a block."""
    return {"type": "rawBlock", "attrs": {"raw": source}}


def read_block(tokens: Sequence[Token]) -> Node:
    """The node of one block's tokens."""
    found: list[Node] = []
    around: list[tuple[Token, list[Node]]] = []  # what is open, with what was found before it
    for token in tokens:
        if token.nesting == 1:
            around.append((token, found))
            found = []
        elif token.nesting == -1:
            opening, before = around.pop()
            nodes = _CONTAINERS[opening.type](opening, found)
            before += _given(opening, nodes) if opening.meta else nodes
            found = before
        elif token.type == "inline":
            found += read_inline(token)
        else:
            found += _given(token, [_LEAVES[token.type](token)])
    return found[0]


def _given(token: Token, nodes: list[Node]) -> list[Node]:
    """The node of *token* with the attributes of the comment before it, which override none of its own."""
    given = token.meta.get("tiptap")
    if given and nodes[0]["type"] != "table":
        given = {key: value for key, value in given.items() if key != "id"}
        nodes[0]["attrs"] = {**given, **nodes[0].get("attrs", {})}
    return nodes


def _node(name: str, content: list[Node], **attrs: object) -> list[Node]:
    node: Node = {"type": name}
    if attrs:
        node["attrs"] = attrs  # type: ignore[typeddict-item]
    if content:
        node["content"] = content
    return [node]


def _filled(content: list[Node]) -> list[Node]:
    """Content for a node in which TipTap wants a block."""
    return content or [{"type": "paragraph"}]


def _paragraph(token: Token, content: list[Node]) -> list[Node]:
    return [{"type": "paragraph", "content": content} if content else {"type": "paragraph"}]


def _heading(token: Token, content: list[Node]) -> list[Node]:
    return _node("heading", content, level=int(token.tag[1]))


def _callout(token: Token, content: list[Node]) -> list[Node]:
    if len(content) > 1 and content[0] == {"type": "paragraph"}:
        content = content[1:]
    attrs = {key: token.meta[key] for key in ("type", "fold", "title")}
    return _node("callout", _filled(content), **attrs)


def _details(token: Token, content: list[Node]) -> list[Node]:
    summary, *blocks = content
    body: Node = {"type": "detailsContent", "content": _filled(blocks)}
    return _node("details", [summary, body], open=token.meta["open"])


def _item(token: Token, content: list[Node]) -> list[Node]:
    if not content or content[0]["type"] != "paragraph":
        content = [{"type": "paragraph"}, *content]
    if "checked" in token.meta:
        return _node("taskItem", content, checked=token.meta["checked"])
    return _node("listItem", content)


def _bullets(token: Token, items: list[Node]) -> list[Node]:
    kinds = {item["type"] for item in items}
    if kinds == {"taskItem"}:
        return _node("taskList", items)
    return _node("bulletList", [_plain(item) for item in items] if "taskItem" in kinds else items)


def _numbers(token: Token, items: list[Node]) -> list[Node]:
    return _node("orderedList", [_plain(item) for item in items], start=token.attrs.get("start", 1))


def _plain(item: Node) -> Node:
    """A task in a list of other items, for which TipTap has no place: its box is raw text."""
    if item["type"] != "taskItem":
        return item
    first, *rest = item["content"]
    box = raw_inline(DONE if item["attrs"]["checked"] else TODO)
    content = [box, *_after_blank(first.get("content", []))]
    return {"type": "listItem", "content": [{"type": "paragraph", "content": content}, *rest]}


def _after_blank(content: list[Node]) -> list[Node]:
    if content and "text" in content[0] and not content[0].get("marks"):
        return [text_node(" " + content[0]["text"]), *content[1:]]
    return [text_node(" "), *content]


def _cell(name: str) -> Callable[[Token, list[Node]], list[Node]]:
    def read_cell(token: Token, content: list[Node]) -> list[Node]:
        align = str(token.attrs.get("style", "")).removeprefix("text-align:") or None
        return _node(name, _node("paragraph", content), align=align)

    return read_cell


def _passed(token: Token, content: list[Node]) -> list[Node]:
    return content


def _code(token: Token) -> Node:
    text = token.content.removesuffix("\n")
    node: Node = {"type": "codeBlock", "attrs": {"language": token.info.strip() or None}}
    if text:
        node["content"] = [text_node(text)]
    return node


def _fence(token: Token) -> Node:
    if token.info.strip() == FENCE:
        node = embedded(token.content)
        if is_node(node) and is_safe(cast(Node, node)) and is_beyond(normal(cast(Node, node))):
            return _completed(cast(Node, node))
    return _code(token)


def _completed(node: Node) -> Node:
    """A node out of JSON with a paragraph wherever TipTap wants a block: the normal form has no empty ones."""
    content = [_completed(child) for child in node.get("content") or []]
    if not content and node["type"] in _HOLDERS:
        content = [{"type": "paragraph"}]
    return {**node, "content": content} if content else node


def _raw(token: Token) -> Node:
    """Without blank lines at its end: how many of them HTML that nothing closes has, what comes after decides."""
    lines = token.content.split("\n")
    while len(lines) > 1 and not lines[-1].strip():
        del lines[-1]
    return raw_block("\n".join(lines))


_CONTAINERS: Mapping[str, Callable[[Token, list[Node]], list[Node]]] = MappingProxyType(
    {
        "paragraph_open": _paragraph,
        "heading_open": _heading,
        "blockquote_open": lambda token, content: _node("blockquote", _filled(content)),
        "callout_open": _callout,
        "bullet_list_open": _bullets,
        "ordered_list_open": _numbers,
        "list_item_open": _item,
        "footnote_reference_open": lambda token, content: _node(
            "footnoteDef", _filled(content), label=token.meta["label"]
        ),
        "details_open": _details,
        "summary_open": lambda token, content: _node("detailsSummary", content),
        "table_open": lambda token, content: [read_table(content, token.meta.get("tiptap", {}))],
        "thead_open": _passed,
        "tbody_open": _passed,
        "tr_open": lambda token, content: _node("tableRow", content),
        "th_open": _cell("tableHeader"),
        "td_open": _cell("tableCell"),
    }
)
_LEAVES: Mapping[str, Callable[[Token], Node]] = MappingProxyType(
    {
        "fence": _fence,
        "code_block": _code,
        "hr": lambda token: {"type": "horizontalRule"},
        "html_block": _raw,
        "definition": _raw,
        "comment": _raw,
        "math_block": lambda token: {"type": "mathBlock", "attrs": {"latex": token.content.strip()}},
    }
)
