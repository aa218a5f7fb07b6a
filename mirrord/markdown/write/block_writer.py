"""Write single blocks as Markdown, and read each back before it is used."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.inline.inline_writer import write_inline
from mirrord.markdown.inline.source_style import Style, style_variants
from mirrord.markdown.inline.table_cells import table_extra_attrs, write_table, write_table_comments
from mirrord.markdown.parser.dialect import Surroundings
from mirrord.markdown.read.page_outline import outline_of
from mirrord.markdown.read.reader import NODE_FENCE_INFO, read_nodes
from mirrord.markdown.schema.document import Node, write_comment
from mirrord.markdown.schema.node_rules import extra_attrs_of, has_no_markdown
from mirrord.markdown.schema.normal_form import fingerprint, first_difference, normalize

BULLETS = ("-", "*", "+")
NUMBER_DELIMITERS = (".", ")")
MARKERS_OF_LISTS: Mapping[str, Sequence[str]] = MappingProxyType(
    {"bulletList": BULLETS, "taskList": BULLETS, "orderedList": NUMBER_DELIMITERS}
)
_BELOW_BOXES = MARKERS_OF_LISTS.keys() | {"codeBlock"}
_CAN_FOLLOW_DIRECTLY = frozenset(["bulletList", "taskList", "codeBlock", "blockquote", "callout", "heading"])
_CAN_PRECEDE_DIRECTLY = _CAN_FOLLOW_DIRECTLY | {"paragraph", "orderedList"}
_QUOTES = ("blockquote", "callout")
_HASHES = re.compile(r"(?:(?<=[ \t])|\A)(#+)\Z")


def write_block(node: Node, style: Style) -> str:
    """Markdown of a normal block, lines ending with LF, without the last line ending."""
    if has_no_markdown(node):
        return _write_as_json(node)
    text = _WRITERS[node["type"]](node, style)
    if node["type"] == "table":
        return "\n".join([*write_table_comments(node), text])
    extra_attrs = extra_attrs_of(node)
    return f"{write_comment(extra_attrs)}\n{text}" if extra_attrs else text


def with_distinct_marker(name: str, style: Style, used_markers: Collection[str]) -> Style:
    """*style* for a list of type *name* with a marker that is not among *used_markers*, those of its neighbours."""
    current = style.lists[0].marker
    options = [current, *MARKERS_OF_LISTS[name]] if current in MARKERS_OF_LISTS[name] else MARKERS_OF_LISTS[name]
    return style.with_marker(next((marker for marker in options if marker not in used_markers), options[0]))


def _children_of(node: Node) -> Sequence[Node]:
    return node.get("content", [])


def _attr_of(node: Node, name: str) -> Json:
    return node.get("attrs", {}).get(name)


def _string_attr(node: Node, name: str) -> str:
    value = _attr_of(node, name)
    return value if isinstance(value, str) else ""


def _integer_attr(node: Node, name: str, default: int) -> int:
    value = _attr_of(node, name)
    return value if isinstance(value, int) else default


def _write_paragraph(node: Node, style: Style) -> str:
    return write_inline(_children_of(node), style)


def _write_heading(node: Node, style: Style) -> str:
    level = _integer_attr(node, "level", 1)
    if style.setext and level <= 2 and _children_of(node):
        return write_inline(_children_of(node), style) + "\n" + ("===" if level == 1 else "---")
    text = _HASHES.sub(r"\\\1", write_inline(_children_of(node), style, one_line=True))
    return f"{'#' * level} {text}".rstrip(" ")


def _write_code_block(node: Node, style: Style) -> str:
    text = "".join(child.get("text", "") for child in _children_of(node))
    return _write_fence(text + "\n" if text or style.hollow else "", _string_attr(node, "language"), style.fence)


def _write_fence(text: str, language: str, mark: str) -> str:
    mark = "~" if "`" in language else mark
    longest = max((len(run) for run in re.findall(f"{mark}+", text)), default=0)
    fence = mark * max(3, longest + 1)
    return f"{fence}{language}\n{text}{fence}"


def _write_as_json(node: Node) -> str:
    return _write_fence(json.dumps(node, ensure_ascii=False, indent=2) + "\n", NODE_FENCE_INFO, "`")


def _write_blockquote(node: Node, style: Style) -> str:
    return _prefix_lines(_write_blocks(_children_of(node), style), "> ", "> ")


def _write_callout(node: Node, style: Style) -> str:
    title = _string_attr(node, "title")
    first = f"[!{_string_attr(node, 'type')}]{_string_attr(node, 'fold')}" + (f" {title}" if title else "")
    between = "\n\n" if style.lists[0].loose else "\n"
    content = _write_blocks(_children_of(node), style)
    return _prefix_lines(first + between + content if content else first, "> ", "> ")


def _write_bullet_list(node: Node, style: Style) -> str:
    marker = with_distinct_marker("bulletList", style, ()).lists[0].marker
    return _write_items(node, style, [f"{marker} "] * len(_children_of(node)))


def _write_ordered_list(node: Node, style: Style) -> str:
    marker = with_distinct_marker("orderedList", style, ()).lists[0].marker
    start = _integer_attr(node, "start", 1)
    step = 1 if style.lists[0].has_rising_numbers else 0
    return _write_items(node, style, [f"{start + step * index}{marker} " for index in range(len(_children_of(node)))])


def _write_items(node: Node, style: Style, markers: Sequence[str]) -> str:
    loose = style.lists[0].loose
    texts = []
    for index, (item, marker) in enumerate(zip(_children_of(node), markers, strict=True)):
        content = _write_item(item, style.style_in_items(), tight=not loose, bare=index in style.lists[0].bare_items)
        texts.append(_prefix_lines(content, marker, " " * len(marker)) if content else marker.rstrip())
    return ("\n\n" if loose else "\n").join(texts)


def _write_item(item: Node, style: Style, *, tight: bool, bare: bool) -> str:
    content = _children_of(item)
    box = ""
    if item["type"] == "taskItem":
        box = "[x]" if _attr_of(item, "checked") else "[ ]"
    elif content and (box := _lone_box(content[0])):
        content = content[1:]
    text = _write_blocks(content, style, tight=tight)
    extra_attrs = extra_attrs_of(item)
    if extra_attrs or (content and _has_extras(content[0])):  # the first comment in an item always belongs to the item
        text = f"{write_comment(extra_attrs)}\n{text}".rstrip("\n")
    elif bare and box and not (content and content[0]["type"] == "paragraph"):
        return f"{box}\n{text}".rstrip("\n")
    elif box and content and (content[0]["type"] in _BELOW_BOXES or has_no_markdown(content[0])):
        return f"{box} \n{text}"  # beside the box, other parsers see text and take the last fence for the first
    return f"{box} {text}" if box else text  # other parsers see a task in an empty box only with the blank after it


def _lone_box(node: Node) -> str:
    """The box of a task among items of another kind, if no paragraph follows; else empty."""
    children = _children_of(node)
    raw = _string_attr(children[0], "raw") if len(children) == 1 and node["type"] == "paragraph" else ""
    return raw if raw in ("[ ]", "[x]", "[X]") else ""


def _has_extras(node: Node) -> bool:
    return not has_no_markdown(node) and bool(
        table_extra_attrs(node) if node["type"] == "table" else extra_attrs_of(node)
    )


def _write_footnote(node: Node, style: Style) -> str:
    text, label = _write_blocks(_children_of(node), style), f"[^{_string_attr(node, 'label')}]:"
    if starts_below_label(node):
        return label + "\n" + _prefix_lines(text, "    ", "    ")
    return _prefix_lines(text, f"{label} ", "    ") if text else label


def starts_below_label(footnote: Node) -> bool:
    """Whether the first block is on the line below the label: columns are counted differently on the label's line."""
    return any(child["type"] != "paragraph" or extra_attrs_of(child) for child in _children_of(footnote)[:1])


