"""Structural edits of documents, as people make them: of paragraphs, items, whole blocks, rows and columns."""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType

from mirrord.markdown.schema.document import Node, text_node

_LISTS = ("bulletList", "orderedList", "taskList")

Extent = tuple[int, int]  # how many lines an edit may take away, and add

Edit = Callable[[list[Node], random.Random], bool | Extent]


@dataclass(frozen=True, slots=True)
class Kind:
    """
    A kind of edit, which returns whether there was a place for it, or its extent.

    extent: unless it returns another one. takes_sign: the first line of one item may get the sign of another list.
    """

    edit: Edit
    extent: Extent = (0, 0)
    takes_sign: bool = False


def _split(content: list[Node], chance: random.Random) -> bool:
    """Return is pressed before a word of a paragraph."""
    places = [
        (parent, index, at)
        for parent in _parents(content)
        for index, node in enumerate(parent)
        if node["type"] == "paragraph"
        for at, child in enumerate(node.get("content") or [])
        if re.search(r"\w \w", child.get("text", "")) and not child.get("marks")
    ]
    if not places:
        return False
    parent, index, at = chance.choice(places)
    children = parent[index]["content"]
    text = children[at]["text"]
    cut = chance.choice([match.start() + 1 for match in re.finditer(r"(?<=\w) (?=\w)", text)])
    before, after = [*children[:at], text_node(text[: cut - 1])], [text_node(text[cut:]), *children[at + 1 :]]
    parent[index : index + 1] = [{**parent[index], "content": before}, {"type": "paragraph", "content": after}]
    return True


def _join(content: list[Node], chance: random.Random) -> bool:
    """The second of two paragraphs goes on behind the first."""
    places = [
        (parent, index)
        for parent in _parents(content)
        for index in range(len(parent) - 1)
        if all(node["type"] == "paragraph" and node.get("content") for node in parent[index : index + 2])
    ]
    if not places:
        return False
    parent, index = chance.choice(places)
    first, second = parent[index : index + 2]
    parent[index : index + 2] = [{**first, "content": [*first["content"], text_node(" "), *second["content"]]}]
    return True


def _indent(content: list[Node], chance: random.Random) -> bool:
    """Tab is pressed in an item below another one."""
    places = [(node, at) for node in _lists(content) for at in range(1, len(node["content"]))]
    if not places:
        return False
    around, at = chance.choice(places)
    item, above = around["content"].pop(at), around["content"][at - 1]
    inside = above.setdefault("content", [])
    if inside and inside[-1]["type"] == around["type"]:  # as editors do: two lists there would need two signs
        inside[-1].setdefault("content", []).append(item)
    else:
        inside.append({"type": around["type"], "content": [item]})
    return True


def _outdent(content: list[Node], chance: random.Random) -> bool:
    """Shift and Tab are pressed in the last item of a list in an item."""
    places = [
        (outer, at)
        for outer in _lists(content)
        for at, item in enumerate(outer["content"])
        if (item.get("content") or [{"type": ""}])[-1]["type"] == outer["type"]
    ]
    if not places:
        return False
    outer, at = chance.choice(places)
    inner = outer["content"][at]["content"][-1]
    outer["content"].insert(at + 1, inner["content"].pop())
    if not inner["content"]:
        outer["content"][at]["content"].pop()
    return True


def _move(content: list[Node], chance: random.Random) -> bool:
    places = [node for node in _lists(content) if len(node["content"]) > 1]
    if not places:
        return False
    items = chance.choice(places)["content"]
    items.insert(0, items.pop())
    return True


def _split_item(content: list[Node], chance: random.Random) -> bool:
    """Return is pressed before a word of an item that is one text."""
    places = [
        (items, at)
        for items in (node["content"] for node in _lists(content))
        for at, item in enumerate(items)
        if _is_one_text(item) and re.search(r"\w \w", item["content"][0]["content"][0]["text"])
    ]
    if not places:
        return False
    items, at = chance.choice(places)
    text = items[at]["content"][0]["content"][0]["text"]
    cut = chance.choice([match.start() for match in re.finditer(r"(?<=\w) (?=\w)", text)])
    items[at : at + 1] = [
        {**items[at], "content": [{"type": "paragraph", "content": [text_node(part)]}]}
        for part in (text[:cut], text[cut + 1 :])
    ]
    return True


def _join_items(content: list[Node], chance: random.Random) -> bool:
    """The second of two items that are one text each goes on behind the first."""
    places = [
        (items, at)
        for items in (node["content"] for node in _lists(content))
        for at in range(len(items) - 1)
        if _is_one_text(items[at]) and _is_one_text(items[at + 1])
    ]
    if not places:
        return False
    items, at = chance.choice(places)
    texts = [item["content"][0]["content"][0]["text"] for item in items[at : at + 2]]
    paragraph: Node = {"type": "paragraph", "content": [text_node(" ".join(texts))]}
    items[at : at + 2] = [{**items[at], "content": [paragraph]}]
    return True


