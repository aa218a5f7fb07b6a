"""
Keeps the meanings of links true while pages come, go and are renamed.

Names follow the feed; a new or removed name makes the links with its key due, and due links are resolved. Links whose
target moved get another target in the text instead (`documents.link_moves`, `documents.link_rewriting`).
So the cost of a change depends on the number of links with its names, never on the number of pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.db.content import due_links, link_rows
from mirrord.db.database import Connection
from mirrord.db.feed_cursors import FeedBatch
from mirrord.documents.entry_names import names_of_entry
from mirrord.documents.link_moves import NameChange, Renamed, gather_moves, load_touched, note_new_targets
from mirrord.documents.link_resolution import resolve_due_links
from mirrord.domain.entry import EntryId, Kind, TenantId
from mirrord.domain.link_rule import LinkRule


@dataclass(frozen=True, slots=True)
class FollowedLinks:
    """
    count: links that were resolved; FEED_BATCH_ENTRIES or more: others are due.

    has_pending: texts are to get targets of links (`documents.link_rewriting`). unindexed_pages: pages whose words
    are left to be indexed, where that was asked.
    """

    count: int
    has_pending: bool
    unindexed_pages: int = 0


async def follow_links(connection: Connection, tenant: TenantId, batch: FeedBatch, rule: LinkRule) -> FollowedLinks:
    """Update the names of the changed entries of *batch*, and resolve links or note their new targets."""
    entries = batch.entries_for_links
    renamed = await _load_renamed(connection, tenant, entries) if entries else {}
    has_notes = bool(renamed) and await _replace_names(connection, tenant, renamed, rule)
    count = await resolve_due_links(connection, tenant) if batch.has_due_links or renamed else 0
    return FollowedLinks(count, has_notes or batch.has_pending_links)


async def _load_renamed(
    connection: Connection, tenant: TenantId, entries: Sequence[EntryId]
) -> dict[EntryId, NameChange]:
    """Those of *entries* that have other names now."""
    spots, known_names = await link_rows.load_places_and_names(connection, tenant, entries)
    new_names = {entry: names_of_entry(spots.get(entry), known_names[entry]) for entry in entries}
    return {
        entry: (known_names[entry], new_names[entry]) for entry in entries if new_names[entry] != known_names[entry]
    }


async def _replace_names(connection: Connection, tenant: TenantId, renamed: Renamed, rule: LinkRule) -> bool:
    """Store new names, and make links due that may have another target now; returns whether texts have to follow."""
    moves = await gather_moves(connection, tenant, renamed, rule)
    await link_rows.replace_names(connection, tenant, renamed, [name for _, new in renamed.values() for name in new])
    touched = await load_touched(connection, tenant, renamed)
    await due_links.mark_links_due(connection, tenant, touched.keys, touched.sources)
    folders = [entry for entry, (_, new) in renamed.items() if new and new[0].kind is Kind.FOLDER]
    if folders:
        await link_rows.clear_links_of_folders(connection, tenant, folders)
    return moves is not None and await note_new_targets(connection, tenant, moves)
