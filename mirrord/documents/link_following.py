"""
Keeps the meanings of links true while pages come, go and are renamed.

Names follow the feed; a new or removed name makes the links with its key due, and due links are resolved.
So the cost of a change depends on the number of links with its names, never on the number of pages.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from mirrord.db.content import link_rows
from mirrord.db.content.link_rows import DueLink, EntryPlace, LinkName
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId, Kind, TenantId
from mirrord.domain.link_meaning import (
    Candidate,
    LinkMeaning,
    NameKind,
    Origin,
    Path,
    key_of,
    names_of_page,
    resolve_link,
    target_key,
)
from mirrord.mirror.tree.tree_layout import attachment_path
from mirrord.sync.writing.target_paths import path_in

_NameChange = tuple[list[LinkName], list[LinkName]]  # an entry's names before and after
Parents = Mapping[EntryId, tuple[EntryId | None, str]]


async def follow_links(
    connection: Connection, tenant: TenantId, entries: Sequence[EntryId], *, has_due_links: bool
) -> int:
    """
    Update the names of changed *entries*, and resolve due links, in the open transaction; returns the number of links.

    has_due_links: whether links were due before.
    """
    renames = bool(entries) and await _update_names(connection, tenant, entries)
    return await _resolve_due(connection, tenant) if has_due_links or renames else 0


async def _update_names(connection: Connection, tenant: TenantId, entries: Sequence[EntryId]) -> bool:
    """Update the names of *entries*, and make links due that may have another target now; whether names changed."""
    known_names = defaultdict[EntryId, list[LinkName]](list)
    spots, names = await link_rows.load_places_and_names(connection, tenant, entries)
    for name in names:
        known_names[name.entry].append(name)
    new_names = {entry: _names_of(spots.get(entry), known_names[entry]) for entry in entries}
    renamed = {
        entry: (known_names[entry], new_names[entry]) for entry in entries if new_names[entry] != known_names[entry]
    }
    if renamed:
        await _replace_names(connection, tenant, renamed)
    return bool(renamed)


async def _replace_names(connection: Connection, tenant: TenantId, renamed: Mapping[EntryId, _NameChange]) -> None:
    await link_rows.replace_names(connection, tenant, renamed, [name for _, new in renamed.values() for name in new])
    keys = {name.key for old, new in renamed.values() for name in (*old, *new)}
    placed = [entry for entry, (old, new) in renamed.items() if _place_of(old) != _place_of(new)]
    moved = [entry for entry in placed if _moves_content(*renamed[entry])]
    names_below = await _load_names_below(connection, tenant, moved)
    keys |= {name.key for name in names_below}
    await link_rows.mark_links_due(connection, tenant, keys, {*placed, *(name.entry for name in names_below)})
    folders = [entry for entry, (_, new) in renamed.items() if new and new[0].kind is Kind.FOLDER]
    if folders:
        await link_rows.clear_links_of_folders(connection, tenant, folders)


def _names_of(spot: EntryPlace | None, known_names: list[LinkName]) -> list[LinkName]:
    """The names of an entry. A living entry that is not placed yet keeps its known names."""
    if spot is None or spot.deleted:
        return []
    if not spot.is_placed:
        return known_names
    place = spot.place
    has_views = spot.kind is not Kind.ATTACHMENT
    called_names = names_of_page(place.name, spot.title, spot.aliases) if has_views else [(NameKind.NAME, place.name)]
    return [
        LinkName(spot.entry, number, spot.kind, place.parent, place.index, form, name, key_of(name))
        for number, (form, name) in enumerate(called_names)
    ]


def _place_of(names: Sequence[LinkName]) -> tuple[EntryId | None, str, bool] | None:
    return (names[0].parent, names[0].name, names[0].index) if names else None


def _moves_content(old: Sequence[LinkName], new: Sequence[LinkName]) -> bool:
    """Whether the content below an entry has another path now; a new index file alone changes no path."""
    return bool(old and new) and (old[0].parent, old[0].name) != (new[0].parent, new[0].name)


async def _load_names_below(connection: Connection, tenant: TenantId, moved: Sequence[EntryId]) -> list[LinkName]:
    """The names of *moved* and of everything below: paths to and from them have changed."""
    if not moved:
        return []
    below = await link_rows.load_descendants(connection, tenant, moved)
    return await link_rows.load_names_of(connection, tenant, below)


async def _resolve_due(connection: Connection, tenant: TenantId) -> int:
    """Resolve links that are due."""
    due = await link_rows.load_due_links(connection, tenant)
    if not due:
        return 0
    origins = await _load_origins(connection, tenant, {link.source for link in due})
    keyed = [(link, target_key(link.kind, link.target, origins[link.source])) for link in due]
    candidates = await _load_candidates(connection, tenant, {key for _, key in keyed if key is not None})
    await link_rows.store_targets(connection, tenant, await asyncio.to_thread(_resolve_all, keyed, origins, candidates))
    return len(due)


async def _load_origins(connection: Connection, tenant: TenantId, sources: Iterable[EntryId]) -> dict[EntryId, Origin]:
    spots = await link_rows.load_places(connection, tenant, sources)
    parents = await link_rows.load_parents(connection, tenant, [spot.place.parent for spot in spots.values()])
    return {
        entry: Origin(entry, _path_above(spot.place.parent, parents) + ((spot.place.name,) if spot.place.index else ()))
        for entry, spot in spots.items()
    }


async def _load_candidates(connection: Connection, tenant: TenantId, keys: Iterable[str]) -> dict[str, list[Candidate]]:
    names = await link_rows.load_names_with(connection, tenant, keys)
    parents = await link_rows.load_parents(connection, tenant, [name.parent for name in names])
    candidates = defaultdict[str, list[Candidate]](list)
    for name in names:
        path = _path_above(name.parent, parents) + _own_path(name)
        candidates[name.key].append(Candidate(name.entry, name.kind, path, name.name_kind, name.name))
    return candidates


def _own_path(name: LinkName) -> Path:
    """The end of an entry's path below its parent. For a page known by its title, only the path above it counts."""
    if name.kind is Kind.ATTACHMENT:
        return tuple(attachment_path("", name.name).split("/"))
    return (name.name,)