def _is_one_text(item: Node) -> bool:
    """Whether an item is a line of text without marks."""
    content = item.get("content") or []
    texts = content[0].get("content") or [] if len(content) == 1 else []
    return len(texts) == 1 and "text" in texts[0] and not texts[0].get("marks") and "\n" not in texts[0]["text"]


def _insert_block(content: list[Node], chance: random.Random) -> bool:
    content.insert(chance.randint(0, len(content)), {"type": "paragraph", "content": [text_node("A new paragraph.")]})
    return True


def _remove_block(content: list[Node], chance: random.Random) -> bool:
    """A block of one line goes."""
    places = [at for at, node in enumerate(content) if _is_one_line(node)]
    if places:
        del content[chance.choice(places)]
    return bool(places)


def _is_one_line(node: Node) -> bool:
    inside = node.get("content") or []
    is_line = all(child["type"] != "hardBreak" and "\n" not in child.get("text", "") for child in inside)
    return node["type"] == "horizontalRule" or (node["type"] in ("paragraph", "heading") and bool(inside) and is_line)


def _move_block(content: list[Node], chance: random.Random) -> bool:
    if len(content) < 2:
        return False
    block = content.pop(chance.randrange(len(content)))
    content.insert(chance.randint(0, len(content)), block)
    return True


def _insert_row(content: list[Node], chance: random.Random) -> bool:
    tables = _tables(content)
    if not tables:
        return False
    rows = chance.choice(tables)["content"]
    cells: list[Node] = [_new_cell("tableCell") for _ in rows[0]["content"]]
    rows.insert(chance.randint(1, len(rows)), {"type": "tableRow", "content": cells})
    return True


def _remove_row(content: list[Node], chance: random.Random) -> bool:
    tables = [table for table in _tables(content) if len(table["content"]) > 1]
    if not tables:
        return False
    rows = chance.choice(tables)["content"]
    del rows[chance.randrange(1, len(rows))]
    return True


def _insert_column(content: list[Node], chance: random.Random) -> bool | Extent:
    tables = _tables(content)
    if not tables:
        return False
    rows = chance.choice(tables)["content"]
    at = chance.randint(0, len(rows[0]["content"]))
    for row in rows:
        row["content"].insert(at, _new_cell(row["content"][0]["type"]))
    return len(rows) + 1, len(rows) + 1


def _remove_column(content: list[Node], chance: random.Random) -> bool | Extent:
    tables = [table for table in _tables(content) if len(table["content"][0]["content"]) > 1]
    if not tables:
        return False
    rows = chance.choice(tables)["content"]
    at = chance.randrange(len(rows[0]["content"]))
    for row in rows:
        del row["content"][at]
    return len(rows) + 1, len(rows) + 1


def _tables(content: Sequence[Node]) -> list[Node]:
    """Tables at any depth, with as many cells in each row, none of which spans others."""
    tables = [node for node in content if node["type"] == "table" and _is_even(node)]
    return [*tables, *chain(*(_tables(node.get("content") or []) for node in content if node["type"] != "table"))]


def _is_even(table: Node) -> bool:
    rows = [row.get("content") or [] for row in table.get("content") or []]
    spans = (cell.get("attrs", {}).get(name) or 1 for row in rows for cell in row for name in ("colspan", "rowspan"))
    return bool(rows) and bool(rows[0]) and len({len(row) for row in rows}) == 1 and all(span == 1 for span in spans)


def _new_cell(kind: str) -> Node:
    return {"type": kind, "content": [{"type": "paragraph", "content": [text_node("new")]}]}


def _lists(content: Sequence[Node]) -> Iterator[Node]:
    for node in content:
        if node["type"] in _LISTS and node.get("content"):
            yield node
        yield from _lists(node.get("content") or [])


def _parents(content: list[Node]) -> Iterator[list[Node]]:
    """Lists of blocks: of the page, of quotes and of items."""
    yield content
    for node in content:
        if node["type"] in ("blockquote", "callout", "listItem", "taskItem", *_LISTS) and node.get("content"):
            yield from _parents(node["content"])


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "split a paragraph": Kind(_split, (1, 2)),
        "join two paragraphs": Kind(_join, (2, 1)),
        "indent an item": Kind(_indent, takes_sign=True),
        "outdent an item": Kind(_outdent, takes_sign=True),
        "move an item": Kind(_move),
        "split an item": Kind(_split_item, (1, 2)),
        "join two items": Kind(_join_items, (2, 1)),
        "insert a block": Kind(_insert_block, (0, 1)),
        "remove a block": Kind(_remove_block, (1, 0)),
        "move a block": Kind(_move_block),
        "insert a row": Kind(_insert_row, (0, 1)),
        "remove a row": Kind(_remove_row, (1, 0)),
        "insert a column": Kind(_insert_column),
        "remove a column": Kind(_remove_column),
    }
)