def _write_details(node: Node, style: Style) -> str:
    summary, content = _children_of(node)
    title = write_inline(_children_of(summary), style, one_line=True)
    opening = "<details open>" if _attr_of(node, "open") else "<details>"
    blocks = _write_blocks(_children_of(content), style)
    return f"{opening}\n<summary>{title}</summary>\n\n{blocks}" + ("\n\n" if blocks else "") + "</details>"


def _write_blocks(content: Sequence[Node], style: Style, *, tight: bool = False) -> str:
    """Consecutive blocks; adjacent lists of one kind get different markers."""
    text, last_marker = "", ""
    last: Node | None = None
    for node in content:
        node_style = style
        if node["type"] in MARKERS_OF_LISTS:
            node_style = with_distinct_marker(node["type"], style, [last_marker])
        last_marker = node_style.lists[0].marker if node["type"] in MARKERS_OF_LISTS else ""
        text += ("" if last is None else "\n" if tight and can_follow_directly(last, node) else "\n\n") + write_block(
            node, node_style
        )
        last = node
    return text


def can_follow_directly(last: Node, node: Node) -> bool:
    """Whether a block can follow *last* without a blank line, as in a tight list."""
    above, below = last["type"], node["type"]
    if above in _QUOTES and below in _QUOTES:
        return False
    if below == "orderedList":
        return above in _CAN_PRECEDE_DIRECTLY and _integer_attr(node, "start", 1) == 1
    if above in ("heading", "codeBlock") or _is_comment(last):
        return True
    return above in _CAN_PRECEDE_DIRECTLY and (below in _CAN_FOLLOW_DIRECTLY or _is_comment(node))


