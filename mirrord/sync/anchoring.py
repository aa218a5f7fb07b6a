"""
Segments follow the text: when a page or its segments changed, these are held against each other.

As with links the feed says where to look. What comes of it is written into the record's row as any change is, over the
version it was made from, so that files and other mirrors follow; the same everywhere, so that two daemons never differ.
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

_Anchored = list[tuple[Unanchored, RecordText | None]]


async def anchor_batch(connection: Connection, tenant: TenantId) -> int:
    """Look at one batch in the open transaction; how many entries it held."""
    return await look_at_changed(connection, tenant, Follower.SEGMENTS, _anchor)


async def _anchor(connection: Connection, tenant: TenantId, entries: Sequence[EntryId]) -> None:
    found = await segments.load_unanchored(connection, tenant, entries)
    if found:
        await segments.store(connection, tenant, await asyncio.to_thread(_anchored, found))


def _anchored(found: Sequence[Unanchored]) -> _Anchored:
    return [(one, _text(one)) for one in found]


def _text(one: Unanchored) -> RecordText | None:
    """The record's new text; None: it stays."""
    data = read(Form.JSON, one.text)
    old = split(one.old).body if one.old is not None else None
    new = encoded(data, anchored(decoded(data), old, split(one.markdown).body))
    if new == data:
        return None
    text = canonical(new)
    return RecordText(text, read(Form.JSON, text)) if len(text) <= MAX_JSON else None
