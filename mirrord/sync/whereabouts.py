"""Which page a person means by what they say, and where folders are."""

from collections.abc import Iterable, Sequence

from mirrord.db import entries, links
from mirrord.db.connect import Connection
from mirrord.domain.entry import EntryId, Kind, TenantId, parse_id
from mirrord.domain.place import INDEX
from mirrord.errors import UserError
from mirrord.mirror.layout import SUFFIX
from mirrord.sync.linking import paths_of


async def directories_of(
    connection: Connection, tenant: TenantId, folders: Iterable[EntryId | None]
) -> dict[EntryId | None, str]:
    """The directory that holds the children of each of *folders*; "" for None, the root."""
    wanted = {folder for folder in folders if folder is not None}
    paths = await paths_of(connection, tenant, wanted)
    return {None: ""} | {folder: _stem(path) for folder, path in paths.items()}


async def find_page(connection: Connection, tenant: TenantId, said: str) -> EntryId:
    """
    The page somebody means by an id, a path (`.md` may be left out) or a title; deleted and renamed pages too.

    Raises UserError if there is none, or a choice is needed.
    """
    if (named := parse_id(said)) is not None:
        spot = (await links.load_spots(connection, tenant, [named])).get(named)
        if spot is None or spot.kind is Kind.ATTACHMENT:
            raise UserError(f"No page has the id {said}.")
        return named
    path = _stem(said.strip("/"))
    name = path.rpartition("/")[2]
    candidates = await entries.named(connection, tenant, name)
    paths = await paths_of(connection, tenant, candidates)
    at_path = [entry for entry in candidates if _stem(paths[entry]) == path][:1]  # one may live, and then it is first
    titled = await entries.titled(connection, tenant, said)
    spots = await links.load_spots(connection, tenant, [*at_path, *titled])
    alive = [[entry for entry in found if not spots[entry].deleted] for found in (at_path, titled)]
    for found in (*alive, at_path, titled, await entries.once_named(connection, tenant, name)):
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
