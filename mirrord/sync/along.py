"""Deletions that follow another one: the segments of a deleted page do not count as losses of their own."""

from collections.abc import Sequence

from mirrord.db import states
from mirrord.domain.entry import EntryId, Kind, parse_id
from mirrord.domain.state import State
from mirrord.sync.decision import Decision
from mirrord.sync.sides import Sides


async def find_segments_deleted_with_page(sides: Sides, decisions: Sequence[Decision]) -> frozenset[EntryId]:
    """Select the segments among *decisions* whose page is deleted with them, or is gone from both sides."""
    pages = {
        decision.state.entry: page
        for decision in decisions
        if (page := _page_id_of_segment(decision.state)) is not None
    }
    if not pages:
        return frozenset()
    page_ids = list(set(pages.values()))
    async with sides.database.transaction(sides.tenant) as connection:
        selection = states.BaseKeys(entries=page_ids)
        bases, rows = await states.load_bases_and_rows(connection, sides.tenant, sides.mirror, selection, page_ids)
    ids_with_base = {base.entry for base in bases}
    deleted_ids = {decision.state.entry for decision in decisions}
    deleted_ids |= {page for page, row in rows.items() if row.deleted} - ids_with_base
    return frozenset(entry for entry, page in pages.items() if page in deleted_ids)


def _page_id_of_segment(state: State) -> EntryId | None:
    """The page of a segment record; None for other entries."""
    source = state.base or state.row
    if source is None or source.kind is not Kind.RECORD:
        return None
    kind, _, key = source.place.name.partition("/")
    return parse_id(key) if kind == "segment" else None
