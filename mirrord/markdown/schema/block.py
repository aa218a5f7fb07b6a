"""A block of a document with its ids, and whether two blocks mean the same."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import eq, is_
from typing import Final, TypeVar

import orjson

from mirrord.markdown.schema.document import BLOCKS, INLINE, TEXTBLOCKS, Node
from mirrord.markdown.schema.normal_form import fingerprint, normalize, normalize_blocks, wrap_inlines
from mirrord.markdown.schema.normal_tables import CELLS, COLUMN_ATTRS

ITEMS: Final = frozenset(["listItem", "taskItem"])
_LISTS: Final = frozenset(["bulletList", "orderedList", "taskList"])
HOLDERS: Final = BLOCKS - TEXTBLOCKS - {"codeBlock"}
_DIVISIBLE: Final = HOLDERS - CELLS - {"rawBlock", "detailsSummary"}  # normal forms made of those of their blocks


def id_of(node: Node) -> str | None:
    """The id of a block; None if it has none, or if its type is unknown, so that its `id` may be content."""
    attrs = node.get("attrs")
    block_id = attrs.get("id") if attrs and node["type"] in BLOCKS else None
    return block_id if isinstance(block_id, str) and block_id else None


def with_id(node: Node, block_id: str) -> Node:
    """*node* with the id *block_id*."""
    return {**node, "attrs": {**(node.get("attrs") or {}), "id": block_id}}


def children_of(node: Node) -> Sequence[Node]:
    """The blocks in *node*; none in text and in unknown nodes."""
    return node.get("content") or () if node["type"] in HOLDERS else ()


def ids_in(content: Sequence[Node]) -> list[str]:
    """The ids of all blocks in *content* and below, in order."""
    ids: list[str] = []
    _gather_ids(content, ids)
    return ids


def _gather_ids(content: Sequence[Node], ids: list[str]) -> None:
    for node in content:
        if "attrs" in node and (block_id := id_of(node)):
            ids.append(block_id)
        if node["type"] in HOLDERS and (children := node.get("content")):
            _gather_ids(children, ids)


def without_ids(content: Sequence[Node]) -> list[Node]:
    """*content* without the ids of its blocks and those below."""
    return [_without_ids(node) for node in content]


def _without_ids(node: Node) -> Node:
    if node["type"] not in BLOCKS:
        return node
    attrs = node.get("attrs") or {}
    if "id" in attrs:
        other_attrs = {key: value for key, value in attrs.items() if key != "id"}
        node = {**node, "attrs": other_attrs}
        if not other_attrs:
            del node["attrs"]
    children = children_of(node)
    content = without_ids(children)
    return node if all(map(is_, content, children)) else {**node, "content": content}


def are_equal_without_ids(content: Sequence[Node], other: Sequence[Node]) -> bool:
    """Whether both are equal except for the ids of blocks in them; no copies are made for it."""
    return len(content) == len(other) and all(map(_is_equal_without_ids, content, other))


def _is_equal_without_ids(node: Node, other: Node) -> bool:
    if node == other:
        return True
    if node["type"] != other["type"] or node["type"] not in BLOCKS:
        return False
    if {**(node.get("attrs") or {}), "id": None} != {**(other.get("attrs") or {}), "id": None}:
        return False
    if (node.get("text"), node.get("marks")) != (other.get("text"), other.get("marks")):
        return False
    mine, theirs = node.get("content") or [], other.get("content") or []
    return mine == theirs or (node["type"] in HOLDERS and are_equal_without_ids(mine, theirs))


T = TypeVar("T")

_EMPTY: Node = {"type": "paragraph"}
_EMPTY_MEANING = fingerprint(_EMPTY)
_PLAIN_HOLDERS = HOLDERS - {
    "table",
    "tableRow",
    "tableHeader",
    "tableCell",
}  # cells have the attributes of their column


@dataclass(slots=True, eq=False)
class _Meaning:
    """
    The normal form and fingerprint that equal blocks share; None: not computed yet.

    different: the last one that was compared with it and differs. parts: of this container and of those that it was
    compared with, the normal forms of the blocks in them by their JSON; None: it was compared with no other container.
    """

    node: Node | None = None
    text: str | None = None
    different: "_Meaning | None" = None
    parts: dict[bytes, Node] | None = None


@dataclass(slots=True)
class Block:
    """
    A block of a document or container; it does not change.

    nodes: its node, or a run of inline nodes that stands for a paragraph, such as a lone image.
    ids: the ids in it and below, set once none is missing or repeated.
    """

    nodes: tuple[Node, ...]
    ids: tuple[str, ...] = ()
    _meaning: _Meaning = field(default_factory=_Meaning, compare=False, repr=False)

    @property
    def normal_form(self) -> Node:
        """Its normal form; computed on first use, since it is the most expensive part."""
        if self._meaning.node is None:
            node = self.nodes[0]
            if len(self.nodes) != 1 or node["type"] in INLINE:
                node = {"type": "paragraph", "content": list(self.nodes)}
            parts = self._meaning.parts
            self._meaning.node = normalize(node) if parts is None else _normalize_parts(node, parts)
        return self._meaning.node

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its normal form."""
        if self._meaning.text is None:
            self._meaning.text = fingerprint(self.normal_form)
        return self._meaning.text

    def means_same_as(self, other: "Block") -> bool:
        """Whether both mean the same; equal JSON and earlier positive results need no normal form."""
        if self._meaning is other._meaning:
            return True
        if self._meaning.different is other._meaning:
            return False
        if not self._is_equal_without_ids(other):
            self._share_parts(other)
            if self._differs_in_parts(other) or not self._means(other):
                self._meaning.different = other._meaning
                return False
        other._meaning = self._meaning
        return True

    def _share_parts(self, other: "Block") -> None:
        """Let what both hold be normalized once."""
        if _has_own_parts(self.nodes) and _has_own_parts(other.nodes):
            parts = self._meaning.parts if self._meaning.parts is not None else other._meaning.parts
            self._meaning.parts = other._meaning.parts = {} if parts is None else parts

    def _means(self, other: "Block") -> bool:
        return self.fingerprint == other.fingerprint

    def _differs_in_parts(self, other: "Block") -> bool:
        return len(self.nodes) == len(other.nodes) == 1 and differ_in_parts(self.nodes[0], other.nodes[0])

    def _is_equal_without_ids(self, other: "Block") -> bool:
        """Whether both are equal except for ids."""
        return are_equal_without_ids(self.nodes, other.nodes)

    def with_nodes(self, nodes: tuple[Node, ...], ids: tuple[str, ...] = ()) -> "Block":
        """The same block with other ids in its *nodes*; its meaning stays the same."""
        return Block(nodes, ids, self._meaning)

    @property
    def kind(self) -> str:
        """The node type of the block in Markdown."""
        return self.nodes[0]["type"] if len(self.nodes) == 1 else "paragraph"

    @property
    def is_empty(self) -> bool:
        """Whether no Markdown is written for it: a paragraph of nothing, blanks or breaks."""
        if self._has_words() or (self.kind in BLOCKS and self.kind != "paragraph"):
            return False
        return self.normal_form == _EMPTY

    @property
    def is_blank(self) -> bool:
        """Whether it is empty and holds no breaks."""
        return self.is_empty and all("text" in child for child in self.nodes[0].get("content") or ())

    def _has_words(self) -> bool:
        children = self.nodes[0].get("content") or ()
        return any("text" in child and not child["text"].isspace() and child["text"] for child in children)


