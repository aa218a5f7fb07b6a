"""Read inline tokens into text with marks and atoms."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from markdown_it.token import Token

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.inline.html_tags import TagIndex
from mirrord.markdown.schema.document import MARKS, Mark, Node, text_node
from mirrord.markdown.schema.sized_images import image_of_tag, split_size

_MARKS: Mapping[str, str] = MappingProxyType(
    {"em_open": "italic", "strong_open": "bold", "s_open": "strike", "highlight_open": "highlight"}
)
_BREAK = re.compile(r"<br ?/?>")
_MENTION = "mention:"
_MAX_MARKS = 24  # marks around one text; every text repeats the marks around it, so more would make a small page huge


class NotInSchemaError(Exception):
    """The schema has no place for the content of this paragraph."""


class Run(NamedTuple):
    """A node, and the tokens that it was read from: from index start up to end."""

    start: int
    end: int
    node: Node


def read_inline(token: Token) -> list[Node]:
    """
    The nodes of an inline token.

    Content that ProseMirror cannot hold (a mark inside itself, a mark around nothing, markup in the
    description of an image) becomes a single `rawInline`.
    """
    if not token.children:
        return [text_node(token.content)] if token.content else []
    try:
        return merge_texts([run.node for run in read_runs(token.children)])
    except NotInSchemaError:
        return [raw_inline(token.content)]


def raw_inline(source: str) -> Node:
    """Markdown without a form in the schema, as an atom."""
    return {"type": "rawInline", "attrs": {"raw": source}}


def read_runs(tokens: Sequence[Token]) -> Iterator[Run]:
    """
    The nodes of *tokens*, texts not merged; all nodes within one mark have the same object as that mark.

    Raises:
        NotInSchemaError: ProseMirror cannot hold them.
    """
    open_marks: list[tuple[Mark, int]] = []  # with the number of nodes read before each
    tags = TagIndex(tokens if "html_inline" in [token.type for token in tokens] else ())
    end, count = 0, 0
    for index, token in enumerate(tokens):
        if index < end:
            continue
        if token.type == "text":
            if token.content:
                count += 1
                yield Run(index, index + 1, _with_marks(text_node(token.content), open_marks))
            continue
        if token.type == "link_open" and index and tokens[index - 1].type == "link_close":
            _check_adjacent_links(tokens, index)
        if token.type == "link_open" and (mention := _read_mention(tokens, index)):
            node, end = mention
            count += 1
            yield Run(index, end, _with_marks(node, open_marks))
        elif token.nesting == 1 or index in tags.opening:
            _open_mark(tags.opening.get(index) or _mark_of(token), open_marks, count)
        elif token.nesting == -1 or index in tags.closing:
            if open_marks.pop()[1] == count:
                raise NotInSchemaError
        elif index not in tags.atom_ends and (atom := tags.atoms.get(index) or _read_atom(tokens, index)):
            count += 1
            yield Run(index, index + (2 if index in tags.atoms else 1), _with_marks(atom, open_marks))


def _check_adjacent_links(tokens: Sequence[Token], index: int) -> None:
    """Raise NotInSchemaError for two equal adjacent links, which would become one."""
    before = next(token for token in reversed(tokens[:index]) if token.type == "link_open")
    if before.attrs == tokens[index].attrs:
        raise NotInSchemaError


def _open_mark(mark: Mark, open_marks: list[tuple[Mark, int]], node_count: int) -> None:
    for outer, _ in open_marks:
        if outer["type"] == mark["type"] and (mark["type"] in MARKS or outer == mark):
            raise NotInSchemaError
    if len(open_marks) == _MAX_MARKS:
        raise NotInSchemaError
    open_marks.append((mark, node_count))


def _read_mention(tokens: Sequence[Token], index: int) -> tuple[Node, int] | None:
    """The link at *index* as a mention, and the index after it; None if it is no mention."""
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


def _mark_of(token: Token) -> Mark:
    if token.type != "link_open":
        return {"type": _MARKS[token.type]}
    attrs = {"href": token.attrs["href"], "title": token.attrs.get("title")}
    if token.markup == "autolink":
        attrs["auto"] = True
    return {"type": "link", "attrs": {key: value for key, value in attrs.items() if value is not None}}


def _with_marks(node: Node, open_marks: Sequence[tuple[Mark, int]]) -> Node:
    if not open_marks:
        return node
    return {**node, "marks": [*(mark for mark, _ in open_marks), *node.get("marks", [])]}


def merge_texts(nodes: Sequence[Node]) -> list[Node]:
    """Merge adjacent texts with the same marks."""
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


def _read_atom(tokens: Sequence[Token], index: int) -> Node | None:
    token = tokens[index]
    if token.type == "text_special" and token.content in ("#", "^") and _is_word(tokens, index + 1):
        return raw_inline(token.markup)  # unescaped it would be a tag or a block id in Obsidian
    read_atom = _ATOMS.get(token.type)
    if read_atom is None:
        raise NotInSchemaError
    return read_atom(token)


def _is_word(tokens: Sequence[Token], index: int) -> bool:
    return index < len(tokens) and tokens[index].content[:1].isalnum()


def _read_html(token: Token) -> Node:
    if _BREAK.fullmatch(token.content):
        return {"type": "hardBreak"}
    if token.content[:4].lower() == "<img" and (attrs := image_of_tag(token.content)):
        return {"type": "image", "attrs": attrs}
    return raw_inline(token.content)


def _read_math(token: Token) -> Node:
    attrs: dict[str, Json] = {"latex": token.content.strip()}
    if token.markup == "$$":
        attrs["display"] = True
    return {"type": "mathInline", "attrs": attrs}


def _read_image(token: Token) -> Node:
    children = token.children or []
    if any(child.type not in ("text", "text_special", "softbreak") for child in children):
        raise NotInSchemaError
    alt = "".join(child.content if child.type != "softbreak" else "\n" for child in children)
    title = token.attrs.get("title")
    alt, sizes = split_size(alt)
    return {"type": "image", "attrs": {"src": str(token.attrs["src"]), "alt": alt or None, "title": title, **sizes}}


def _read_link_atom(token: Token) -> Node:
    return {"type": token.type, "attrs": dict(token.meta)}


_ATOMS: Mapping[str, Callable[[Token], Node | None]] = MappingProxyType(
    {
        "text_special": lambda token: text_node(token.content) if token.content else None,
        "softbreak": lambda token: text_node("\n"),
        "hardbreak": lambda token: {"type": "hardBreak"},
        "code_inline": lambda token: text_node(token.content, [{"type": "code"}]),
        "html_inline": _read_html,
        "raw_inline": lambda token: raw_inline(token.content),
        "wikilink": _read_link_atom,
        "embed": _read_link_atom,
        "math_inline": _read_math,
        "math_inline_double": _read_math,
        "footnote_ref": lambda token: {"type": "footnoteRef", "attrs": {"label": token.meta["label"]}},
        "image": _read_image,
    }
)