def _path_above(parent: EntryId | None, parents: Parents) -> Path:
    """The names from the root down to *parent*."""
    names: list[str] = []
    while parent is not None and parent in parents:
        parent, name = parents[parent]
        names.append(name)
    return tuple(reversed(names))


async def paths_of(connection: Connection, tenant: TenantId, entries: Iterable[EntryId]) -> dict[EntryId, str]:
    """The path of the file of each of *entries* in a tree."""
    spots = await link_rows.load_places(connection, tenant, entries)
    parents = await link_rows.load_parents(connection, tenant, [spot.place.parent for spot in spots.values()])
    return {
        entry: path_in("/".join(_path_above(spot.place.parent, parents)), spot.kind, spot.place)
        for entry, spot in spots.items()
    }


async def meaning_of(connection: Connection, tenant: TenantId, source: EntryId, kind: str, target: str) -> LinkMeaning:
    """The target that a link in the page *source* would have now."""
    origins = await _load_origins(connection, tenant, [source])
    if source not in origins or "\0" in target:
        return LinkMeaning(None)
    key = target_key(kind, target, origins[source])
    candidates = await _load_candidates(connection, tenant, [key]) if key is not None else {}
    return resolve_link(kind, target, origins[source], candidates.get(key or "", ()))


def _resolve_all(
    keyed: Sequence[tuple[DueLink, str | None]],
    origins: Mapping[EntryId, Origin],
    candidates: Mapping[str, Sequence[Candidate]],
) -> list[tuple[DueLink, str | None, LinkMeaning]]:
    return [
        (link, key, resolve_link(link.kind, link.target, origins[link.source], candidates.get(key or "", ())))
        for link, key in keyed
    ]
