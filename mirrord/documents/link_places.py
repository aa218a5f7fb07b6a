"""Where the pages of links and their possible targets are, as the functions for the meaning of links take them."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from mirrord.db.content import dialect_rows, link_rows
from mirrord.db.content.link_rows import LinkName
from mirrord.db.database import Connection
from mirrord.documents.entry_names import load_current_names
from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import EntryId, Kind, Place, TenantId
from mirrord.domain.link_meaning import Candidate, LinkMeaning, Origin, Path, resolve_link, target_key
from mirrord.mirror.tree.tree_layout import attachment_path
from mirrord.sync.writing.target_paths import path_in

Parents = Mapping[EntryId, tuple[EntryId | None, str]]


async def load_origins(connection: Connection, tenant: TenantId, sources: Iterable[EntryId]) -> dict[EntryId, Origin]:
    """The pages *sources* as origins of their links."""
    spots = await link_rows.load_places(connection, tenant, sources)
    parents = await link_rows.load_parents(connection, tenant, [spot.place.parent for spot in spots.values()])
    return {
        entry: Origin(entry, _path_above(spot.place.parent, parents) + ((spot.place.name,) if spot.place.index else ()))
        for entry, spot in spots.items()
    }


async def load_candidates(
    connection: Connection, tenant: TenantId, keys: Iterable[str], *, as_named: bool = False
) -> dict[str, list[Candidate]]:
    """The possible targets of links with *keys*, by key. as_named: see `link_rows.load_parents`."""
    return await _place_candidates(
        connection, tenant, await link_rows.load_names_with(connection, tenant, keys), as_named=as_named
    )


async def _place_candidates(
    connection: Connection, tenant: TenantId, names: Sequence[LinkName], *, as_named: bool = False
) -> dict[str, list[Candidate]]:
    folders = [name.parent for name in names]
    parents = await link_rows.load_parents(connection, tenant, folders, as_named=as_named)
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


async def load_named_paths(connection: Connection, tenant: TenantId, entries: Iterable[EntryId]) -> dict[EntryId, str]:
    """As paths_of(), as of link_cursor; entries that live no more are left out."""
    names = [name for name in await link_rows.load_names_of(connection, tenant, entries) if name.number == 0]
    folders = [name.parent for name in names]
    parents = await link_rows.load_parents(connection, tenant, folders, as_named=True)
    return {
        name.entry: path_in(
            "/".join(_path_above(name.parent, parents)), name.kind, Place(name.parent, name.name, name.index)
        )
        for name in names
    }


async def load_named_origins(
    connection: Connection, tenant: TenantId, sources: Collection[EntryId], dialect: Dialect
) -> dict[EntryId, Origin]:
    """As load_origins(), as of link_cursor; pages that have no names yet as they are. dialect: of the tenant."""
    paths = await load_named_paths(connection, tenant, sources)
    origins = {entry: Origin(entry, tuple(path.split("/")[:-1])) for entry, path in paths.items()}
    nameless = [entry for entry in sources if entry not in origins]
    origins |= await load_origins(connection, tenant, nameless) if nameless else {}
    return {entry: replace(origin, dialect=dialect) for entry, origin in origins.items()}


async def meaning_of(
    connection: Connection,
    tenant: TenantId,
    source: EntryId,
    kind: str,
    target: str,
    unfollowed: Collection[EntryId] = frozenset(),
) -> LinkMeaning:
    """
    The target that a link in the page *source* would have now.

    unfollowed: entries that changed since link_cursor, which are known by the names they have now.
    """
    origins = await load_origins(connection, tenant, [source])
    if source not in origins or "\0" in target:
        return LinkMeaning(None)
    origin = replace(origins[source], dialect=await dialect_rows.load_dialect(connection, tenant))
    key = target_key(kind, target, origin)
    names = await _load_names_of_now(connection, tenant, key, unfollowed) if key is not None else []
    candidates = await _place_candidates(connection, tenant, names)
    return resolve_link(kind, target, origin, candidates.get(key or "", ()))


async def _load_names_of_now(
    connection: Connection, tenant: TenantId, key: str, unfollowed: Collection[EntryId]
) -> list[LinkName]:
    """The names with *key*: those of *unfollowed* as they are now, those of others as they are stored."""
    stored_names = await link_rows.load_names_with(connection, tenant, [key])
    current_names = await load_current_names(connection, tenant, unfollowed) if unfollowed else []
    names = [name for name in stored_names if name.entry not in unfollowed]
    return sorted(
        [*names, *(name for name in current_names if name.key == key)], key=lambda name: (name.entry, name.number)
    )
