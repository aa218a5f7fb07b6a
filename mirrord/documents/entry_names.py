"""The names by which links find an entry."""

from collections.abc import Collection
from dataclasses import replace

from mirrord.db.content import link_rows
from mirrord.db.content.link_rows import EntryPlace, LinkName
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, Kind, TenantId
from mirrord.domain.link_meaning import NameKind, key_of, names_of_page
from mirrord.markdown.logseq_names import names_in_logseq


async def load_current_names(connection: Connection, tenant: TenantId, entries: Collection[EntryId]) -> list[LinkName]:
    """
    The names that *entries* have now, whether links follow them already or not.

    A page that an app has just made, and that has no file yet, has the name that it is to get.
    """
    spots, stored_names = await link_rows.load_places_and_names(connection, tenant, entries)
    placed = {
        entry: replace(spot, is_placed=True) if spot.place.name and not stored_names[entry] else spot
        for entry, spot in spots.items()
    }
    return [name for entry in entries for name in names_of_entry(placed.get(entry), stored_names[entry])]


def names_of_entry(spot: EntryPlace | None, known_names: list[LinkName]) -> list[LinkName]:
    """The names of an entry. A living entry that is not placed yet keeps its known names."""
    if spot is None or spot.deleted:
        return []
    if not spot.is_placed:
        return known_names
    place = spot.place
    has_views = spot.kind is not Kind.ATTACHMENT
    further = names_in_logseq(place.name, spot.beginning, spot.days) if spot.beginning is not None else ()
    called_names = [(NameKind.NAME, place.name)]
    if has_views:
        called_names = names_of_page(place.name, spot.title, spot.aliases, further)
    return [
        LinkName(spot.entry, number, spot.kind, place.parent, place.index, form, name, key_of(name))
        for number, (form, name) in enumerate(called_names)
    ]
