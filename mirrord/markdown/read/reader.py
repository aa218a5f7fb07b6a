"""Read a page's Markdown as a TipTap document; text that is not understood becomes a raw block."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

from markdown_it.token import Token

from mirrord.domain.dialect import Dialect
from mirrord.markdown.frontmatter.page_text import PageText, with_unix_endings
from mirrord.markdown.inline.html_tags import is_safe
from mirrord.markdown.inline.inline_reader import raw_inline, read_inline
from mirrord.markdown.inline.table_cells import read_table
from mirrord.markdown.parser.dialect import Surroundings
from mirrord.markdown.parser.foreign_syntax import FOREIGN, PROPERTIES
from mirrord.markdown.parser.nested_blocks import WIDTHS_KEY
from mirrord.markdown.read.page_outline import Outline, outline_of
from mirrord.markdown.schema.document import Document, Node, is_node, make_document, parse_json_or_none, text_node
from mirrord.markdown.schema.node_rules import has_no_markdown
from mirrord.markdown.schema.normal_form import normalize
from mirrord.markdown.schema.sized_images import nodes_of_html

_HOLDERS = frozenset(
    ["listItem", "taskItem", "blockquote", "callout", "detailsContent", "tableHeader", "tableCell", "footnoteDef"]
)
NODE_FENCE_INFO = "tiptap-node"  # the info string of a fence with the JSON of a node that Markdown has no form for

DONE_BOX, TODO_BOX = "[x]", "[ ]"  # the boxes of tasks


def read_document(text: str, dialect: Dialect = Dialect.PLAIN) -> Document:
    """The body of *text* as a document; never raises."""
    return make_document(read_nodes(outline_of(PageText(text).body, Surroundings(dialect=dialect))))


def read_nodes(page: Outline) -> list[Node]:
    """The nodes of a page, one for each segment."""
    return [
        raw_block(with_unix_endings(page.source(index))) if segment.tokens is None else read_block(segment.tokens)
        for index, segment in enumerate(page.segments)
    ]


def raw_block(source: str) -> Node:
    """Markdown without a form in the schema, as a block."""
    return {"type": "rawBlock", "attrs": {"raw": source}}


def read_block(tokens: Sequence[Token]) -> Node:
    """The node of the tokens of one block."""
    nodes: list[Node] = []
    open_tokens: list[tuple[Token, list[Node]]] = []  # the open tokens, with the nodes read before each
    for token in tokens:
        if token.nesting == 1:
            open_tokens.append((token, nodes))
            nodes = []
        elif token.nesting == -1:
            opening, outer_nodes = open_tokens.pop()
            block_nodes = _CONTAINERS[opening.type](opening, nodes)
            outer_nodes += _with_comment_attrs(opening, block_nodes) if opening.meta else block_nodes
            nodes = outer_nodes
        elif token.type == "inline":
            nodes += read_inline(token)
        else:
            nodes += _with_comment_attrs(token, [_LEAVES[token.type](token)])
    return nodes[0]


def _with_comment_attrs(token: Token, nodes: list[Node]) -> list[Node]:
    """The node of *token* with the attributes of the comment before it; its own attributes take precedence."""
    attrs = token.meta.get("tiptap")
    if attrs and nodes[0]["type"] != "table":
        attrs = {key: value for key, value in attrs.items() if key != "id"}
        nodes[0]["attrs"] = {**attrs, **nodes[0].get("attrs", {})}
    return nodes


def _make_node(name: str, content: list[Node], **attrs: object) -> list[Node]:
    node: Node = {"type": name}
    if attrs:
        node["attrs"] = attrs  # type: ignore[typeddict-item]
    if content:
        node["content"] = content
    return [node]


def _at_least_a_paragraph(content: list[Node]) -> list[Node]:
    """Content for a node in which TipTap requires a block."""
    return content or [{"type": "paragraph"}]


def _make_paragraph(token: Token, content: list[Node]) -> list[Node]:
    return [{"type": "paragraph", "content": content} if content else {"type": "paragraph"}]


def _make_heading(token: Token, content: list[Node]) -> list[Node]:
    return _make_node("heading", content, level=int(token.tag[1]))


def _make_callout(token: Token, content: list[Node]) -> list[Node]:
    if len(content) > 1 and content[0] == {"type": "paragraph"}:
        content = content[1:]
    attrs = {key: token.meta[key] for key in ("type", "fold", "title")}
    return _make_node("callout", _at_least_a_paragraph(content), **attrs)


def _make_details(token: Token, content: list[Node]) -> list[Node]:
    summary, *blocks = content
    body: Node = {"type": "detailsContent", "content": _at_least_a_paragraph(blocks)}
    return _make_node("details", [summary, body], open=token.meta["open"])


def _make_item(token: Token, content: list[Node]) -> list[Node]:
    if not content or content[0]["type"] != "paragraph":
        content = [{"type": "paragraph"}, *content]
    if "checked" in token.meta:
        return _make_node("taskItem", content, checked=token.meta["checked"])
    return _make_node("listItem", content)


def _make_bullet_list(token: Token, items: list[Node]) -> list[Node]:
    kinds = {item["type"] for item in items}
    if kinds == {"taskItem"}:
        return _make_node("taskList", items)
    return _make_node("bulletList", [_to_plain_item(item) for item in items] if "taskItem" in kinds else items)


def _make_ordered_list(token: Token, items: list[Node]) -> list[Node]:
    return _make_node("orderedList", [_to_plain_item(item) for item in items], start=token.attrs.get("start", 1))


def _to_plain_item(item: Node) -> Node:
    """A task in a list of other items as a plain item; TipTap has no such tasks, so its box becomes raw text."""
    if item["type"] != "taskItem":
        return item
    first, *other_blocks = item["content"]
    box = raw_inline(DONE_BOX if item["attrs"]["checked"] else TODO_BOX)
    content = [box, *_with_leading_blank(first.get("content", []))]
    return {"type": "listItem", "content": [{"type": "paragraph", "content": content}, *other_blocks]}


def _with_leading_blank(content: list[Node]) -> list[Node]:
    if content and "text" in content[0] and not content[0].get("marks"):
        return [text_node(" " + content[0]["text"]), *content[1:]]
    return [text_node(" "), *content]


def _cell_maker(name: str) -> Callable[[Token, list[Node]], list[Node]]:
    def read_cell(token: Token, content: list[Node]) -> list[Node]:
        align = str(token.attrs.get("style", "")).removeprefix("text-align:") or None
        return _make_node(name, _make_node("paragraph", content), align=align)

    return read_cell


def _pass_content(token: Token, content: list[Node]) -> list[Node]:
    return content


def _make_code_block(token: Token) -> Node:
    text = token.content.removesuffix("\n")
    node: Node = {"type": "codeBlock", "attrs": {"language": token.info.strip() or None}}
    if text:
        node["content"] = [text_node(text)]
    return node


def _make_fence(token: Token) -> Node:
    if token.info.strip() == NODE_FENCE_INFO:
        node = parse_json_or_none(token.content)
        if is_node(node) and is_safe(cast(Node, node)) and has_no_markdown(normalize(cast(Node, node))):
            return _fill_with_paragraphs(cast(Node, node))
    return _make_code_block(token)


def _fill_with_paragraphs(node: Node) -> Node:
    """A node from JSON with a paragraph wherever TipTap requires a block: the normal form drops empty ones."""
    content = [_fill_with_paragraphs(child) for child in node.get("content") or []]
    if not content and node["type"] in _HOLDERS:
        content = [{"type": "paragraph"}]
    return {**node, "content": content} if content else node


def _make_raw_block(token: Token) -> Node:
    """A raw block without trailing blank lines: for unclosed HTML, their number depends on the text after it."""
    if token.type == "html_block" and (images := nodes_of_html(token.content)):
        return {"type": "paragraph", "content": images}
    lines = token.content.split("\n")
    while len(lines) > 1 and not lines[-1].strip():
        del lines[-1]
    return raw_block("\n".join(lines))


_CONTAINERS: Mapping[str, Callable[[Token, list[Node]], list[Node]]] = MappingProxyType(
    {
        "paragraph_open": _make_paragraph,
        "heading_open": _make_heading,
        "blockquote_open": lambda token, content: _make_node("blockquote", _at_least_a_paragraph(content)),
        "callout_open": _make_callout,
        "bullet_list_open": _make_bullet_list,
        "ordered_list_open": _make_ordered_list,
        "list_item_open": _make_item,
        "footnote_reference_open": lambda token, content: _make_node(
            "footnoteDef", _at_least_a_paragraph(content), label=token.meta["label"]
        ),
        "details_open": _make_details,
        "summary_open": lambda token, content: _make_node("detailsSummary", content),
        "table_open": lambda token, content: [
            read_table(content, token.meta.get("tiptap", {}), token.meta.get(WIDTHS_KEY, ()))
        ],
        "thead_open": _pass_content,
        "tbody_open": _pass_content,
        "tr_open": lambda token, content: _make_node("tableRow", content),
        "th_open": _cell_maker("tableHeader"),
        "td_open": _cell_maker("tableCell"),
    }
)
_LEAVES: Mapping[str, Callable[[Token], Node]] = MappingProxyType(
    {
        "fence": _make_fence,
        "code_block": _make_code_block,
        "hr": lambda token: {"type": "horizontalRule"},
        "html_block": _make_raw_block,
        "definition": _make_raw_block,
        "comment": _make_raw_block,
        FOREIGN: _make_raw_block,
        PROPERTIES: _make_raw_block,
        "math_block": lambda token: {"type": "mathBlock", "attrs": {"latex": token.content.strip()}},
    }
)
