"""Writing blocks: Markdown of one normal node. Nothing here is trusted: `render` reads it back and compares."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

from mirrord.codec.attributes import comment
from mirrord.codec.document import Node
from mirrord.codec.inline_writer import write_inline
from mirrord.codec.properties import Json
from mirrord.codec.reader import FENCE
from mirrord.codec.schema import extras, is_beyond
from mirrord.codec.style import Style
from mirrord.codec.tables import table_extras, write_table

BULLETS = ("-", "*", "+")
NUMBERS = (".", ")")
LISTS: Mapping[str, Sequence[str]] = MappingProxyType(
    {"bulletList": BULLETS, "taskList": BULLETS, "orderedList": NUMBERS}
)
_GLUED = frozenset(["bulletList", "taskList", "codeBlock", "blockquote", "callout", "heading"])
_GLUE = _GLUED | {"paragraph", "orderedList"}
_QUOTES = ("blockquote", "callout")
_HASHES = re.compile(r"(?:(?<=[ \t])|\A)(#+)\Z")


def write(node: Node, style: Style) -> str:
    """Markdown of a normal block, lines ending with LF, without the last line ending."""
    if is_beyond(node):
        return _as_json(node)
    text = _WRITERS[node["type"]](node, style)
    own = table_extras(node) if node["type"] == "table" else extras(node)
    return f"{comment(own)}\n{text}" if own else text


def apart(name: str, style: Style, taken: Collection[str]) -> Style:
    """*style* for a list of type *name* whose marker is not among the *taken* ones of its neighbours."""
    own = style.lists[0].marker
    choice = [own, *LISTS[name]] if own in LISTS[name] else LISTS[name]
    return style.marked(next((marker for marker in choice if marker not in taken), choice[0]))


def _children(node: Node) -> Sequence[Node]:
    return node.get("content", [])


def _attr(node: Node, name: str) -> Json:
    return node.get("attrs", {}).get(name)


def _string(node: Node, name: str) -> str:
    value = _attr(node, name)
    return value if isinstance(value, str) else ""


def _whole(node: Node, name: str, default: int) -> int:
    value = _attr(node, name)
    return value if isinstance(value, int) else default


def _paragraph(node: Node, style: Style) -> str:
    return write_inline(_children(node), style)


def _heading(node: Node, style: Style) -> str:
    level = _whole(node, "level", 1)
    if style.setext and level <= 2 and _children(node):
        return write_inline(_children(node), style) + "\n" + ("===" if level == 1 else "---")
    text = _HASHES.sub(r"\\\1", write_inline(_children(node), style, one_line=True))
    return f"{'#' * level} {text}".rstrip(" ")


def _code_block(node: Node, style: Style) -> str:
    text = "".join(child.get("text", "") for child in _children(node))
    return _fenced(text + "\n" if text or style.hollow else "", _string(node, "language"), style.fence)


def _fenced(text: str, language: str, mark: str) -> str:
    mark = "~" if "`" in language else mark
    longest = max((len(run) for run in re.findall(f"{mark}+", text)), default=0)
    fence = mark * max(3, longest + 1)
    return f"{fence}{language}\n{text}{fence}"


def _as_json(node: Node) -> str:
    return _fenced(json.dumps(node, ensure_ascii=False, indent=2) + "\n", FENCE, "`")


def _blockquote(node: Node, style: Style) -> str:
    return _prefixed(_blocks(_children(node), style), "> ", "> ")


def _callout(node: Node, style: Style) -> str:
    title = _string(node, "title")
    first = f"[!{_string(node, 'type')}]{_string(node, 'fold')}" + (f" {title}" if title else "")
    between = "\n\n" if style.lists[0].loose else "\n"
    content = _blocks(_children(node), style)
    return _prefixed(first + between + content if content else first, "> ", "> ")


def _bullet_list(node: Node, style: Style) -> str:
    marker = apart("bulletList", style, ()).lists[0].marker
    return _items(node, style, [f"{marker} "] * len(_children(node)))


def _ordered_list(node: Node, style: Style) -> str:
    marker = apart("orderedList", style, ()).lists[0].marker
    start = _whole(node, "start", 1)
    step = 1 if style.lists[0].counts else 0
    return _items(node, style, [f"{start + step * index}{marker} " for index in range(len(_children(node)))])


def _items(node: Node, style: Style, markers: Sequence[str]) -> str:
    loose = style.lists[0].loose
    texts = []
    for index, (item, marker) in enumerate(zip(_children(node), markers, strict=True)):
        content = _item(item, style.deeper(), tight=not loose, bare=index in style.lists[0].bare)
        texts.append(_prefixed(content, marker, " " * len(marker)) if content else marker.rstrip())
    return ("\n\n" if loose else "\n").join(texts)


def _item(item: Node, style: Style, *, tight: bool, bare: bool) -> str:
    content = _children(item)
    box = ""
    if item["type"] == "taskItem":
        box = "[x]" if _attr(item, "checked") else "[ ]"
    elif content and (box := _lone_box(content[0])):
        content = content[1:]
    text = _blocks(content, style, tight=tight)
    own = extras(item)
    if own or (content and _has_extras(content[0])):  # the first comment in an item is always the item's
        text = f"{comment(own)}\n{text}".rstrip("\n")
    elif bare and box and not (content and content[0]["type"] == "paragraph"):
        return f"{box}\n{text}".rstrip("\n")
    return f"{box} {text}" if box else text  # elsewhere an empty box is a task only with the blank behind it


def _lone_box(node: Node) -> str:
    """The box of a task among items of another kind, when what follows is no paragraph."""
    children = _children(node)
    raw = _string(children[0], "raw") if len(children) == 1 and node["type"] == "paragraph" else ""
    return raw if raw in ("[ ]", "[x]", "[X]") else ""


def _has_extras(node: Node) -> bool:
    return not is_beyond(node) and bool(table_extras(node) if node["type"] == "table" else extras(node))


def _footnote(node: Node, style: Style) -> str:
    text, label = _blocks(_children(node), style), f"[^{_string(node, 'label')}]:"
    if starts_below(node):
        return label + "\n" + _prefixed(text, "    ", "    ")
    return _prefixed(text, f"{label} ", "    ") if text else label


def starts_below(footnote: Node) -> bool:
    """Whether the first block stands below the label: on its line columns are counted otherwise."""
    return any(child["type"] != "paragraph" or extras(child) for child in _children(footnote)[:1])


def _details(node: Node, style: Style) -> str:
    summary, content = _children(node)
    title = write_inline(_children(summary), style, one_line=True)
    opening = "<details open>" if _attr(node, "open") else "<details>"
    blocks = _blocks(_children(content), style)
    return f"{opening}\n<summary>{title}</summary>\n\n{blocks}" + ("\n\n" if blocks else "") + "</details>"


def _blocks(content: Sequence[Node], style: Style, *, tight: bool = False) -> str:
    """Several blocks below each other, lists of one kind told apart by their markers."""
    text, taken = "", ""
    last: Node | None = None
    for node in content:
        here = style
        if node["type"] in LISTS:
            here = apart(node["type"], style, [taken])
        taken = here.lists[0].marker if node["type"] in LISTS else ""
        text += ("" if last is None else "\n" if tight and is_glued(last, node) else "\n\n") + write(node, here)
        last = node
    return text


def is_glued(last: Node, node: Node) -> bool:
    """Whether a block can follow the last one without a blank line, as in a tight list."""
    above, below = last["type"], node["type"]
    if above in _QUOTES and below in _QUOTES:
        return False
    if below == "orderedList":
        return above in _GLUE and _whole(node, "start", 1) == 1
    if above in ("heading", "codeBlock") or _is_comment(last):
        return True
    return above in _GLUE and (below in _GLUED or _is_comment(node))


def _is_comment(node: Node) -> bool:
    source = _string(node, "raw")
    return node["type"] == "rawBlock" and source.startswith("<!--") and source.endswith("-->")


def _prefixed(text: str, first: str, rest: str) -> str:
    """*text* with a prefix before its first line and another before the others; blank lines get no blanks."""
    head, *tail = text.split("\n")
    return "\n".join(
        [(first + head).rstrip(" ") if not head else first + head]
        + [rest + line if line else rest.rstrip(" ") for line in tail]
    )


_WRITERS: Mapping[str, Callable[[Node, Style], str]] = MappingProxyType(
    {
        "paragraph": _paragraph,
        "heading": _heading,
        "codeBlock": _code_block,
        "blockquote": _blockquote,
        "callout": _callout,
        "bulletList": _bullet_list,
        "taskList": _bullet_list,
        "orderedList": _ordered_list,
        "table": write_table,
        "details": _details,
        "footnoteDef": _footnote,
        "horizontalRule": lambda node, style: style.rule,
        "mathBlock": lambda node, style: f"$$\n{_string(node, 'latex')}\n$$",
        "rawBlock": lambda node, style: _string(node, "raw"),
    }
)
