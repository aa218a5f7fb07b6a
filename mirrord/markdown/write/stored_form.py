"""
What Postgres stores of a text: its links, and its document with the ids of its blocks.

Markdown has no place for ids and authored JSON. A block that is equal in normal form stays the same object; one
edited in place keeps its id and the ids of its items. Workers that derive documents load nothing else, to stay small.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from itertools import chain
from operator import is_
from typing import Final, TypeAlias

import orjson

from mirrord.domain.dialect import Dialect
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import Link, links_of
from mirrord.markdown.parser.dialect import Surroundings
from mirrord.markdown.read.known_readings import LATEST_READINGS
from mirrord.markdown.read.page_outline import Outline, Region, outline_of, unparsed_outline
from mirrord.markdown.read.reader import read_nodes
from mirrord.markdown.read.reparse import reading_of
from mirrord.markdown.schema.block import (
    HOLDERS,
    ITEMS,
    Block,
    blocks_of,
    children_of,
    count_common_ends,
    id_of,
    ids_in,
    with_id,
)
from mirrord.markdown.schema.document import BLOCKS, Document, Node, check_document, make_document, parse_json_or_none
from mirrord.markdown.write.block_matching import Pair, match_blocks

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


def keep_nodes_and_ids(new: Document, old: object) -> Document:
    """
    The document *new*, read from Markdown, with the nodes and ids of *old*, the previous document.

    old: JSON that apps may have written; ignored if it is None or no document.
    """
    before = assign_ids(blocks_of(content_of(old)))
    return document_of(keep_blocks_and_ids(blocks_of(new.get("content") or []), before))


def complete_ids(written: Document, before: Sequence[Node]) -> Document:
    """
    The document *written* by an app with its missing ids added: those of *before*, the previous content, or new ones.

    Of two equal ids the second is replaced; nothing else changes.
    """
    new_blocks, old_blocks = blocks_of(written.get("content") or []), assign_ids(blocks_of(before))
    content = assign_ids(_Inheritance(new_blocks, with_nodes=False).inherit(new_blocks, old_blocks))
    return {**written, "content": document_of(content)["content"]} if content else written


def keep_blocks_and_ids(new: Sequence[Block], old: Sequence[Block]) -> list[Block]:
    """The blocks *new*, read from Markdown, with the ids of *old*, the blocks of the previous document."""
    return assign_ids(_Inheritance(new, with_nodes=True).inherit(new, old))


def keep_nodes(new: Document, old: Document) -> Document:
    """
    The document *new*, read from Markdown, with the nodes of *old* that mean the same, as they are.

    It gets ids only if *old* has some, each once.
    """
    new_blocks, old_blocks = blocks_of(new.get("content") or []), blocks_of(content_of(old))
    result = _Inheritance(new_blocks, with_nodes=True).inherit(new_blocks, old_blocks)
    ids = ids_in(content_of(old))
    if ids and len(set(ids)) == len(ids):
        result = assign_ids(result)
    return {**old, "content": document_of(result)["content"]}


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


StoredValues: TypeAlias = tuple[bytes, Sequence[Link]]  # the document as JSON, and the links

_NUL_ESCAPE = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")


def values_to_store(text: str, prior: str | None, dialect: Dialect = Dialect.PLAIN) -> StoredValues:
    """
    The document of *text*, with the ids and unchanged nodes of the previous one, and the links: both from one parse.

    prior: the previous document as JSON; ignored if it is None or no document.
    """
    within: list[Region] = []
    page = PageText(text, dialect)
    outline = outline_of(page.body, Surroundings(dialect=dialect), within)
    return _document_json(outline, prior), links_of(page, within)


def values_to_store_before_saves(text: str, prior: str | None, dialect: Dialect = Dialect.PLAIN) -> StoredValues:
    """As values_to_store(), in the process that renders what apps save: a save of this text need not parse it again."""
    within: list[Region] = []
    page = PageText(text, dialect)
    reading = reading_of(outline_of(page.body, Surroundings(dialect=dialect), within))
    values = _json_of_blocks(reading.blocks, prior), links_of(page, within)
    LATEST_READINGS.remember(reading)  # last, because a save in another thread takes it
    return values


def values_to_store_of_pages(pages: Sequence[tuple[str, str | None, Dialect]]) -> list[StoredValues]:
    """`values_to_store` for several (text, prior, dialect): one call to a worker costs as much as a short page."""
    return [values_to_store(text, prior, dialect) for text, prior, dialect in pages]


def values_to_store_unparsed(text: str, prior: str | None) -> StoredValues:
    """The stored values of a text on which a parser failed: its body as one opaque block, no links."""
    return _document_json(unparsed_outline(PageText(text).body), prior), ()


def _document_json(outline: Outline, prior: str | None) -> bytes:
    """The document as `jsonb` accepts it, without NUL."""
    return _json_of_blocks(blocks_of(read_nodes(outline)), prior)


def _json_of_blocks(blocks: Sequence[Block], prior: str | None) -> bytes:
    document = document_of(keep_blocks_and_ids(blocks, _read_prior_blocks(prior)))
    try:
        return _without_nul(orjson.dumps(document))
    except orjson.JSONEncodeError:  # deeply nested attributes in deeply nested nodes
        return _without_nul(json.dumps(document).encode())


def _without_nul(data: bytes) -> bytes:
    return _NUL_ESCAPE.sub(rb"\1\\ufffd", data) if b"\\u0000" in data else data


def _read_prior_blocks(prior: str | None) -> Sequence[Block]:
    document = parse_json_or_none(prior) if prior is not None else None
    return assign_ids(blocks_of(content_of(document)))