def _is_comment(node: Node) -> bool:
    source = _string_attr(node, "raw")
    return node["type"] == "rawBlock" and source.startswith("<!--") and source.endswith("-->")


def _prefix_lines(text: str, first_prefix: str, other_prefix: str) -> str:
    """*text* with one prefix for its first line and another for the others; blank lines get no trailing blanks."""
    first_line, *other_lines = text.split("\n")
    return "\n".join(
        [(first_prefix + first_line).rstrip(" ") if not first_line else first_prefix + first_line]
        + [other_prefix + line if line else other_prefix.rstrip(" ") for line in other_lines]
    )


_WRITERS: Mapping[str, Callable[[Node, Style], str]] = MappingProxyType(
    {
        "paragraph": _write_paragraph,
        "heading": _write_heading,
        "codeBlock": _write_code_block,
        "blockquote": _write_blockquote,
        "callout": _write_callout,
        "bulletList": _write_bullet_list,
        "taskList": _write_bullet_list,
        "orderedList": _write_ordered_list,
        "table": write_table,
        "details": _write_details,
        "footnoteDef": _write_footnote,
        "horizontalRule": lambda node, style: style.rule,
        "mathBlock": lambda node, style: f"$$\n{_string_attr(node, 'latex')}\n$$",
        "rawBlock": lambda node, style: _string_attr(node, "raw"),
    }
)


def render_cell(cell: Node, style: Style, surroundings: Surroundings) -> str:
    """
    Markdown of the content of one normal table cell, verified by reading it back in a table of its own.

    Raises:
        Damaged: no Markdown is read back as this cell.
    """
    inline = [child for paragraph in cell.get("content", []) for child in paragraph.get("content", [])]
    head: Node = {"type": "tableHeader", "content": [{"type": "paragraph", "content": inline}]}
    table = normalize({"type": "table", "content": [{"type": "tableRow", "content": [head]}]})
    row, _ = render_block(table, style, surroundings).split("\n")
    return row.removeprefix("| ").removesuffix(" |")


def render_block(node: Node, style: Style, surroundings: Surroundings) -> str:
    """
    Markdown of one normal block with LF line endings, verified by reading it back by itself.

    Raises:
        Damaged: no Markdown is read back as this block.
    """
    expected, lost = fingerprint(node), ""
    for variant in style_variants(style):
        source = write_block(node, variant)
        blocks_read = [normalize(block) for block in read_nodes(outline_of(source, surroundings))]
        if [fingerprint(block) for block in blocks_read] == [expected]:
            return source
        lost = lost or first_difference(node, blocks_read[0] if len(blocks_read) == 1 else None)
    raise Damaged(f"the change would lose {lost}: Markdown cannot hold it")
