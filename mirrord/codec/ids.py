"""Ids in the JSON of blocks: read, set and remove them."""

from collections.abc import Sequence
from operator import is_
from typing import Final

from mirrord.codec.document import BLOCKS, TEXTBLOCKS, Node

ITEMS: Final = frozenset(["listItem", "taskItem"])
HOLDERS: Final = BLOCKS - TEXTBLOCKS - {"codeBlock"}


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