def _key_of(content: Sequence[Node]) -> bytes | None:
    """*content* without ids as JSON; None where an app wrote a number too large for it, or nested it too deep."""
    try:
        return orjson.dumps(without_ids(content))
    except orjson.JSONEncodeError:
        return None


def differ_in_parts(node: Node, other: Node) -> bool:
    """
    Whether two containers differ in a way that a few of their parts show.

    That is: all parts are equal but one, which differs in meaning; or both are lists, whose items normal forms neither
    drop nor join, with different numbers of items or a first pair of items that differs in meaning; or both are tables
    with different numbers of rows, or of cells in a row, or a first pair of rows that differs in more than alignment
    and width, which may be those of the column. The normal forms of the other parts, most of a long list, are not
    needed.
    """
    if node["type"] == "table":
        return has_other_parts(node, other) or _has_other_row(node, other)
    mine, theirs = children_of(node), children_of(other)
    if node["type"] != other["type"] or node["type"] not in _PLAIN_HOLDERS:
        return False
    are_lists = _is_list(node) and _is_list(other)
    if len(mine) != len(theirs):
        return are_lists
    changed = [pair for pair in zip(mine, theirs, strict=True) if _without_ids(pair[0]) != _without_ids(pair[1])]
    if not changed or not all(part["type"] in BLOCKS for part in changed[0]):
        return False
    if len(changed) > 1:
        return are_lists and len({fingerprint(normalize(part)) for part in changed[0]}) == 2
    if all(part["type"] in _PLAIN_HOLDERS for part in changed[0]):
        return differ_in_parts(*changed[0])
    meanings = {fingerprint(normalize(part)) for part in changed[0]}
    return len(meanings) == 2 and _EMPTY_MEANING not in meanings


