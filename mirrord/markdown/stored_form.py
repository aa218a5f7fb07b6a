"""
What Postgres stores of a text: its document and its links. Imports nothing else, so that workers stay small.

Imports the codec only, so that a worker stays small.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TypeAlias

import orjson

from mirrord.markdown.frontmatter.page_properties import split_parts
from mirrord.markdown.links.page_links import Link, links_of
from mirrord.markdown.read.block_spans import Region
from mirrord.markdown.read.reparse import Reading, read_after_edit, read_whole, unparsed_reading
from mirrord.markdown.schema.block import (
    DOCUMENT_CLOSING,
    DOCUMENT_OPENING,
    Block,
    blocks_of,
    count_common_ends,
    without_nul,
)
from mirrord.markdown.schema.embedded_json import is_writable, parse_json_or_none, parse_unchecked_json
from mirrord.markdown.write.block_ids import assign_ids, content_of, document_of, keep_blocks_and_ids

StoredValues: TypeAlias = tuple[bytes, Sequence[Link]]  # the document as JSON, and the links


@dataclass(frozen=True, slots=True)
class DerivedDocument:
    """
    The document of a page, with the data to derive that of its next text quickly.

    blocks: of the document, with ids. json: the document as `jsonb` accepts it, without NUL.
    deep: nested too deep to be read as the JSON of a previous document.
    """

    reading: Reading
    blocks: Sequence[Block]
    json: bytes
    deep: bool


def derive_document(text: str, prior: str | None) -> DerivedDocument:
    """
    The document of *text*, with the ids and unchanged nodes of the previous one.

    prior: the previous document as JSON; ignored if it is None or no document.
    """
    return _derive_from_text(text, prior, None)


def _derive_from_text(text: str, prior: str | None, within: list[Region] | None) -> DerivedDocument:
    return _build_derived(read_whole(split_parts(text).body, within), _read_prior_blocks(prior))


def _read_prior_blocks(prior: str | None) -> Sequence[Block]:
    return assign_ids(blocks_of(content_of(_load_prior(prior))))


def derive_after_edit(before: DerivedDocument, text: str, prior: str | None) -> DerivedDocument | None:
    """The same, derived from *before* if that is quick; None: the whole text must be read."""
    reading = None if before.deep else read_after_edit(before.reading, split_parts(text).body)
    if reading is None:
        return None
    return _build_derived(reading, _reuse_prior_blocks(before.blocks, prior))


def derive_with_links(text: str, prior: str | None) -> tuple[DerivedDocument, Sequence[Link]]:
    """As `derived`, with the links: both from one parse."""
    within: list[Region] = []
    return _derive_from_text(text, prior, within), links_of(text, within)


def derive_with_links_after_edit(
    before: DerivedDocument, text: str, prior: str | None
) -> tuple[DerivedDocument, Sequence[Link]] | None:
    """As `derived_again`, with the links."""
    again = derive_after_edit(before, text, prior)
    return None if again is None else (again, links_of(text))


def values_to_store(text: str, prior: str | None) -> StoredValues:
    """The JSON of `derived` and the links: the only values that a worker returns."""
    within: list[Region] = []
    return _derive_from_text(text, prior, within).json, links_of(text, within)


def values_to_store_of_pages(pages: Sequence[tuple[str, str | None]]) -> list[StoredValues]:
    """`stored` for several (text, prior): one call to a worker costs as much as a short page."""
    return [values_to_store(text, prior) for text, prior in pages]


def values_to_store_unparsed(text: str, prior: str | None) -> StoredValues:
    """The stored values of a text on which a parser failed: its body as one opaque block, no links."""
    return _build_derived(unparsed_reading(split_parts(text).body), _read_prior_blocks(prior)).json, ()


def _build_derived(reading: Reading, prior: Sequence[Block]) -> DerivedDocument:
    blocks = keep_blocks_and_ids(reading.blocks, prior)
    try:
        data, deep = b"".join((DOCUMENT_OPENING, b",".join([block.json for block in blocks]), DOCUMENT_CLOSING)), False
    except orjson.JSONEncodeError:  # deeply nested attributes in deeply nested nodes
        data, deep = without_nul(json.dumps(document_of(blocks)).encode()), True
    return DerivedDocument(reading, blocks, data, deep)


def _reuse_prior_blocks(known_blocks: Sequence[Block], prior: str | None) -> Sequence[Block]:
    """The blocks of *prior*, with ids; *known_blocks* blocks that are unchanged at its beginning and end are reused."""
    document = parse_unchecked_json(prior) if prior is not None else None
    content = document.get("content") if isinstance(document, dict) and document.get("type") == "doc" else None
    if not isinstance(document, dict) or not isinstance(content, list):
        return []
    places = [0, *accumulate(len(block.nodes) for block in known_blocks)]
    head, tail = count_common_ends(list(chain.from_iterable(block.nodes for block in known_blocks)), content)
    first = bisect_right(places, head) - 1
    last = max(bisect_left(places, places[-1] - tail), first)
    between = content[places[first] : len(content) - (places[-1] - places[last])]
    if not is_writable({**document, "content": between}):
        return []
    if first == last and not between:
        return known_blocks
    blocks = blocks_of(content_of({"type": "doc", "content": between}))
    return assign_ids([*known_blocks[:first], *blocks, *known_blocks[last:]])


def _load_prior(prior: str | None) -> object:
    return parse_json_or_none(prior) if prior is not None else None
