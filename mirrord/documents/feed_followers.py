"""
Followers of the feed: links, and segments compared with their page's text, in batches.

As with links, the feed names the changed entries. A result is written into the record's row like any other change, over
the version it was made from, so files and other mirrors follow. The result is deterministic: two daemons never differ.
"""

import asyncio
from collections.abc import Sequence

from mirrord.db import feed_cursors
from mirrord.db.content import record_rows
from mirrord.db.content.record_rows import RecordText, UnanchoredPage
from mirrord.db.database import Connection
from mirrord.db.feed_cursors import Follower
from mirrord.documents.link_following import link_batch, process_changed
from mirrord.domain.entry import EntryId, TenantId
from mirrord.domain.place import RecordFormat
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.frontmatter.record_text import MAX_JSON_CHARACTERS, canonical_json, read_record
from mirrord.research.segments.segment import decode_segments, encode_segments
from mirrord.research.segments.segment_anchoring import anchor_segments
from mirrord.sync.observation.mirror_handles import DAEMON_ACTOR, Sides

_AnchoredTexts = list[tuple[UnanchoredPage, RecordText | None]]


async def anchor_batch(connection: Connection, tenant: TenantId) -> int:
    """Anchor one batch in the open transaction; return its number of entries."""
    return await process_changed(connection, tenant, Follower.SEGMENTS, _anchor_segments)


async def _anchor_segments(connection: Connection, tenant: TenantId, entries: Sequence[EntryId]) -> None:
    unanchored = await record_rows.load_unanchored(connection, tenant, entries)
    if unanchored:
        await record_rows.store_anchored(connection, tenant, await asyncio.to_thread(_anchor_texts, unanchored))


def _anchor_texts(unanchored: Sequence[UnanchoredPage]) -> _AnchoredTexts:
    return [(segment, _new_text_of(segment)) for segment in unanchored]


def _new_text_of(segment: UnanchoredPage) -> RecordText | None:
    """The record's new text; None if it does not change."""
    data = read_record(RecordFormat.JSON, segment.text)
    old_body = PageText(segment.old).body if segment.old is not None else None
    new_data = encode_segments(data, anchor_segments(decode_segments(data), old_body, PageText(segment.markdown).body))
    if new_data == data:
        return None
    text = canonical_json(new_data)
    return RecordText(text, read_record(RecordFormat.JSON, text)) if len(text) <= MAX_JSON_CHARACTERS else None


async def follow_batch(sides: Sides, unpublished: asyncio.Event | None = None) -> int:
    """
    Let links and segments follow one batch, in a transaction that checks the lease.

    Returns the larger of the two batch sizes: below cursors.FEED nothing is left. 0 without the lease.
    unpublished: set if there are changes to publish as events.
    """
    tenant = sides.tenant
    if sides.lease is None:
        return 0
    async with sides.database.transaction(tenant) as connection:
        is_behind, has_notes = await feed_cursors.has_waiting(connection, tenant)
    if has_notes and unpublished is not None:
        unpublished.set()
    if not is_behind:
        return 0
    async with sides.database.transaction(tenant, sides.fence, DAEMON_ACTOR) as connection:
        return max(await link_batch(connection, tenant), await anchor_batch(connection, tenant))
