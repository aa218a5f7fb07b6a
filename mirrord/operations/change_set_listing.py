"""The change sets of one agent, the newest first, as rows know them: also those that a connection made by itself."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from mirrord.db import change_set_rows
from mirrord.db.change_set_rows import ChangeSet, Position
from mirrord.db.content import undo_rows
from mirrord.db.database import Connection
from mirrord.documents.link_places import paths_of
from mirrord.domain.entry import Actor, TenantId
from mirrord.domain.scope import Scope
from mirrord.errors import UserError
from mirrord.operations.scoped_history import load_scoped_history

MAX_LISTED = 20  # change sets in one answer
MAX_LOOKED = 200  # change sets that are looked at within a scope, each with questions of its own


@dataclass(frozen=True, slots=True)
class ListedChangeSet:
    """
    A change set. pages: the number of entries that it changed; None: within a scope, which sees only some of them.

    title: None within a scope, unless it is made of names of programs and times: an agent wrote it elsewhere.
    """

    change_set: ChangeSet
    pages: int | None
    title: str | None


async def list_own(
    connection: Connection, tenant: TenantId, actor: Actor, scope: Scope, position: Position
) -> tuple[Sequence[ListedChangeSet], bool]:
    """The change sets of *actor* of which *scope* shows anything, after a position; and whether more follow."""
    if scope.is_unlimited:
        loaded = await change_set_rows.load_of_actor(connection, tenant, actor, position, MAX_LISTED + 1)
        ids = [change_set.id for change_set in loaded[:MAX_LISTED]]
        counts = await change_set_rows.count_entries(connection, tenant, ids)
        listed = [ListedChangeSet(row, counts.get(row.id, 0), row.title) for row in loaded[:MAX_LISTED]]
        return listed, len(loaded) > MAX_LISTED
    visible = list[ListedChangeSet]()
    for row in await change_set_rows.load_of_actor(connection, tenant, actor, position, MAX_LOOKED):
        if await _shows(connection, tenant, row.id, scope):
            visible.append(ListedChangeSet(row, None, row.title if row.kind == "connection" else None))
        if len(visible) > MAX_LISTED:
            return visible[:MAX_LISTED], True
    return visible, False


async def _shows(connection: Connection, tenant: TenantId, change_set: UUID, scope: Scope) -> bool:
    """Whether *scope* shows a version of a page that the change set made."""
    chosen = (await undo_rows.load_of_change_set(connection, tenant, change_set)).get("page", {})
    paths = await paths_of(connection, tenant, chosen)
    for page, versions in chosen.items():
        if scope.can_read(paths[page]) and await _shows_version(connection, tenant, paths[page], versions, scope):
            return True
    return False


async def _shows_version(
    connection: Connection, tenant: TenantId, path: str, versions: Collection[int], scope: Scope
) -> bool:
    try:
        history = await load_scoped_history(connection, tenant, path, scope)
    except UserError:
        return False
    return any(revision.version in versions for revision in history.revisions)
