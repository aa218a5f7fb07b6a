"""Which page a person means, and the path of the file of an entry, told from the rows."""

from collections.abc import Iterable, Mapping, Sequence

from mirrord.db import entries as rows
from mirrord.db.connect import Connection
from mirrord.db.entries import Spot
from mirrord.domain.entry import EntryId, Kind, Place, TenantId, parse_id
from mirrord.domain.place import INDEX
from mirrord.errors import UserError
from mirrord.mirror.layout import SUFFIX
from mirrord.sync.paths import path_in

DEEPEST = 256  # folders


async def paths_of(connection: Connection, tenant: TenantId, entries: Iterable[EntryId]) -> dict[EntryId, str]:
    """The path of the file of each of *entries* in a tree, or where it was when the row was deleted."""
    wanted = set(entries)
    spots = await rows.load_spots(connection, tenant, wanted)
    known = dict(spots)
    for _ in range(DEEPEST):
        above = {spot.parent for spot in known.values() if spot.parent is not None} - known.keys()
        if not above:
            break
        found = await rows.load_spots(connection, tenant, above)
        known |= found
        if not found:
            break
    return {
        entry: path_in(directory(spot.parent, known), spot.kind, Place(spot.parent, spot.name, spot.index))
        for entry, spot in spots.items()
    }


async def directories_of(
    connection: Connection, tenant: TenantId, folders: Iterable[EntryId | None]
) -> dict[EntryId | None, str]:
    """The directory that holds the children of each of *folders*; "" for None, the root."""
    wanted = {folder for folder in folders if folder is not None}
    paths = await paths_of(connection, tenant, wanted)
    return {None: ""} | {folder: _stem(path) for folder, path in paths.items()}


def directory(folder: EntryId | None, spots: Mapping[EntryId, Spot]) -> str:
    """The directory of what hangs below *folder*, as far up as it is known."""
    names: list[str] = []
    while folder is not None and folder in spots and len(names) < DEEPEST:
        names.append(spots[folder].name)
        folder = spots[folder].parent
    return "/".join(reversed(names))


async def find_page(connection: Connection, tenant: TenantId, said: str) -> EntryId:
    """
    The page somebody means by an id, a path (`.md` may be left out) or a title; deleted and renamed pages too.

    Raises UserError if there is none, or a choice is needed.
    """
    if (named := parse_id(said)) is not None:
        if (
            spot := (await rows.load_spots(connection, tenant, [named])).get(named)
        ) and spot.kind is not Kind.ATTACHMENT:
            return named
        raise UserError(f"No page has the id {said}.")
    path = _stem(said.strip("/"))
    name = path.rpartition("/")[2]
    candidates = await rows.named(connection, tenant, name)
    paths = await paths_of(connection, tenant, candidates)
    at_path = [entry for entry in candidates if _stem(paths[entry]) == path][:1]  # one may live, and then it is first
    titled = await rows.titled(connection, tenant, said)
    spots = await rows.load_spots(connection, tenant, [*at_path, *titled])
    alive = [[entry for entry in found if not spots[entry].deleted] for found in (at_path, titled)]
    for found in (*alive, at_path, titled, await rows.once_named(connection, tenant, name)):
        if len(found) == 1:
            return found[0]
        if found:
            raise UserError(await _choice(connection, tenant, said, found))
    raise UserError(f"No page has the path, title or id {said!r}. `mirrord check --all` lists the paths.")


async def _choice(connection: Connection, tenant: TenantId, said: str, found: Sequence[EntryId]) -> str:
    paths = await paths_of(connection, tenant, found)
    listed = "; ".join(f"{paths[entry]} ({entry})" for entry in found[:10])
    return f"{said!r} may be any of {len(found)} pages; say which by its path or id: {listed}"


def _stem(path: str) -> str:
    """A page's path as people may write it: without `.md`, without `/_index`."""
    return path.removesuffix(SUFFIX).removesuffix(f"/{INDEX}")
