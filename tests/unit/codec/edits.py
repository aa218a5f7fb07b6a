"""
Random edits of pages, and which lines each of them has no business to touch.

Where blocks, items and rows stand is taken from the parser's tokens of the whole page, not from the code that splices.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random

from markdown_it.token import Token

from mirrord.markdown.frontmatter.page_text import first_line_ending, split_lines
from mirrord.markdown.read.page_outline import outline_of
from mirrord.markdown.read.reader import read_nodes
from mirrord.markdown.schema.document import Document, Node, make_document, text_node
from mirrord.markdown.schema.normal_form import normalize

ITEMS = ("listItem", "taskItem")
ROWS = ("tableRow",)
_OPEN = {
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "list_item_open": "item",
    "blockquote_open": "quote",
    "callout_open": "callout",
    "footnote_reference_open": "quote",
    "table_open": "table",
    "tr_open": "row",
}


@dataclass
class Unit:
    """A block, item or row of a page: its normal node, its lines from start up to end, and what is in it."""

    node: Node
    start: int
    end: int
    inside: list["Unit"] = field(default_factory=list)


@dataclass
class _Found:
    kind: str
    start: int
    end: int
    inside: list["_Found"] = field(default_factory=list)


def units(body: str) -> list[Unit]:
    """The blocks of *body*, and in them what could be matched with their nodes."""
    page, written = outline_of(body), split_lines(body)
    result = []
    for index, node in enumerate(read_nodes(page)):
        tokens = page.segments[index].tokens
        start = len(split_lines(body[: page.segments[index].start]))
        end = start + len(split_lines(page.source(index)))
        unit = Unit(normalize(node), start, end)
        if tokens and unit.node != {"type": "paragraph"}:
            _fill(unit, _tree(tokens)[0], written)
        if unit.node != {"type": "paragraph"}:
            result.append(unit)
    return result


def _tree(tokens: Sequence[Token]) -> list[_Found]:
    stack: list[list[_Found]] = [[]]
    for token in tokens:
        if token.nesting == 1:
            start, end = token.map or (0, 0)
            stack[-1].append(_Found(_OPEN.get(token.type, "leaf"), start, end))
            if token.type in ("thead_open", "tbody_open"):
                stack[-1].pop()
                stack.append(stack[-1])
            else:
                stack.append(stack[-1][-1].inside)
        elif token.nesting == -1:
            stack.pop()
        elif token.type != "inline":
            start, end = token.map or (0, 0)
            stack[-1].append(_Found("leaf", start, end))
    return stack[0]


def _fill(unit: Unit, located: _Found, written: Sequence[str]) -> None:
    inside = located.inside
    if located.kind == "leaf" or located.kind == "row":
        return
    if located.kind == "callout" and inside and inside[0].kind == "leaf":
        inside[0].start += 1
        if inside[0].start >= inside[0].end:
            inside = inside[1:]
    children = unit.node.get("content", [])
    if len(children) != len(inside):
        return
    for child, part in zip(children, inside, strict=True):
        end = part.end
        while end - 1 > part.start and not written[end - 1].strip(" \t\r\n>"):
            end -= 1
        below = Unit(child, part.start, end)
        _fill(below, part, written)
        unit.inside.append(below)


@dataclass(frozen=True)
class Edit:
    """
    A wanted document, and what must stay of the page.

    head: so many lines at its start. tail: so many at its end.
    kept_runs: runs of lines that must be there as they were.
    within: the index of the edited top-level block, before and behind which nothing may change at all.
    """

    name: str
    document: Document
    head: int
    tail: int
    kept_runs: list[tuple[int, int]]


def edited(body: str, random: Random, fresh: Sequence[Node]) -> Edit | None:
    """A random edit of *body*; *fresh*: blocks to put into it. None: there is nothing to edit."""
    page = units(body)
    if not page:
        return None
    total = len(split_lines(body))
    path, siblings = _place(page, random)
    tree: list[Node] = deepcopy([unit.node for unit in page])
    content = tree
    for index in path:
        content = content[index]["content"]
    first = 1 if siblings[0].node["type"] in ROWS else 0  # a table keeps its header
    place = random.randrange(first, len(siblings))
    name = random.choice(["replace", "change", "change", "insert", "delete", "move"])
    at, to = place, place
    if name == "change" and not _changed(content[place], random):
        name = "replace"
    if name == "replace":
        content[place] = _new(content[place], random, fresh)
    elif name == "insert":
        content.insert(place, _new(content[place], random, fresh))
        at, to = place, place - 1
    elif name == "delete":
        if len(content) == 1:
            return None
        del content[place]
    elif name == "move":
        to = random.randrange(first, len(siblings))
        content.insert(to, content.pop(place))
        at, to = sorted((place, to))
    head = siblings[at - 1].end if at else siblings[0].start
    behind = siblings[to + 1].start if to + 1 < len(siblings) else siblings[-1].end
    kept_runs = [(sibling.start, sibling.end) for sibling in siblings[at : to + 1]] if name == "move" else []
    if path and at == 0 and name in ("insert", "delete", "move"):
        # the first line of what is in an item begins with its marker, the first number of a list is its start
        behind = siblings[to + 1].start + 1 if to + 1 < len(siblings) else behind
        kept_runs = [(start + 1, end) for start, end in kept_runs]
    return Edit(name, make_document(tree), head, total - behind, kept_runs)


def _place(page: list[Unit], random: Random) -> tuple[list[int], list[Unit]]:
    path: list[int] = []
    siblings = page
    while True:
        deeper = [index for index, unit in enumerate(siblings) if unit.inside]
        if not deeper or random.random() < 0.25:
            return path, siblings
        index = random.choice(deeper)
        if siblings[index].node["type"] == "table" and len(siblings[index].inside) < 2:
            return path, siblings
        path.append(index)
        siblings = siblings[index].inside


def _texts(node: Node) -> Iterator[Node]:
    if "text" in node:
        yield node
    for child in node.get("content", []):
        yield from _texts(child)


def _changed(node: Node, random: Random) -> bool:
    if node["type"] == "taskItem" and random.random() < 0.5:
        is_checked = bool(node.get("attrs", {}).get("checked"))
        node["attrs"] = {**node.get("attrs", {}), "checked": not is_checked}
        return True
    texts = list(_texts(node))
    if not texts:
        return False
    text = random.choice(texts)
    words = text["text"].split(" ")
    words.insert(random.randrange(len(words) + 1), random.choice(["new", "word!", "*", "1.", "a_b"]))
    text["text"] = " ".join(words)
    return True


def _new(like: Node, random: Random, fresh: Sequence[Node]) -> Node:
    if like["type"] in ROWS:
        return _row(like)
    block = deepcopy(random.choice(fresh))
    if like["type"] == "taskItem":
        return {"type": "taskItem", "content": [_paragraph("new task")]}
    if like["type"] == "listItem":
        first = [] if random.random() < 0.5 else [block]
        return {"type": "listItem", "content": [_paragraph("new item"), *first]}
    return block


def _row(like: Node) -> Node:
    cells: list[Node] = [
        {**cell, "content": [_paragraph(f"new {index}")]} for index, cell in enumerate(like["content"])
    ]
    return {"type": "tableRow", "content": cells}


def _paragraph(text: str) -> Node:
    return {"type": "paragraph", "content": [text_node(text)]}


def touched(body: str, result: str, edit: Edit) -> str:
    """What of the lines that had to stay did not; "" if all did."""
    old, new = split_lines(body), split_lines(result)
    if old and not old[-1].endswith(("\r", "\n")):
        ending = first_line_ending(old[edit.head - 1] if 0 < edit.head < len(old) else body)
        old[-1] += first_line_ending(body)
        new[-1:] = [line + (ending if len(new) == edit.head else first_line_ending(body)) for line in new[-1:]]
    if new[: edit.head] != old[: edit.head]:
        return "head"
    if edit.tail and new[-edit.tail :] != old[len(old) - edit.tail :]:
        return "tail"
    text = "".join(new)
    return next((f"kept {run}" for run in edit.kept_runs if "".join(old[slice(*run)]).strip("\r\n") not in text), "")
