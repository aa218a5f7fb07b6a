"""
The blocks of HTML as nodes of a document, each with its source and with what the node does not hold of it. Pure.

What is between blocks (containers such as `div`, comments, scripts, empty paragraphs) belongs to none of them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from mirrord.binding.bodies.html_inline import UNSEEN, InlineReading, is_inline
from mirrord.binding.bodies.html_tree import COMMENT, Child, Element, Text
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.schema.document import Node, text_node

LANGUAGE = "language-"  # the class of a block of code, before its language
TASK_LIST, TASK_ITEM = "taskList", "taskItem"  # as `data-type`
_LEAVES = frozenset("p h1 h2 h3 h4 h5 h6 ul ol blockquote pre hr table".split())
MAX_ADDED_CELLS = (
    65_536  # empty cells that fill short rows of tables: one row may be long, and a million below it short
)
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Leaf:
    """
    A block. start, end: of its source. tag, attributes: of its element; "" for text without one.

    loss: what of the source, beside those attributes, *node* does not hold; None: nothing.
    """

    node: Node
    start: int
    end: int
    tag: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    loss: str | None = None


def read_leaves(children: Sequence[Child], source: str) -> list[Leaf]:
    """
    The blocks of *source*, which has *children*, but for empty ones.

    Raises:
        Damaged: too many cells are missing in rows of its tables.
    """
    return list(_leaves_in(children, source, _Room()))


@dataclass(slots=True)
class _Room:
    """cells: empty ones that all tables of a body may still get."""

    cells: int = MAX_ADDED_CELLS

    def take_cells(self, count: int) -> None:
        self.cells -= count
        if self.cells < 0:
            raise Damaged("its body has tables with rows of too different lengths")


def _leaves_in(children: Sequence[Child], source: str, room: _Room) -> Iterator[Leaf]:
    for is_text, group in groupby(children, is_inline):
        part = list(group)
        if is_text:
            yield from _loose_text(part, source, room)
            continue
        for element in part:
            assert isinstance(element, Element)
            if element.tag in UNSEEN or element.tag == COMMENT:
                continue
            if element.tag not in _LEAVES and not all(map(is_inline, element.children)):
                yield from _leaves_in(element.children, source, room)
            else:
                yield from _leaf(element, room)


def _loose_text(part: Sequence[Child], source: str, room: _Room) -> Iterator[Leaf]:
    reading = _Reading(room)
    nodes = reading.paragraph(part)
    if nodes:
        start, end = part[0].start, part[-1].end
        text = source[start:end]
        start, end = start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())
        yield Leaf(nodes[0], start, end, loss=reading.loss)


def _leaf(element: Element, room: _Room) -> Iterator[Leaf]:
    reading = _Reading(room)
    nodes = reading.block(element, keeps_attributes=True)
    if nodes:
        yield Leaf(nodes[0], element.start, element.end, element.tag, element.attributes, reading.loss)


class _Reading(InlineReading):
    """One block, whose inside may have others."""

    def __init__(self, room: _Room) -> None:
        super().__init__()
        self._room = room

    def block(self, element: Element, *, keeps_attributes: bool = False) -> list[Node]:
        """The node of *element*; none if it is empty. keeps_attributes: they stay with its element."""
        tag = element.tag
        if not keeps_attributes and tag not in ("ol", "ul", "pre"):
            self.lose_attributes(element)
        if tag in ("ul", "ol"):
            return self._list(element, keeps_attributes=keeps_attributes)
        if tag == "blockquote":
            content = self.blocks(element.children)
            return [{"type": "blockquote", "content": content}] if content else []
        if tag == "pre":
            return self._code(element, keeps_attributes=keeps_attributes)
        if tag == "hr":
            return [{"type": "horizontalRule"}]
        if tag == "table":
            return self._table(element)
        if re.fullmatch("h[1-6]", tag):
            content = self.inline(element.children)
            return [{"type": "heading", "attrs": {"level": int(tag[1])}, "content": content}] if content else []
        if tag != "p":
            self.lose(f"`<{tag}>`", unless=keeps_attributes)
        return self.paragraph(element.children)

    def paragraph(self, children: Sequence[Child]) -> list[Node]:
        """The paragraph of inline *children*; none if it is empty."""
        content = self.inline(children)
        return [{"type": "paragraph", "content": content}] if content else []

    def blocks(self, children: Sequence[Child]) -> list[Node]:
        """The nodes of *children*, inside a block."""
        nodes: list[Node] = []
        for is_text, group in groupby(children, is_inline):
            part = list(group)
            if is_text:
                nodes += self.paragraph(part)
                continue
            for element in part:
                assert isinstance(element, Element)
                if element.tag in UNSEEN or element.tag == COMMENT:
                    self.lose("a comment" if element.tag == COMMENT else f"`<{element.tag}>`")
                elif element.tag not in _LEAVES and not all(map(is_inline, element.children)):
                    self.lose(f"`<{element.tag}>`")
                    nodes += self.blocks(element.children)
                elif block := self.block(element):
                    nodes += block
                elif element.tag != "p" or len(children) > 1:
                    self.lose(f"an empty `<{element.tag}>`")
        return nodes

    def _list(self, element: Element, *, keeps_attributes: bool) -> list[Node]:
        is_tasks = element.attributes.get("data-type") == TASK_LIST
        expected = {"data-type"} if is_tasks else {"start"} if element.tag == "ol" else set()
        if not keeps_attributes:
            self.lose_attributes(element, expected)
        items = list(self._items(element, is_tasks=is_tasks))
        if not items:
            return []
        if is_tasks:
            return [{"type": "taskList", "content": items}]
        if element.tag == "ul":
            return [{"type": "bulletList", "content": items}]
        start = element.attributes.get("start", "1")
        number = int(start) if _NUMBER.fullmatch(start) else 1
        if str(number) != start:
            self.lose("the `start` of a list")
        attrs: dict[str, Json] = {"start": number}
        ordered: Node = {"type": "orderedList", "content": items}
        return [ordered if number == 1 else {**ordered, "attrs": attrs}]

    def _items(self, element: Element, *, is_tasks: bool) -> Iterator[Node]:
        for child in element.children:
            if isinstance(child, Text) and not child.text.strip():
                continue
            if isinstance(child, Text) or child.tag != "li":
                self.lose("a part of a list that is in no `<li>`")
                if blocks := self.blocks([child]):
                    yield {"type": TASK_ITEM if is_tasks else "listItem", "content": _led_by_paragraph(blocks)}
                continue
            self.lose_attributes(child, {"data-type", "data-checked"} if is_tasks else ())
            content = self._task_blocks(child) if is_tasks else self.blocks(child.children)
            attrs = {"attrs": {"checked": child.attributes.get("data-checked") == "true"}} if is_tasks else {}
            item: Node = {"type": TASK_ITEM if is_tasks else "listItem", "content": _led_by_paragraph(content)}
            yield {**item, **attrs}  # type: ignore[typeddict-item]

    def _task_blocks(self, item: Element) -> list[Node]:
        """The blocks of a task, which TipTap puts into a `div` beside a `label` with the box."""
        blocks: list[Node] = []
        for child in item.children:
            if isinstance(child, Element) and child.tag == "label" and not "".join(_texts_in(child)).strip():
                continue
            is_box = isinstance(child, Element) and child.tag == "div" and not child.attributes
            blocks += self.blocks(child.children if isinstance(child, Element) and is_box else [child])
        return blocks

    def _code(self, element: Element, *, keeps_attributes: bool) -> list[Node]:
        if not keeps_attributes:
            self.lose_attributes(element)
        children = [child for child in element.children if not isinstance(child, Text) or child.text.strip()]
        code = children[0] if len(children) == 1 else None
        language = ""
        if isinstance(code, Element) and code.tag == "code":
            name = code.attributes.get("class", "")
            language = name.removeprefix(LANGUAGE) if re.fullmatch(rf"{LANGUAGE}[^\s`~]+", name) else ""
            self.lose_attributes(code, {"class"} if language else ())
            inside: Sequence[Child] = code.children
        else:
            inside = element.children
        if any(isinstance(child, Element) for child in inside):
            self.lose("elements inside code")
        text = "".join(_texts_in(Element("", {}, 0, 0, list(inside)))).removeprefix("\n").replace("\r\n", "\n")
        content = {"content": [text_node(text)]} if text else {}
        return [{"type": "codeBlock", "attrs": {"language": language}, **content}]  # type: ignore[typeddict-item]

    def _table(self, element: Element) -> list[Node]:
        rows = [[self._cell(cell) for cell in row] for row in self._rows(element)]
        rows = [row for row in rows if row]
        if not rows:
            return []
        width = max(map(len, rows))
        if missing := sum(width - len(row) for row in rows):
            self.lose("rows of several lengths in a table")
            self._room.take_cells(missing)
        empty: Node = {"type": "tableCell", "content": [{"type": "paragraph"}]}
        rows = [[*row, *[empty] * (width - len(row))] for row in rows]
        content = [self._row(row, "tableCell" if number else "tableHeader") for number, row in enumerate(rows)]
        return [{"type": "table", "content": content}]

    def _row(self, cells: Sequence[Node], kind: str) -> Node:
        """A row of cells of one *kind*, as Markdown has them."""
        if any(cell["type"] != kind for cell in cells):
            self.lose("a head of a table that is not its first row")
        row: list[Node] = [{"type": kind, "content": cell["content"]} for cell in cells]
        return {"type": "tableRow", "content": row}

    def _rows(self, table: Element) -> Iterator[list[Element]]:
        for child in table.children:
            if isinstance(child, Text):
                if child.text.strip():
                    self.lose("text outside the cells of a table")
                    yield [Element("td", {}, child.start, child.end, [child])]
            elif child.tag in ("thead", "tbody", "tfoot"):
                self.lose_attributes(child)
                yield from self._rows(child)
            elif child.tag == "tr":
                self.lose_attributes(child)
                yield [cell for cell in child.children if isinstance(cell, Element) and cell.tag != COMMENT]
                if "".join(each.text for each in child.children if isinstance(each, Text)).strip():
                    self.lose("text outside the cells of a table")
            else:
                self.lose(f"`<{child.tag}>` in a table")
                if "".join(_texts_in(child)).strip():
                    yield [child]

    def _cell(self, element: Element) -> Node:
        self.lose_attributes(element)
        parts: list[Node] = []
        for block in self.blocks(element.children):
            if block["type"] != "paragraph":
                self.lose(f"a `{block['type']}` in a cell")
            texts = list(_inline_in(block))
            parts += [{"type": "hardBreak"}, *texts] if parts and texts else texts
        kind = "tableHeader" if element.tag == "th" else "tableCell"
        paragraph: Node = {"type": "paragraph", "content": parts} if parts else {"type": "paragraph"}
        return {"type": kind, "content": [paragraph]}


def _led_by_paragraph(blocks: list[Node]) -> list[Node]:
    return blocks if blocks and blocks[0]["type"] == "paragraph" else [{"type": "paragraph"}, *blocks]


def _texts_in(element: Element) -> Iterator[str]:
    for child in element.children:
        if isinstance(child, Text):
            yield child.text
        elif child.tag == "br":
            yield "\n"
        elif child.tag not in UNSEEN:
            yield from _texts_in(child)


def _inline_in(node: Node) -> Iterator[Node]:
    """The inline nodes in a block, of all blocks in it."""
    for child in node.get("content") or []:
        if "content" in child:
            yield from _inline_in(child)
        elif child["type"] in ("text", "image", "hardBreak"):
            yield child
