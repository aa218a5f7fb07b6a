"""
Carrying what only a document's JSON holds over to its next state: ids, and how an editor wrote what did not change.

Markdown has no place for these. A block that is the same in normal form stays the very object it was; one edited in
place keeps its id, and so do the items in it.
"""

from collections.abc import Sequence
from itertools import chain

from mirrord.codec.block import Block, blocks_of, ends
from mirrord.codec.document import BLOCKS, Document, Node, checked, document
from mirrord.codec.ids import children_of, id_of, ids_in, with_id
from mirrord.codec.matching import Pair, paired
from mirrord.codec.naming import identified
from mirrord.errors import Damaged


def carried(new: Document, old: object) -> Document:
    """
    The document *new*, read from Markdown, with the nodes and ids of *old*, the document before.

    old: JSON that apps may have written; None, or what is no document, counts for nothing.
    """
    before = identified(blocks_of(content_of(old)))
    return joined(carried_blocks(blocks_of(new.get("content") or []), before))


def completed(written: Document, old: object) -> Document:
    """
    The document *written* by an app with the ids it lacks: those of *old*, the document before, or new ones.

    Nothing else of it changes, but of two equal ids the second.
    """
    new, before = blocks_of(written.get("content") or []), identified(blocks_of(content_of(old)))
    content = identified(_Carrying(new, whole=False).carried(new, before))
    return {**written, "content": joined(content)["content"]} if content else written


def carried_blocks(new: Sequence[Block], old: Sequence[Block]) -> list[Block]:
    """The blocks *new* of a document, read from Markdown, after those of the document before: *old*, with ids."""
    return identified(_Carrying(new, whole=True).carried(new, old))


def content_of(old: object) -> Sequence[Node]:
    """The content of a document as apps may have written it; nothing of what is no document."""
    try:
        return checked(old).get("content") or []
    except Damaged:
        return []


def joined(blocks: Sequence[Block]) -> Document:
    """The document of *blocks*."""
    return document(list(chain.from_iterable(block.nodes for block in blocks)))


class _Carrying:
    """
    One document's nodes after another's.

    whole: equal nodes are taken as they were, with the empty paragraphs beside them; otherwise ids only.
    """

    def __init__(self, new: Sequence[Block], *, whole: bool) -> None:
        self._whole = whole
        # An id that an app uses is not handed on; what is read from Markdown has none.
        self._own: set[str] = set() if whole else {own for block in new for own in ids_in(block.nodes)}

    def carried(self, new: Sequence[Block], old: Sequence[Block]) -> list[Block]:
        if not self._whole:
            return self._paired(new, old, paired(old, new))
        start, end = ends(old, new, Block.means)
        mine, theirs = old[start : len(old) - end], new[start : len(new) - end]
        pairs = paired(mine, theirs)
        between = _with_blanks(self._paired(theirs, mine, pairs), pairs, mine)
        return [*old[:start], *between, *old[len(old) - end :]]

    def _paired(self, new: Sequence[Block], old: Sequence[Block], pairs: Sequence[Pair | None]) -> list[Block]:
        return [
            block if pair is None else self._after(block, old[pair.old], equal=pair.equal)
            for block, pair in zip(new, pairs, strict=True)
        ]

    def _after(self, new: Block, old: Block, *, equal: bool) -> Block:
        if equal and self._whole:
            return old
        if new.nodes == old.nodes:  # its ids are its own
            return new
        if len(new.nodes) != 1 or len(old.nodes) != 1:
            return new
        return new.carrying((self._node(new.nodes[0], old.nodes[0]),))

    def _node(self, new: Node, old: Node) -> Node:
        inherited = id_of(old)
        needs = inherited not in self._own and new["type"] in BLOCKS and id_of(new) is None
        result = with_id(new, inherited) if inherited and needs else new
        children, before = children_of(new), children_of(old)
        if not children or not before:
            return result
        content = self.carried(blocks_of(children), blocks_of(before))
        return {**result, "content": [node for block in content for node in block.nodes]}


def _with_blanks(new: list[Block], pairs: Sequence[Pair | None], old: Sequence[Block]) -> list[Block]:
    """*new* with the empty paragraphs of *old*, each run while it stands between the same two neighbours."""
    place = {pair.old: j for j, pair in enumerate(pairs) if pair is not None}
    lost = [i not in place and block.is_blank for i, block in enumerate(old)]
    if not any(lost):
        return new
    runs: dict[int, list[Block]] = {}  # by the index of the new block they follow
    start = 0
    while start < len(old):
        end = start
        while end < len(old) and lost[end]:
            end += 1
        after = place.get(start - 1) if start else -1
        before = place.get(end) if end < len(old) else len(new)
        if end > start and after is not None and before == after + 1:
            runs[after] = list(old[start:end])
        start = end + 1
    result = runs.get(-1, [])
    for j, block in enumerate(new):
        result += [block, *runs.get(j, ())]
    return result
