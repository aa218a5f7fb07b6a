"""Reading what is inside a paragraph: inline tokens become text with marks and atoms."""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from markdown_it.token import Token

from mirrord.codec.document import MARKS, Mark, Node, text_node
from mirrord.codec.properties import Json
from mirrord.codec.tags import Tags

_MARKS: Mapping[str, str] = MappingProxyType(
    {"em_open": "italic", "strong_open": "bold", "s_open": "strike", "highlight_open": "highlight"}
)
_BREAK = re.compile(r"<br ?/?>")
_MENTION = "mention:"
_MANY = 24  # marks around one text: every text repeats those around it, so more would make a small page huge


class _Beyond(Exception):
    """The schema has no place for what this paragraph holds."""


def read_inline(token: Token) -> list[Node]:
    """
    The nodes of an inline token.

    What ProseMirror cannot hold (a mark inside itself, a mark around nothing, markup in an image's
    description) makes the whole content one `rawInline`.
    """
    if not token.children:
        return [text_node(token.content)] if token.content else []
    try:
        return _joined(_nodes(token.children))
    except _Beyond:
        return [raw_inline(token.content)]


def raw_inline(source: str) -> Node:
    """Markdown the schema lacks, as an atom."""
    return {"type": "rawInline", "attrs": {"raw": source}}


def _nodes(tokens: Sequence[Token]) -> list[Node]:
    result: list[Node] = []
    open_marks: list[tuple[Mark, int]] = []  # with how much had been read when it began
    tags = Tags(tokens if "html_inline" in [token.type for token in tokens] else ())
    end = 0
    for index, token in enumerate(tokens):
        if index < end:
            continue
        if token.type == "text":
            if token.content:
                result.append(_marked(text_node(token.content), open_marks))
            continue
        if token.type == "link_open" and index and tokens[index - 1].type == "link_close":
            _keep_apart(tokens, index)
        if token.type == "link_open" and (found := _mention(tokens, index)):
            node, end = found
            result.append(_marked(node, open_marks))
        elif token.nesting == 1 or index in tags.opening:
            _open(tags.opening.get(index) or _mark(token), open_marks, len(result))
        elif token.nesting == -1 or index in tags.closing:
            if open_marks.pop()[1] == len(result):
                raise _Beyond
        elif index not in tags.done and (read := tags.atoms.get(index) or _atom(tokens, index)):
            result.append(_marked(read, open_marks))
    return result


def _keep_apart(tokens: Sequence[Token], index: int) -> None:
    """Two equal links without anything between them would become one."""
    before = next(token for token in reversed(tokens[:index]) if token.type == "link_open")
    if before.attrs == tokens[index].attrs:
        raise _Beyond


def _open(mark: Mark, open_marks: list[tuple[Mark, int]], read: int) -> None:
    for outer, _ in open_marks:
        if outer["type"] == mark["type"] and (mark["type"] in MARKS or outer == mark):
            raise _Beyond
    if len(open_marks) == _MANY:
        raise _Beyond
    open_marks.append((mark, read))


def _mention(tokens: Sequence[Token], index: int) -> tuple[Node, int] | None:
    """The link at *index* as a mention, and the index behind it."""
    href = str(tokens[index].attrs["href"])
    if not href.startswith(_MENTION) or href == _MENTION or "title" in tokens[index].attrs:
        return None
    end = index + 1
    while tokens[end].type in ("text", "text_special"):
        end += 1
    text = "".join(token.content for token in tokens[index + 1 : end])
    if tokens[end].type != "link_close" or text[:1] != "@":
        return None
    attrs: dict[str, Json] = {"id": href.removeprefix(_MENTION), "label": text[1:] or None}
    return {"type": "mention", "attrs": attrs}, end + 1


def _mark(token: Token) -> Mark:
    if token.type != "link_open":
        return {"type": _MARKS[token.type]}
    attrs = {"href": token.attrs["href"], "title": token.attrs.get("title")}
    if token.markup == "autolink":
        attrs["auto"] = True
    return {"type": "link", "attrs": {key: value for key, value in attrs.items() if value is not None}}


def _marked(node: Node, open_marks: Sequence[tuple[Mark, int]]) -> Node:
    if not open_marks:
        return node
    return {**node, "marks": [*(mark for mark, _ in open_marks), *node.get("marks", [])]}


def _joined(nodes: Sequence[Node]) -> list[Node]:
    """Texts with the same marks as one."""
    if len(nodes) < 2:
        return list(nodes)
    result: list[Node] = []
    run: list[str] = []  # the parts of the last node's text
    for node in nodes:
        if "text" in node and run and result[-1].get("marks") == node.get("marks"):
            run.append(node["text"])
            continue
        if len(run) > 1:
            result[-1]["text"] = "".join(run)
        result.append(node)
        run = [node["text"]] if "text" in node else []
    if len(run) > 1:
        result[-1]["text"] = "".join(run)
    return result


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
        "text_special": lambda token: text_node(token.content) if token.content else None,
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
