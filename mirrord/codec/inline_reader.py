"""Reading what is inside a paragraph: inline tokens become text with marks and atoms."""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import orjson
from markdown_it.token import Token

from mirrord.codec.document import MARKS, TAGGED, Mark, Node, is_node, text_node
from mirrord.codec.properties import Json

_MARKS: Mapping[str, str] = MappingProxyType(
    {"em_open": "italic", "strong_open": "bold", "s_open": "strike", "highlight_open": "highlight"}
)
_TAG = re.compile(r'<(/?)(u|sub|sup|span)(?: data-tt="([^"]*)")?>')
_BREAK = re.compile(r"<br ?/?>")
_NAMES: Mapping[str, str] = MappingProxyType({tag: mark for mark, tag in TAGGED.items()})


class _Beyond(Exception):
    """The schema has no place for what this paragraph holds."""


def read_inline(token: Token) -> list[Node]:
    """
    The nodes of an inline token.

    What ProseMirror cannot hold (a mark inside itself, a mark around nothing, markup in an image's
    description) makes the whole content one `rawInline`.
    """
    try:
        return _joined(_nodes(token.children or []))
    except _Beyond:
        return [raw_inline(token.content)]


def raw_inline(source: str) -> Node:
    """Markdown the schema lacks, as an atom."""
    return {"type": "rawInline", "attrs": {"raw": source}}


def _nodes(tokens: Sequence[Token]) -> list[Node]:
    result: list[Node] = []
    open_marks: list[tuple[Mark, int]] = []  # with how much had been read when it began
    tags = _Tags(tokens)
    for index, token in enumerate(tokens):
        if token.nesting == 1 or index in tags.opening:
            mark = tags.opening.get(index) or _mark(token)
            if any(mark["type"] == outer["type"] for outer, _ in open_marks):
                raise _Beyond
            open_marks.append((mark, len(result)))
        elif token.nesting == -1 or index in tags.closing:
            if open_marks.pop()[1] == len(result):
                raise _Beyond
        elif index not in tags.done and (node := tags.atoms.get(index) or _atom(tokens, index)):
            result.append(_marked(node, [mark for mark, _ in open_marks]))
    return result


def _mark(token: Token) -> Mark:
    if token.type != "link_open":
        return {"type": _MARKS[token.type]}
    attrs = {"href": token.attrs["href"], "title": token.attrs.get("title")}
    if token.markup == "autolink":
        attrs["auto"] = True
    return {"type": "link", "attrs": {key: value for key, value in attrs.items() if value is not None}}


def _marked(node: Node, marks: list[Mark]) -> Node:
    own = node.get("marks", [])
    return {**node, "marks": [*marks, *own]} if marks else node


def _joined(nodes: Sequence[Node]) -> list[Node]:
    result: list[Node] = []
    for node in nodes:
        if "text" in node and result and "text" in result[-1] and result[-1].get("marks") == node.get("marks"):
            result[-1] = {**result[-1], "text": result[-1]["text"] + node["text"]}
        else:
            result.append(node)
    return result


class _Tags:
    """
    The HTML tags of one paragraph that stand for marks and nodes, found by their index among the tokens.

    A pair counts only where both ends are inside the same emphasis or link.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.opening: dict[int, Mark] = {}
        self.closing: set[int] = set()
        self.atoms: dict[int, Node] = {}
        self.done: set[int] = set()  # closing tags of atoms
        levels: list[list[tuple[str, str, int]]] = [[]]
        for index, token in enumerate(tokens):
            if token.nesting == 1:
                levels.append([])
            elif token.nesting == -1:
                levels.pop()
            elif token.type == "html_inline" and (found := _TAG.fullmatch(token.content)):
                self._tag(levels[-1], found, index)

    def _tag(self, unclosed: list[tuple[str, str, int]], found: re.Match[str], index: int) -> None:
        if not found[1]:
            unclosed.append((found[2], found[3] or "", index))
        elif unclosed and unclosed[-1][0] == found[2]:
            name, data, start = unclosed.pop()
            if index == start + 1:
                self._empty(data, start)
            elif mark := _tag_mark(name, data):
                self.opening[start] = mark
                self.closing.add(index)

    def _empty(self, data: str, start: int) -> None:
        node = _json(data)
        if is_node(node):
            self.atoms[start] = node  # type: ignore[assignment]
            self.done.add(start + 1)


def _tag_mark(name: str, data: str) -> Mark | None:
    if name in _NAMES and not data:
        return {"type": _NAMES[name]}
    mark = _json(data)
    if isinstance(mark, dict) and isinstance(mark.get("type"), str) and mark["type"] not in MARKS:
        return mark if mark.keys() <= {"type", "attrs"} else None  # type: ignore[return-value]
    return None


def _json(data: str) -> object:
    try:
        return orjson.loads(html.unescape(data))
    except orjson.JSONDecodeError:
        return None


def _atom(tokens: Sequence[Token], index: int) -> Node | None:
    token = tokens[index]
    if token.type == "text_special" and token.content in ("#", "^") and _is_word(tokens, index + 1):
        return raw_inline(token.markup)  # unescaped it would be a tag or a block id in Obsidian
    read = _ATOMS.get(token.type)
    if read is None:
        raise _Beyond
    return read(token)


def _is_word(tokens: Sequence[Token], index: int) -> bool:
    return index < len(tokens) and tokens[index].content[:1].isalnum()


def _text(token: Token) -> Node | None:
    return text_node(token.content) if token.content else None


def _html(token: Token) -> Node:
    return {"type": "hardBreak"} if _BREAK.fullmatch(token.content) else raw_inline(token.content)


def _math(token: Token) -> Node:
    attrs: dict[str, Json] = {"latex": token.content.strip()}
    if token.markup == "$$":
        attrs["display"] = True
    return {"type": "mathInline", "attrs": attrs}


def _image(token: Token) -> Node:
    children = token.children or []
    if any(child.type not in ("text", "text_special", "softbreak") for child in children):
        raise _Beyond
    alt = "".join(child.content if child.type != "softbreak" else "\n" for child in children)
    title = token.attrs.get("title")
    return {"type": "image", "attrs": {"src": str(token.attrs["src"]), "alt": alt or None, "title": title}}


def _link_atom(token: Token) -> Node:
    return {"type": token.type, "attrs": dict(token.meta)}


_ATOMS: Mapping[str, Callable[[Token], Node | None]] = MappingProxyType(
    {
        "text": _text,
        "text_special": _text,
        "softbreak": lambda token: text_node("\n"),
        "hardbreak": lambda token: {"type": "hardBreak"},
        "code_inline": lambda token: text_node(token.content, [{"type": "code"}]),
        "html_inline": _html,
        "raw_inline": lambda token: raw_inline(token.content),
        "wikilink": _link_atom,
        "embed": _link_atom,
        "math_inline": _math,
        "math_inline_double": _math,
        "footnote_ref": lambda token: {"type": "footnoteRef", "attrs": {"label": token.meta["label"]}},
        "image": _image,
    }
)
