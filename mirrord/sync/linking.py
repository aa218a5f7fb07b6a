"""What links mean, kept true while pages come, go and change their names.

Names follow the feed; a name that came or went makes the links with its key due, and due links are looked up.
So the cost of a change depends on how many links may mean it, never on how many pages there are.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from mirrord.db import links
from mirrord.db.connect import Connection
from mirrord.db.cursors import Follower
from mirrord.db.links import Due, Name, Spot
from mirrord.domain.entry import EntryId, Kind, TenantId
from mirrord.domain.linking import Called, Candidate, Found, Origin, Path, called, key_of, resolve, target_key
from mirrord.mirror.layout import attachment_path
from mirrord.sync.changed import look_at_changed
from mirrord.sync.paths import path_in

_Change = tuple[list[Name], list[Name]]  # an entry's names before and after
Parents = Mapping[EntryId, tuple[EntryId | None, str]]


async def link_batch(connection: Connection, tenant: TenantId) -> int:
    """Notice and resolve one batch in the open transaction; how many entries and links it held."""
    noticed = await look_at_changed(connection, tenant, Follower.LINKS, _notice)
    return noticed + await _look_up(connection, tenant)


async def _notice(connection: Connection, tenant: TenantId, entries: Sequence[EntryId]) -> None:
    """Learn the names of *entries*, and make the links due that may mean something else now."""
    known, spots = defaultdict[EntryId, list[Name]](list), await links.load_spots(connection, tenant, entries)
    for name in await links.names_of(connection, tenant, entries):
        known[name.entry].append(name)
    fresh = {entry: _names(spots.get(entry), known[entry]) for entry in entries}
    renamed = {entry: (known[entry], fresh[entry]) for entry in entries if fresh[entry] != known[entry]}
    if renamed:
        await _rename(connection, tenant, renamed)


async def _rename(connection: Connection, tenant: TenantId, renamed: Mapping[EntryId, _Change]) -> None:
    await links.replace_names(connection, tenant, renamed, [name for _, new in renamed.values() for name in new])
    keys = {name.key for old, new in renamed.values() for name in (*old, *new)}
    placed = [entry for entry, (old, new) in renamed.items() if _place(old) != _place(new)]
    moved = [entry for entry in placed if _carries_along(*renamed[entry])]
    below = await _moved_along(connection, tenant, moved)
    keys |= {name.key for name in below}
    await links.mark_due(connection, tenant, keys, {*placed, *(name.entry for name in below)})
    folders = [entry for entry, (_, new) in renamed.items() if new and new[0].kind is Kind.FOLDER]
    if folders:
        await links.clear(connection, tenant, folders)


def _names(spot: Spot | None, known: list[Name]) -> list[Name]:
    """The names of an entry. A living one that is about to be placed keeps those it had."""
    if spot is None or spot.deleted:
        return []
    if not spot.placed:
        return known
    place = spot.place
    has_views = spot.kind is not Kind.ATTACHMENT
    said = called(place.name, spot.title, spot.aliases) if has_views else [(Called.NAME, place.name)]
    return [
        Name(spot.entry, number, spot.kind, place.parent, place.index, sort, name, key_of(name))
        for number, (sort, name) in enumerate(said)
    ]


def _place(names: Sequence[Name]) -> tuple[EntryId | None, str, bool] | None:
    return (names[0].parent, names[0].name, names[0].index) if names else None


def _carries_along(old: Sequence[Name], new: Sequence[Name]) -> bool:
    """Whether what is below an entry has another path now; a new index file alone changes none."""
    return bool(old and new) and (old[0].parent, old[0].name) != (new[0].parent, new[0].name)


async def _moved_along(connection: Connection, tenant: TenantId, moved: Sequence[EntryId]) -> list[Name]:
    """The names of *moved* and of all below: paths to and from there are others now."""
    if not moved:
        return []
    below = await links.load_below(connection, tenant, moved)
    return await links.names_of(connection, tenant, below)


async def _look_up(connection: Connection, tenant: TenantId) -> int:
    """Resolve links that are due."""
    due = await links.load_due(connection, tenant)
    if not due:
        return 0
    origins = await _origins(connection, tenant, {link.source for link in due})
    keyed = [(link, target_key(link.kind, link.target, origins[link.source])) for link in due]
    candidates = await _candidates(connection, tenant, {key for _, key in keyed if key is not None})
    await links.settle(connection, tenant, await asyncio.to_thread(_decide, keyed, origins, candidates))
    return len(due)


async def _origins(connection: Connection, tenant: TenantId, sources: Iterable[EntryId]) -> dict[EntryId, Origin]:
    spots = await links.load_spots(connection, tenant, sources)
    parents = await links.load_parents(connection, tenant, [spot.place.parent for spot in spots.values()])
    return {
        entry: Origin(entry, _above(spot.place.parent, parents) + ((spot.place.name,) if spot.place.index else ()))
        for entry, spot in spots.items()
    }


async def _candidates(connection: Connection, tenant: TenantId, keys: Iterable[str]) -> dict[str, list[Candidate]]:
    names = await links.names_with(connection, tenant, keys)
    parents = await links.load_parents(connection, tenant, [name.parent for name in names])
    found = defaultdict[str, list[Candidate]](list)
    for name in names:
        path = _above(name.parent, parents) + _own(name)
        found[name.key].append(Candidate(name.entry, name.kind, path, name.called, name.name))
    return found


def _own(name: Name) -> Path:
    """The end of an entry's path below its parent. Of a page known by its title only the path above it counts."""
    if name.kind is Kind.ATTACHMENT:
        return tuple(attachment_path("", name.name).split("/"))
    return (name.name,)


def _above(parent: EntryId | None, parents: Parents) -> Path:
    """The names from the root down to *parent*."""
    names: list[str] = []
    while parent is not None and parent in parents:
        parent, name = parents[parent]
        names.append(name)
    return tuple(reversed(names))


async def paths_of(connection: Connection, tenant: TenantId, entries: Iterable[EntryId]) -> dict[EntryId, str]:
    """The path of the file of each of *entries* in a tree."""
    spots = await links.load_spots(connection, tenant, entries)
    parents = await links.load_parents(connection, tenant, [spot.place.parent for spot in spots.values()])
    return {
        entry: path_in("/".join(_above(spot.place.parent, parents)), spot.kind, spot.place)
        for entry, spot in spots.items()
    }


async def meaning_of(connection: Connection, tenant: TenantId, source: EntryId, kind: str, target: str) -> Found:
    """What a link would mean that stood in the page *source* now."""
    origins = await _origins(connection, tenant, [source])
    if source not in origins or "\0" in target:
        return Found(None)
    key = target_key(kind, target, origins[source])
    candidates = await _candidates(connection, tenant, [key]) if key is not None else {}
    return resolve(kind, target, origins[source], candidates.get(key or "", ()))


def _decide(
    keyed: Sequence[tuple[Due, str | None]],
    origins: Mapping[EntryId, Origin],
    candidates: Mapping[str, Sequence[Candidate]],
) -> list[tuple[Due, str | None, Found]]:
    return [
        (link, key, resolve(link.kind, link.target, origins[link.source], candidates.get(key or "", ())))
        for link, key in keyed
    ]
