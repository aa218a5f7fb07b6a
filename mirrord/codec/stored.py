"""What Postgres stores of a text: its document and its links. Imports the codec only, so that a worker stays small."""

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
    A page's document, with what a later text's document is quickly made of.

    blocks: those of the document, with ids. json: the document as `jsonb` takes it, which has no place for NUL.
    deep: nested deeper than the JSON of a document before is read.
    """

    reading: Reading
    blocks: Sequence[Block]
    json: bytes
    deep: bool


def derived(text: str, prior: str | None) -> Derived:
    """
    The document of *text*, with the ids and unchanged nodes of the one before.

    prior: that one as JSON; None, or what is no document, counts for nothing.
    """
    return _anew(text, prior, None)


def _anew(text: str, prior: str | None, within: list[Region] | None) -> Derived:
    return _made(read_whole(split(text).body, within), _blocks_before(prior))


def _blocks_before(prior: str | None) -> Sequence[Block]:
    return identified(blocks_of(content_of(_loaded(prior))))


def derived_again(before: Derived, text: str, prior: str | None) -> Derived | None:
    """The same, made of *before* where that is quick; None: the whole text is to be read."""
    reading = None if before.deep else reread(before.reading, split(text).body)
    if reading is None:
        return None
    return _made(reading, _blocks_again(before.blocks, prior))


def linked(text: str, prior: str | None) -> tuple[Derived, Sequence[Link]]:
    """As `derived`, with the links: both are found in one reading."""
    within: list[Region] = []
    return _anew(text, prior, within), links_of(text, within)


def linked_again(before: Derived, text: str, prior: str | None) -> tuple[Derived, Sequence[Link]] | None:
    """As `derived_again`, with the links."""
    again = derived_again(before, text, prior)
    return None if again is None else (again, links_of(text))


def stored(text: str, prior: str | None) -> Stored:
    """The document of `derived` alone, and the links: all that has to leave a worker."""
    within: list[Region] = []
    return _anew(text, prior, within).json, links_of(text, within)


def stored_together(pages: Sequence[tuple[str, str | None]]) -> list[Stored]:
    """`stored` of several (text, prior): a trip to a worker costs as much as a short page."""
    return [stored(text, prior) for text, prior in pages]


def stored_unread(text: str, prior: str | None) -> Stored:
    """What is stored of a text on which a parser failed: its body as one opaque block, no links."""
    return _made(unread(split(text).body), _blocks_before(prior)).json, ()


def _made(reading: Reading, prior: Sequence[Block]) -> Derived:
    blocks = carried_blocks(reading.blocks, prior)
    try:
        data, deep = b"".join((OPENING, b",".join([block.json for block in blocks]), CLOSING)), False
    except orjson.JSONEncodeError:  # attributes nested deep in what is nested deep itself
        data, deep = without_nul(json.dumps(joined(blocks)).encode()), True
    return Derived(reading, blocks, data, deep)


def _blocks_again(known: Sequence[Block], prior: str | None) -> Sequence[Block]:
    """The blocks of *prior*, with ids; those *known* that still are at its beginning and end are not looked into."""
    document = unchecked(prior) if prior is not None else None
    content = document.get("content") if isinstance(document, dict) and document.get("type") == "doc" else None
    if not isinstance(document, dict) or not isinstance(content, list):
        return []
    places = [0, *accumulate(len(block.nodes) for block in known)]
    head, tail = ends(list(chain.from_iterable(block.nodes for block in known)), content)
    first = bisect_right(places, head) - 1
    last = max(bisect_left(places, places[-1] - tail), first)
    between = content[places[first] : len(content) - (places[-1] - places[last])]
    if not is_writable({**document, "content": between}):
        return []
    if first == last and not between:
        return known
    blocks = blocks_of(content_of({"type": "doc", "content": between}))
    return identified([*known[:first], *blocks, *known[last:]])


def _loaded(prior: str | None) -> object:
    return embedded(prior) if prior is not None else None
