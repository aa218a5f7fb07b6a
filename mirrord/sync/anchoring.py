"""
Keep segments at their text: when a page or its segments changed, both are compared.

As with links, the feed names the changed entries. A result is written into the record's row like any other change, over
the version it was made from, so files and other mirrors follow. The result is deterministic: two daemons never differ.
"""

import asyncio
from collections.abc import Sequence

from mirrord.codec.frontmatter import split_parts
from mirrord.codec.records import MAX_JSON_CHARACTERS, canonical_json, read_record
from mirrord.db import segments
from mirrord.db.connect import Connection
from mirrord.db.cursors import Follower
from mirrord.db.records import RecordText
from mirrord.db.segments import UnanchoredPage
from mirrord.domain.anchoring import anchor_segments
from mirrord.domain.entry import EntryId, TenantId
from mirrord.domain.record import RecordFormat
from mirrord.domain.segment import decode_segments, encode_segments
from mirrord.sync.changed import process_changed

_AnchoredTexts = list[tuple[UnanchoredPage, RecordText | None]]


async def anchor_batch(connection: Connection, tenant: TenantId) -> int:
    """Anchor one batch in the open transaction; return its number of entries."""
    return await process_changed(connection, tenant, Follower.SEGMENTS, _anchor_segments)


async def _anchor_segments(connection: Connection, tenant: TenantId, entries: Sequence[EntryId]) -> None:
    unanchored = await segments.load_unanchored(connection, tenant, entries)
    if unanchored:
        await segments.store_anchored(connection, tenant, await asyncio.to_thread(_anchor_texts, unanchored))


def _anchor_texts(unanchored: Sequence[UnanchoredPage]) -> _AnchoredTexts:
    return [(segment, _new_text_of(segment)) for segment in unanchored]


def _new_text_of(segment: UnanchoredPage) -> RecordText | None:
    """The record's new text; None if it does not change."""
    data = read_record(RecordFormat.JSON, segment.text)
    old_body = split_parts(segment.old).body if segment.old is not None else None
    new_data = encode_segments(
        data, anchor_segments(decode_segments(data), old_body, split_parts(segment.markdown).body)
    )
    if new_data == data:
        return None
    text = canonical_json(new_data)
    return RecordText(text, read_record(RecordFormat.JSON, text)) if len(text) <= MAX_JSON_CHARACTERS else None
