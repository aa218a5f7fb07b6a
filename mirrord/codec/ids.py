"""Ids of blocks: every top-level block and every item of a list has one, no two have the same."""

import hashlib
from collections.abc import Sequence
from operator import is_
from typing import Final

import orjson

from mirrord.codec.document import BLOCKS, TEXTBLOCKS, Node
from mirrord.codec.matching import Block

ITEMS: Final = frozenset(["listItem", "taskItem"])
LENGTH: Final = 14  # hexadecimal digits of a derived id: 56 bits

_HOLDERS = BLOCKS - TEXTBLOCKS - {"codeBlock"}


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
    return node.get("content") or () if node["type"] in _HOLDERS else ()


def ids_in(content: Sequence[Node]) -> list[str]:
    """Every id of blocks of *content* and below, in order."""
    found: list[str] = []
    _gather(content, found)
    return found


def _gather(content: Sequence[Node], found: list[str]) -> None:
    for node in content:
        if own := id_of(node):
            found.append(own)
        if children := children_of(node):
            _gather(children, found)


def identified(blocks: Sequence[Block]) -> list[Block]:
    """
    A document's *blocks* with all their ids; of equal ones the first stays.

    New ids follow from what a block holds, so that two mirrors derive the same ones.
    Nodes that lack nothing are the same objects.
    """
    return _Ids(blocks).identified()


class _Ids:
    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._known = {own for block in blocks for own in block.ids or ids_in(block.nodes)}  # not to be given again
        self._seen: set[str] = set()
        self._given: dict[bytes, int] = {}  # how many of one spelling got an id

    def identified(self) -> list[Block]:
        return [self._completed(block) for block in self._blocks]

    def _completed(self, block: Block) -> Block:
        if block.ids and self._seen.isdisjoint(block.ids):
            self._seen.update(block.ids)
            return block
        ids: list[str] = []
        nodes = tuple([self._complete(node, ids, needs=True) for node in block.nodes])
        return block.carrying(nodes, tuple(ids))

    def _complete(self, node: Node, ids: list[str], *, needs: bool) -> Node:
        """*node* with *ids*, to which those are added; it needs one itself if it *needs* one or has somebody else's."""
        if not needs and "attrs" not in node and node["type"] not in _HOLDERS:
            return node
        own = id_of(node)
        if (own is None and needs and node["type"] in BLOCKS) or own in self._seen:
            own = self._new_id(_spelled(node))
            node = with_id(node, own)
        if own is not None:
            self._seen.add(own)
            ids.append(own)
        children = children_of(node)
        completed = [self._complete(child, ids, needs=child["type"] in ITEMS) for child in children]
        if all(map(is_, completed, children)):
            return node
        return {**node, "content": completed}

    def _new_id(self, spelled: bytes) -> str:
        while True:
            number = self._given[spelled] = self._given.get(spelled, 0) + 1
            made = hashlib.blake2b(b"%d %b" % (number, spelled), digest_size=LENGTH // 2).hexdigest()
            if made not in self._known:
                self._known.add(made)
                return made


def _spelled(node: Node) -> bytes:
    try:
        return orjson.dumps(node)
    except orjson.JSONEncodeError:  # of an app: a number too large, or nested too deep
        return repr(node).encode(errors="surrogatepass")
