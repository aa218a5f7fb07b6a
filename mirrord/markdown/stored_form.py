"""What Postgres stores of a text: its document and its links. Imports nothing else, so that workers stay small."""

import json
import re
from collections.abc import Sequence
from typing import TypeAlias

import orjson

from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.links.page_links import Link, links_of
from mirrord.markdown.read.block_spans import Outline, Region, outline_of, unparsed_outline
from mirrord.markdown.read.reader import read_nodes
from mirrord.markdown.schema.block import Block, blocks_of
from mirrord.markdown.schema.embedded_json import parse_json_or_none
from mirrord.markdown.write.block_ids import assign_ids, content_of, document_of, keep_blocks_and_ids

StoredValues: TypeAlias = tuple[bytes, Sequence[Link]]  # the document as JSON, and the links

_NUL_ESCAPE = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")


def values_to_store(text: str, prior: str | None) -> StoredValues:
    """
    The document of *text*, with the ids and unchanged nodes of the previous one, and the links: both from one parse.

    prior: the previous document as JSON; ignored if it is None or no document.
    """
    within: list[Region] = []
    page = PageText(text)
    outline = outline_of(page.body, {}, within)
    return _document_json(outline, prior), links_of(page, within)


def values_to_store_of_pages(pages: Sequence[tuple[str, str | None]]) -> list[StoredValues]:
    """`values_to_store` for several (text, prior): one call to a worker costs as much as a short page."""
    return [values_to_store(text, prior) for text, prior in pages]


def values_to_store_unparsed(text: str, prior: str | None) -> StoredValues:
    """The stored values of a text on which a parser failed: its body as one opaque block, no links."""
    return _document_json(unparsed_outline(PageText(text).body), prior), ()


def _document_json(outline: Outline, prior: str | None) -> bytes:
    """The document as `jsonb` accepts it, without NUL."""
    blocks = keep_blocks_and_ids(blocks_of(read_nodes(outline)), _read_prior_blocks(prior))
    document = document_of(blocks)
    try:
        return _without_nul(orjson.dumps(document))
    except orjson.JSONEncodeError:  # deeply nested attributes in deeply nested nodes
        return _without_nul(json.dumps(document).encode())


def _without_nul(data: bytes) -> bytes:
    return _NUL_ESCAPE.sub(rb"\1\\ufffd", data) if b"\\u0000" in data else data


def _read_prior_blocks(prior: str | None) -> Sequence[Block]:
    document = parse_json_or_none(prior) if prior is not None else None
    return assign_ids(blocks_of(content_of(document)))
