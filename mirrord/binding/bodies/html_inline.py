"""The inside of a paragraph of HTML as inline nodes, and what of its source they do not hold. Pure."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from mirrord.binding.bodies.html_tree import BLOCKS, COMMENT, Child, Element, Text
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.inline.inline_reader import merge_texts
from mirrord.markdown.parser.dialect import is_script
from mirrord.markdown.schema.document import Mark, Node, text_node

MARKS: Mapping[str, str] = {  # of elements; the first element of a mark is the one that is written
    "strong": "bold",
    "b": "bold",
    "em": "italic",
    "i": "italic",
    "s": "strike",
    "strike": "strike",
    "del": "strike",
    "code": "code",
    "u": "underline",
    "sub": "subscript",
    "sup": "superscript",
    "mark": "highlight",
}
UNSEEN = frozenset(
    "script style template title meta link base head iframe object embed svg canvas video audio noscript select "
    "textarea map".split()
)
_SPACES = re.compile(r"[ \t\r\n\f]+")


def is_inline(child: Child) -> bool:
    """Whether *child* is a part of a paragraph."""
    return isinstance(child, Text) or not (child.tag in BLOCKS or child.tag in UNSEEN or child.tag == COMMENT)


class InlineReading:
    """One block. loss: the first part of its source that its node does not hold; None: there is none."""

    def __init__(self) -> None:
        self.loss: str | None = None

    def inline(self, children: Sequence[Child]) -> list[Node]:
        """The inline nodes of *children*, without space at their ends and beside line breaks."""
        nodes = _without_double_space(list(self._inline(children, ())))
        breaks = sum(node["type"] == "hardBreak" for node in nodes)
        nodes = merge_texts(_without_outer_space(nodes))
        if nodes and sum(node["type"] == "hardBreak" for node in nodes) < breaks:
            self.lose("`<br>` at the edge of a text")
        return nodes

    def _inline(self, children: Sequence[Child], marks: tuple[Mark, ...]) -> Iterator[Node]:
        for child in children:
            if isinstance(child, Text):
                yield text_node(_SPACES.sub(" ", child.text), marks)
            elif child.tag == "br":
                self.lose_attributes(child)
                yield {"type": "hardBreak"}
            elif child.tag == "img":
                yield from self._image(child, marks)
            elif child.tag in UNSEEN or child.tag == COMMENT:
                self.lose("a comment" if child.tag == COMMENT else f"`<{child.tag}>`")
            else:
                yield from self._inline(child.children, self._with_mark(child, marks))

    def _with_mark(self, element: Element, marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
        if element.tag == "a":
            href = element.attributes.get("href", "")
            if not href or is_script(href):
                self.lose("`<a>` without an address that may be followed")
                return marks
            title = element.attributes.get("title", "")
            attrs: dict[str, Json] = {"href": href, "title": title} if title else {"href": href}
            mark: Mark = {"type": "link", "attrs": attrs}
        elif (name := MARKS.get(element.tag)) is not None:
            self.lose_attributes(element)
            mark = {"type": name}
        else:
            self.lose(f"`<{element.tag}>`")
            return marks
        if any(each["type"] == mark["type"] for each in marks):
            self.lose(f"`<{element.tag}>` inside another")
            return marks
        return (*marks, mark)

    def _image(self, element: Element, marks: tuple[Mark, ...]) -> Iterator[Node]:
        src = element.attributes.get("src", "")
        if not src or is_script(src):
            self.lose("`<img>` without an address")
            return
        attrs: dict[str, Json] = {"src": src}
        attrs |= {key: element.attributes[key] for key in ("alt", "title") if element.attributes.get(key)}
        if any(mark["type"] == "code" for mark in marks):
            self.lose("a picture inside `<code>`")
            marks = tuple(mark for mark in marks if mark["type"] != "code")
        yield {"type": "image", "attrs": attrs, "marks": list(marks)} if marks else {"type": "image", "attrs": attrs}

    def lose_attributes(self, element: Element, expected: Collection[str] = ()) -> None:
        """Note attributes of *element* that are not *expected*."""
        if names := sorted(element.attributes.keys() - set(expected)):
            self.lose(f"`{names[0]}` of `<{element.tag}>`")

    def lose(self, part: str, *, unless: bool = False) -> None:
        """Note *part* as the loss if it is the first."""
        if not unless:
            self.loss = self.loss or part


def _without_double_space(nodes: list[Node]) -> list[Node]:
    """*nodes* with one space where two of them meet, and none beside line breaks."""
    result: list[Node] = []
    ends_with_space = True
    for node in nodes:
        if node["type"] != "text":
            if node["type"] == "hardBreak":
                _strip_last(result)
            ends_with_space = node["type"] == "hardBreak"
            result.append(node)
            continue
        text = node["text"].removeprefix(" ") if ends_with_space else node["text"]
        if text:
            result.append({**node, "text": text})
            ends_with_space = text.endswith(" ")
    return result


def _strip_last(nodes: list[Node]) -> None:
    """Remove the space at the end of *nodes*."""
    while nodes and nodes[-1]["type"] == "text":
        text = nodes[-1]["text"].rstrip(" ")
        if text:
            nodes[-1] = {**nodes[-1], "text": text}
            return
        nodes.pop()


def _without_outer_space(nodes: list[Node]) -> list[Node]:
    """*nodes* without line breaks and space at their ends."""
    _strip_last(nodes)
    while nodes and nodes[-1]["type"] == "hardBreak":
        nodes.pop()
        _strip_last(nodes)
    while nodes and nodes[0]["type"] == "hardBreak":
        nodes.pop(0)
    return nodes
