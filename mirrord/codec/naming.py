"""Assign ids to blocks: every top-level block and every list item gets one, all distinct."""

import hashlib
from collections.abc import Sequence
from operator import is_
from typing import Final

import orjson

from mirrord.codec.block import Block
from mirrord.codec.document import BLOCKS, Node
from mirrord.codec.ids import HOLDERS, ITEMS, children_of, id_of, ids_in, with_id

ID_DIGITS: Final = 14  # hexadecimal digits of a derived id: 56 bits
_FIRST_HASH = hashlib.blake2b(b"1 ", digest_size=ID_DIGITS // 2)  # copying it takes half the time of a new hash


def assign_ids(blocks: Sequence[Block]) -> list[Block]:
    """
    The *blocks* of a document with all their ids; of equal ids the first one stays.

    New ids are derived from the content of a block, so that two mirrors derive the same ones.
    Complete nodes stay the same objects.
    """
    return _IdAssigner(blocks).complete()


class _IdAssigner:
    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._used_ids = {
            block_id for block in blocks for block_id in block.ids or ids_in(block.nodes)
        }  # never assigned again
        self._ids_so_far: set[str] = set()
        self._counts: dict[bytes, int] = {}  # number of ids assigned, by JSON

    def complete(self) -> list[Block]:
        return [self._complete_block(block) for block in self._blocks]

    def _complete_block(self, block: Block) -> Block:
        if block.ids and self._ids_so_far.isdisjoint(block.ids):
            self._ids_so_far.update(block.ids)
            return block
        ids: list[str] = []
        nodes = tuple([self._complete_node(node, ids, needs=node["type"] in BLOCKS) for node in block.nodes])
        return block.with_nodes(nodes, tuple(ids))

    def _complete_node(self, node: Node, ids: list[str], *, needs: bool) -> Node:
        """*node* with all ids, which are appended to *ids*; it gets one if it *needs* one or its id is a duplicate."""
        node_id = id_of(node) if "attrs" in node else None
        if needs if node_id is None else node_id in self._ids_so_far:
            node_id = self._new_id(_json_of(node))
            node = with_id(node, node_id)
        if node_id is not None:
            self._ids_so_far.add(node_id)
            ids.append(node_id)
        if not (children := children_of(node)):
            return node
        completed = [
            self._complete_node(child, ids, needs=child["type"] in ITEMS)
            if "attrs" in child or child["type"] in HOLDERS
            else child
            for child in children
        ]
        if all(map(is_, completed, children)):
            return node
        return {**node, "content": completed}

    def _new_id(self, spelled: bytes) -> str:
        while True:
            number = self._counts[spelled] = self._counts.get(spelled, 0) + 1
            new_id = _digest_of(number, spelled)
            if new_id not in self._used_ids:
                self._used_ids.add(new_id)
                return new_id


def _digest_of(number: int, spelled: bytes) -> str:
    digest = _FIRST_HASH.copy() if number == 1 else hashlib.blake2b(b"%d " % number, digest_size=ID_DIGITS // 2)
    digest.update(spelled)
    return digest.hexdigest()


def _json_of(node: Node) -> bytes:
    try:
        return orjson.dumps(node)
    except orjson.JSONEncodeError:  # written by an app: a number too large, or nested too deep
        return repr(node).encode(errors="surrogatepass")
