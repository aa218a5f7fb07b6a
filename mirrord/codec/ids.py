"""Ids in the JSON of blocks: where they stand, and blocks with and without them."""

from collections.abc import Sequence
from operator import is_
from typing import Final

from mirrord.codec.document import BLOCKS, TEXTBLOCKS, Node

ITEMS: Final = frozenset(["listItem", "taskItem"])
HOLDERS: Final = BLOCKS - TEXTBLOCKS - {"codeBlock"}


def id_of(node: Node) -> str | None:
    """The id of a block; None if it has none, or if its `id` may be content: the type is not a block's we know."""
    attrs = node.get("attrs")
    own = attrs.get("id") if attrs and node["type"] in BLOCKS else None
    return own if isinstance(own, str) and own else None


def with_id(node: Node, own: str) -> Node:
    """*node* with the id *own*."""
    return {**node, "attrs": {**(node.get("attrs") or {}), "id": own}}


def children_of(node: Node) -> Sequence[Node]:
    """The blocks in *node*; none in text, and in what the codec does not know."""
    return node.get("content") or () if node["type"] in HOLDERS else ()


def ids_in(content: Sequence[Node]) -> list[str]:
    """Every id of blocks of *content* and below, in order."""
    found: list[str] = []
    _gather(content, found)
    return found


def _gather(content: Sequence[Node], found: list[str]) -> None:
    for node in content:
        if "attrs" in node and (own := id_of(node)):
            found.append(own)
        if node["type"] in HOLDERS and (children := node.get("content")):
            _gather(children, found)


def without_ids(content: Sequence[Node]) -> list[Node]:
    """*content* without the ids of blocks in it and below."""
    return [_without_ids(node) for node in content]


def _without_ids(node: Node) -> Node:
    if node["type"] not in BLOCKS:
        return node
    attrs = node.get("attrs") or {}
    if "id" in attrs:
        rest = {key: value for key, value in attrs.items() if key != "id"}
        node = {**node, "attrs": rest}
        if not rest:
            del node["attrs"]
    children = children_of(node)
    content = without_ids(children)
    return node if all(map(is_, content, children)) else {**node, "content": content}
