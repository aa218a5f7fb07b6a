"""
Keep segments at their text: when a page or its segments changed, both are compared.

As with links, the feed names the changed entries. A result is written into the record's row like any other change, over
the version it was made from, so files and other mirrors follow. The result is deterministic: two daemons never differ.
"""

import asyncio
from collections.abc import Sequence

from mirrord.codec.frontmatter import split
from mirrord.codec.records import MAX_JSON, canonical, read
from mirrord.db import segments
from mirrord.db.connect import Connection
from mirrord.db.cursors import Follower
from mirrord.db.records import RecordText
from mirrord.db.segments import Unanchored
from mirrord.domain.anchoring import anchored
from mirrord.domain.entry import EntryId, TenantId
from mirrord.domain.record import Form
from mirrord.domain.segment import decoded, encoded
from mirrord.sync.changed import look_at_changed

_AnchoredTexts = list[tuple[Unanchored, RecordText | None]]


async def anchor_batch(connection: Connection, tenant: TenantId) -> int:
    """Anchor one batch in the open transaction; return its number of entries."""
    return await look_at_changed(connection, tenant, Follower.SEGMENTS, _anchor_segments)


async def _anchor_segments(connection: Connection, tenant: TenantId, entries: Sequence[EntryId]) -> None:
    unanchored = await segments.load_unanchored(connection, tenant, entries)
    if unanchored:
        await segments.store(connection, tenant, await asyncio.to_thread(_anchor_texts, unanchored))


def _anchor_texts(unanchored: Sequence[Unanchored]) -> _AnchoredTexts:
    return [(segment, _new_text_of(segment)) for segment in unanchored]


def _new_text_of(segment: Unanchored) -> RecordText | None:
    """The record's new text; None if it does not change."""
    data = read(Form.JSON, segment.text)
    old_body = split(segment.old).body if segment.old is not None else None
    new_data = encoded(data, anchored(decoded(data), old_body, split(segment.markdown).body))
    if new_data == data:
        return None
    text = canonical(new_data)
    return RecordText(text, read(Form.JSON, text)) if len(text) <= MAX_JSON else None
