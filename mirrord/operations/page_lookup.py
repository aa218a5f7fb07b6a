"""Which page a person means by what they typed, and where folders are."""

from collections.abc import Iterable, Sequence

from mirrord.db.content import entry_edits, link_rows
from mirrord.db.database import Connection
from mirrord.documents.link_following import paths_of
from mirrord.domain.entry import EntryId, Kind, TenantId, parse_id
from mirrord.domain.place import INDEX
from mirrord.errors import UserError
from mirrord.mirror.tree.tree_layout import SUFFIX


async def directories_of(
    connection: Connection, tenant: TenantId, folders: Iterable[EntryId | None]
) -> dict[EntryId | None, str]:
    """The directory that holds the children of each of *folders*; "" for None, the root."""
    folder_ids = {folder for folder in folders if folder is not None}
    paths = await paths_of(connection, tenant, folder_ids)
    return {None: ""} | {folder: _stem_of(path) for folder, path in paths.items()}


async def find_page(connection: Connection, tenant: TenantId, text: str) -> EntryId:
    """
    Find a page by its id, path (`.md` may be left out) or title; deleted and renamed pages too.

    Raises UserError if there is none, or several.
    """
    if (page_id := parse_id(text)) is not None:
        spot = (await link_rows.load_places(connection, tenant, [page_id])).get(page_id)
        if spot is None or spot.kind is Kind.ATTACHMENT:
            raise UserError(f"No page has the id {text}.")
        return page_id
    path = _stem_of(text.strip("/"))
    name = path.rpartition("/")[2]
    candidates = await entry_edits.find_by_name(connection, tenant, name)
    paths = await paths_of(connection, tenant, candidates)
    at_path = [entry for entry in candidates if _stem_of(paths[entry]) == path][:1]  # a living page comes first
    titled = await entry_edits.find_by_title(connection, tenant, text)
    spots = await link_rows.load_places(connection, tenant, [*at_path, *titled])
    alive = [[entry for entry in matches if not spots[entry].deleted] for matches in (at_path, titled)]
    for matches in (*alive, at_path, titled, await entry_edits.find_by_former_name(connection, tenant, name)):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise UserError(await _choice_sentence(connection, tenant, text, matches))
    raise UserError(f"No page has the path, title or id {text!r}. `mirrord check --all` lists the paths.")


async def _choice_sentence(connection: Connection, tenant: TenantId, name: str, matches: Sequence[EntryId]) -> str:
    paths = await paths_of(connection, tenant, matches)
    listed = "; ".join(f"{paths[entry]} ({entry})" for entry in matches[:10])
    return f"{name!r} may be any of {len(matches)} pages; say which by its path or id: {listed}"


def _stem_of(path: str) -> str:
    """A page's path as people may write it: without `.md`, without `/_index`."""
    return path.removesuffix(SUFFIX).removesuffix(f"/{INDEX}")
