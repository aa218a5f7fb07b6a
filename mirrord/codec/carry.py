"""
Carry over data from one state of a document to the next that only its JSON holds: ids, and the form of equal nodes.

Markdown has no place for these. A block that is equal in normal form stays the same object; one edited in place keeps
its id and the ids of its items.
"""

from collections.abc import Sequence
from itertools import chain

from mirrord.codec.block import Block, blocks_of, count_common_ends
from mirrord.codec.document import BLOCKS, Document, Node, check_document, make_document
from mirrord.codec.ids import children_of, id_of, ids_in, with_id
from mirrord.codec.matching import Pair, match_blocks
from mirrord.codec.naming import assign_ids
from mirrord.errors import Damaged


def keep_nodes_and_ids(new: Document, old: object) -> Document:
    """
    The document *new*, read from Markdown, with the nodes and ids of *old*, the previous document.

    old: JSON that apps may have written; ignored if it is None or no document.
    """
    before = assign_ids(blocks_of(content_of(old)))
    return document_of(keep_blocks_and_ids(blocks_of(new.get("content") or []), before))


def complete_ids(written: Document, old: object) -> Document:
    """
    The document *written* by an app with its missing ids added: those of *old*, the previous document, or new ones.

    Of two equal ids the second is replaced; nothing else changes.
    """
    new_blocks, old_blocks = blocks_of(written.get("content") or []), assign_ids(blocks_of(content_of(old)))
    content = assign_ids(_Inheritance(new_blocks, with_nodes=False).inherit(new_blocks, old_blocks))
    return {**written, "content": document_of(content)["content"]} if content else written


def keep_blocks_and_ids(new: Sequence[Block], old: Sequence[Block]) -> list[Block]:
    """The blocks *new*, read from Markdown, with the ids of *old*, the blocks of the previous document."""
    return assign_ids(_Inheritance(new, with_nodes=True).inherit(new, old))


def content_of(old: object) -> Sequence[Node]:
    """The content of a document that an app may have written; empty if it is no document."""
    try:
        return check_document(old).get("content") or []
    except Damaged:
        return []


def document_of(blocks: Sequence[Block]) -> Document:
    """The document that consists of *blocks*."""
    return make_document(list(chain.from_iterable(block.nodes for block in blocks)))


class _Inheritance:
    """
    Transfer from the nodes of an old document to those of a new one.

    with_nodes: take over equal nodes, with the empty paragraphs beside them; otherwise ids only.
    """

    def __init__(self, new: Sequence[Block], *, with_nodes: bool) -> None:
        self._with_nodes = with_nodes
        # An id that the app uses already is not inherited; a document read from Markdown has none.
        self._used_ids: set[str] = (
            set() if with_nodes else {block_id for block in new for block_id in ids_in(block.nodes)}
        )

    def inherit(self, new: Sequence[Block], old: Sequence[Block]) -> list[Block]:
        if not self._with_nodes:
            return self._inherit_pairs(new, old, match_blocks(old, new))
        start, end = count_common_ends(old, new, Block.means_same_as)
        mine, theirs = old[start : len(old) - end], new[start : len(new) - end]
        pairs = match_blocks(mine, theirs)
        between = _with_blanks(self._inherit_pairs(theirs, mine, pairs), pairs, mine)
        return [*old[:start], *between, *old[len(old) - end :]]

    def _inherit_pairs(self, new: Sequence[Block], old: Sequence[Block], pairs: Sequence[Pair | None]) -> list[Block]:
        return [
            block if pair is None else self._inherit_block(block, old[pair.old], equal=pair.is_equal)
            for block, pair in zip(new, pairs, strict=True)
        ]

    def _inherit_block(self, new: Block, old: Block, *, equal: bool) -> Block:
        if equal and self._with_nodes:
            return old
        if new.nodes == old.nodes:  # its ids are its own
            return new
        if len(new.nodes) != 1 or len(old.nodes) != 1:
            return new
        return new.with_nodes((self._inherit_node(new.nodes[0], old.nodes[0]),))

    def _inherit_node(self, new: Node, old: Node) -> Node:
        inherited = id_of(old)
        needs = inherited not in self._used_ids and new["type"] in BLOCKS and id_of(new) is None
        result = with_id(new, inherited) if inherited and needs else new
        children, before = children_of(new), children_of(old)
        if not children or not before:
            return result
        content = self.inherit(blocks_of(children), blocks_of(before))
        return {**result, "content": [node for block in content for node in block.nodes]}


def _with_blanks(new: list[Block], pairs: Sequence[Pair | None], old: Sequence[Block]) -> list[Block]:
    """*new* with the empty paragraphs of *old*; a run is kept only between the same two neighbours."""
    new_index_by_old = {pair.old: j for j, pair in enumerate(pairs) if pair is not None}
    is_dropped = [i not in new_index_by_old and block.is_blank for i, block in enumerate(old)]
    if not any(is_dropped):
        return new
    runs: dict[int, list[Block]] = {}  # by the index of the new block they follow
    start = 0
    while start < len(old):
        end = start
        while end < len(old) and is_dropped[end]:
            end += 1
        after = new_index_by_old.get(start - 1) if start else -1
        before = new_index_by_old.get(end) if end < len(old) else len(new)
        if end > start and after is not None and before == after + 1:
            runs[after] = list(old[start:end])
        start = end + 1
    result = runs.get(-1, [])
    for j, block in enumerate(new):
        result += [block, *runs.get(j, ())]
    return result
