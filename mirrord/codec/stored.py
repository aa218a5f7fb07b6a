"""Derive the values that Postgres stores for a text: its document and its links.

Imports the codec only, so that a worker stays small.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TypeAlias

import orjson

from mirrord.codec.block import CLOSING, OPENING, Block, blocks_of, ends, without_nul
from mirrord.codec.carry import carried_blocks, content_of, joined
from mirrord.codec.embedded import embedded, is_writable, unchecked
from mirrord.codec.frontmatter import split
from mirrord.codec.increment import Reading, read_whole, reread, unread
from mirrord.codec.links import Link, links_of
from mirrord.codec.naming import identified
from mirrord.codec.segments import Region

Stored: TypeAlias = tuple[bytes, Sequence[Link]]  # the document as JSON, and the links


@dataclass(frozen=True, slots=True)
class Derived:
    """
    The document of a page, with the data to derive that of its next text quickly.

    blocks: of the document, with ids. json: the document as `jsonb` accepts it, without NUL.
    deep: nested too deep to be read as the JSON of a previous document.
    """

    reading: Reading
    blocks: Sequence[Block]
    json: bytes
    deep: bool


def derived(text: str, prior: str | None) -> Derived:
    """
    The document of *text*, with the ids and unchanged nodes of the previous one.

    prior: the previous document as JSON; ignored if it is None or no document.
    """
    return _derive_from_text(text, prior, None)


def _derive_from_text(text: str, prior: str | None, within: list[Region] | None) -> Derived:
    return _build_derived(read_whole(split(text).body, within), _read_prior_blocks(prior))


def _read_prior_blocks(prior: str | None) -> Sequence[Block]:
    return identified(blocks_of(content_of(_load_prior(prior))))


def derived_again(before: Derived, text: str, prior: str | None) -> Derived | None:
    """The same, derived from *before* if that is quick; None: the whole text must be read."""
    reading = None if before.deep else reread(before.reading, split(text).body)
    if reading is None:
        return None
    return _build_derived(reading, _reuse_prior_blocks(before.blocks, prior))


def linked(text: str, prior: str | None) -> tuple[Derived, Sequence[Link]]:
    """As `derived`, with the links: both from one parse."""
    within: list[Region] = []
    return _derive_from_text(text, prior, within), links_of(text, within)


def linked_again(before: Derived, text: str, prior: str | None) -> tuple[Derived, Sequence[Link]] | None:
    """As `derived_again`, with the links."""
    again = derived_again(before, text, prior)
    return None if again is None else (again, links_of(text))


def stored(text: str, prior: str | None) -> Stored:
    """The JSON of `derived` and the links: the only values that a worker returns."""
    within: list[Region] = []
    return _derive_from_text(text, prior, within).json, links_of(text, within)


def stored_together(pages: Sequence[tuple[str, str | None]]) -> list[Stored]:
    """`stored` for several (text, prior): one call to a worker costs as much as a short page."""
    return [stored(text, prior) for text, prior in pages]


def stored_unread(text: str, prior: str | None) -> Stored:
    """The stored values of a text on which a parser failed: its body as one opaque block, no links."""
    return _build_derived(unread(split(text).body), _read_prior_blocks(prior)).json, ()


def _build_derived(reading: Reading, prior: Sequence[Block]) -> Derived:
    blocks = carried_blocks(reading.blocks, prior)
    try:
        data, deep = b"".join((OPENING, b",".join([block.json for block in blocks]), CLOSING)), False
    except orjson.JSONEncodeError:  # deeply nested attributes in deeply nested nodes
        data, deep = without_nul(json.dumps(joined(blocks)).encode()), True
    return Derived(reading, blocks, data, deep)


def _reuse_prior_blocks(known_blocks: Sequence[Block], prior: str | None) -> Sequence[Block]:
    """The blocks of *prior*, with ids; *known_blocks* blocks that are unchanged at its beginning and end are reused."""
    document = unchecked(prior) if prior is not None else None
    content = document.get("content") if isinstance(document, dict) and document.get("type") == "doc" else None
    if not isinstance(document, dict) or not isinstance(content, list):
        return []
    places = [0, *accumulate(len(block.nodes) for block in known_blocks)]
    head, tail = ends(list(chain.from_iterable(block.nodes for block in known_blocks)), content)
    first = bisect_right(places, head) - 1
    last = max(bisect_left(places, places[-1] - tail), first)
    between = content[places[first] : len(content) - (places[-1] - places[last])]
    if not is_writable({**document, "content": between}):
        return []
    if first == last and not between:
        return known_blocks
    blocks = blocks_of(content_of({"type": "doc", "content": between}))
    return identified([*known_blocks[:first], *blocks, *known_blocks[last:]])


def _load_prior(prior: str | None) -> object:
    return embedded(prior) if prior is not None else None