def _is_list(node: Node) -> bool:
    """Whether *node* is a list and holds nothing but items."""
    return node["type"] in _LISTS and all(child["type"] in ITEMS for child in node.get("content") or ())


def has_other_parts(node: Node, other: Node) -> bool:
    """Whether two lists or tables have different numbers of items, of rows, or of cells in a row."""
    if not (_has_lasting_parts(node) and _has_lasting_parts(other)) or (node["type"] == "table") != _is_grid(other):
        return False
    mine, theirs = node.get("content") or (), other.get("content") or ()
    if len(mine) != len(theirs) or node["type"] != "table":
        return len(mine) != len(theirs)
    return list(map(_count_cells, mine)) != list(map(_count_cells, theirs))


def _has_other_row(node: Node, other: Node) -> bool:
    """Whether the first rows that are not equal have cells that differ in more than alignment and width."""
    if not (_is_grid(node) and _is_grid(other)):
        return False
    pairs = zip(node["content"], other["content"], strict=False)
    changed = next((pair for pair in pairs if _without_ids(pair[0]) != _without_ids(pair[1])), ())
    return len({fingerprint(_without_column_attrs(normalize(row))) for row in changed}) > 1


def _without_column_attrs(row: Node) -> Node:
    cells: list[Node] = [
        {
            **cell,
            "attrs": {name: value for name, value in (cell.get("attrs") or {}).items() if name not in COLUMN_ATTRS},
        }
        for cell in row.get("content") or ()
    ]
    return {**row, "content": cells}


def _is_grid(node: Node) -> bool:
    """Whether *node* is a table and holds nothing but rows, and these nothing but cells."""
    rows = (node.get("content") or ()) if node["type"] == "table" else ()
    return bool(rows) and all(
        row["type"] == "tableRow" and all(cell["type"] in CELLS for cell in row.get("content") or ()) for row in rows
    )


def _count_cells(row: Node) -> int:
    return len(row.get("content") or ())


def _has_lasting_parts(node: Node) -> bool:
    """Whether the normal form of *node* has the normal forms of its parts, neither less of them nor joined ones."""
    return _is_list(node) or _is_grid(node)


def _has_own_parts(nodes: Sequence[Node]) -> bool:
    """Whether *nodes* are a container whose normal form is made of those of the blocks in it."""
    return len(nodes) == 1 and nodes[0]["type"] in _DIVISIBLE and bool(nodes[0].get("content"))


def _normalize_parts(node: Node, known_parts: dict[bytes, Node]) -> Node:
    """The normal form of a container. known_parts: those of the blocks in it; it gets the others."""
    result = normalize({**node, "content": []})
    if content := normalize_blocks(
        node["type"], [_normalize_part(part, known_parts) for part in wrap_inlines(node["content"])]
    ):
        result["content"] = content
    return result


def _normalize_part(part: Node, known_parts: dict[bytes, Node]) -> Node:
    key = _key_of([part])
    if key is None:
        return normalize(part)
    if key not in known_parts:
        has_cells = part["type"] == "tableRow" and _has_own_parts((part,))  # other rows may have most of them
        known_parts[key] = _normalize_parts(part, known_parts) if has_cells else normalize(part)
    return known_parts[key]


def block_of(node: Node) -> Block:
    """The block of a normal *node*."""
    return Block((node,), (), _Meaning(node))


def blocks_of(content: Sequence[Node]) -> list[Block]:
    """The blocks of the *content* of a document or container."""
    blocks, start = [], 0
    for node in wrap_inlines(content):
        count = 1 if node is content[start] else len(node["content"])
        blocks.append(Block(tuple(content[start : start + count])))
        start += count
    return blocks


def count_common_ends(old: Sequence[T], new: Sequence[T], same: Callable[[T, T], bool] = eq) -> tuple[int, int]:
    """The lengths of the common prefix and suffix by *same*; the two do not overlap."""
    shorter = min(len(old), len(new))
    start = next((k for k, is_same in enumerate(map(same, old, new)) if not is_same), shorter)
    backwards = map(same, reversed(old), reversed(new))
    end = next((k for k, is_same in enumerate(islice(backwards, shorter - start)) if not is_same), shorter - start)
    return start, end


def common_length(limit: int, is_equal: Callable[[int, int], bool]) -> int:
    """The highest count up to *limit* for which everything before it *is_equal*, found by bisection."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_equal(low, middle) else (low, middle - 1)
    return low
