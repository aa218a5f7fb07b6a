"""New ids of blocks: every top-level block and every item of a list has one, no two have the same."""

import hashlib
from collections.abc import Sequence
from operator import is_
from typing import Final

import orjson

from mirrord.codec.block import Block
from mirrord.codec.document import BLOCKS, Node
from mirrord.codec.ids import HOLDERS, ITEMS, children_of, id_of, ids_in, with_id

LENGTH: Final = 14  # hexadecimal digits of a derived id: 56 bits
_FIRST = hashlib.blake2b(b"1 ", digest_size=LENGTH // 2)  # a copy of it is made in half the time


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
        nodes = tuple([self._complete(node, ids, needs=node["type"] in BLOCKS) for node in block.nodes])
        return block.carrying(nodes, tuple(ids))

    def _complete(self, node: Node, ids: list[str], *, needs: bool) -> Node:
        """*node* with *ids*, to which those are added; it gets one if it *needs* one or has somebody else's."""
        own = id_of(node) if "attrs" in node else None
        if needs if own is None else own in self._seen:
            own = self._new_id(_spelled(node))
            node = with_id(node, own)
        if own is not None:
            self._seen.add(own)
            ids.append(own)
        if not (children := children_of(node)):
            return node
        completed = [
            self._complete(child, ids, needs=child["type"] in ITEMS)
            if "attrs" in child or child["type"] in HOLDERS
            else child
            for child in children
        ]
        if all(map(is_, completed, children)):
            return node
        return {**node, "content": completed}

    def _new_id(self, spelled: bytes) -> str:
        while True:
            number = self._given[spelled] = self._given.get(spelled, 0) + 1
            made = _digest(number, spelled)
            if made not in self._known:
                self._known.add(made)
                return made


def _digest(number: int, spelled: bytes) -> str:
    started = _FIRST.copy() if number == 1 else hashlib.blake2b(b"%d " % number, digest_size=LENGTH // 2)
    started.update(spelled)
    return started.hexdigest()


def _spelled(node: Node) -> bytes:
    try:
        return orjson.dumps(node)
    except orjson.JSONEncodeError:  # of an app: a number too large, or nested too deep
        return repr(node).encode(errors="surrogatepass")
