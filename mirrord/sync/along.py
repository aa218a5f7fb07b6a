"""Deletions that follow another: the segments of a page that goes are no loss of their own."""

from collections.abc import Sequence

from mirrord.db import states
from mirrord.domain.entry import EntryId, Kind, parse_id
from mirrord.domain.state import State
from mirrord.sync.decision import Decision
from mirrord.sync.sides import Sides


async def following(sides: Sides, gone: Sequence[Decision]) -> frozenset[EntryId]:
    """Those of the entries *gone* that are segments of a page that goes with them, or is gone from both sides."""
    pages = {one.state.entry: page for one in gone if (page := _page_of(one.state)) is not None}
    if not pages:
        return frozenset()
    asked = list(set(pages.values()))
    async with sides.database.transaction(sides.tenant) as connection:
        wanted = states.Wanted(entries=asked)
        bases, rows = await states.load_both(connection, sides.tenant, sides.mirror, wanted, asked)
    agreed = {base.entry for base in bases}
    going = {one.state.entry for one in gone} | {page for page, row in rows.items() if row.deleted} - agreed
    return frozenset(entry for entry, page in pages.items() if page in going)


def _page_of(state: State) -> EntryId | None:
    """The page whose segments this is; None: it is something else."""
    known = state.base or state.row
    if known is None or known.kind is not Kind.RECORD:
        return None
    kind, _, key = known.place.name.partition("/")
    return parse_id(key) if kind == "segment" else None
