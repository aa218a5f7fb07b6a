"""Restore an earlier version of a page as its newest: an ordinary write of the row, undone in the same way."""

from dataclasses import dataclass

import psycopg

from mirrord.db import entries, revisions
from mirrord.db.connect import Connection, Database, set_parents
from mirrord.db.entries import CurrentEntry
from mirrord.db.revisions import Revision
from mirrord.domain.entry import Actor, EntryId, Place, TenantId
from mirrord.errors import Refused, Stale, UserError
from mirrord.sync.bodies import text_of


@dataclass(frozen=True, slots=True)
class Restored:
    """The result. version: of the page now; revived: it was deleted; changed False: it was like this already."""

    version: int
    revived: bool
    changed: bool


async def restore(
    database: Database, tenant: TenantId, page: EntryId, version: int, actor: Actor, *, with_place: bool
) -> Restored:
    """
    Give *page* the text of *version*; a deleted page lives again. with_place: also give it its place of that version.

    Raises:
        UserError: there is no such version.
        Refused: the version had no text, or the page cannot be where it was.
        Stale: the page changed meanwhile; nothing was written.
    """
    async with database.transaction(tenant) as connection:
        current = (await entries.load_entries(connection, tenant, [page])).get(page)
        then = await _load_revision(connection, tenant, page, version)
        text = await revisions.load_text(connection, tenant, page, version)
    if current is None or then is None:
        raise UserError(f"There is no version {version} of it; `mirrord history` lists the versions.")
    if text is None:
        raise Refused(f"Version {version} has no text: it was a folder then, or its text was never rendered.")
    target = Place(then.parent, then.name) if with_place else current.place
    if not _differs(current, text, target):
        return Restored(current.version, revived=False, changed=False)
    return Restored(await _write_version(database, tenant, current, then, text, target, actor), current.deleted, True)


async def _load_revision(connection: Connection, tenant: TenantId, page: EntryId, version: int) -> Revision | None:
    history = await revisions.load_history(connection, tenant, page)
    return next((revision for revision in history if revision.version == version), None)


def _differs(current: CurrentEntry, text: str, target: Place) -> bool:
    moves = (current.place.parent, current.place.name) != (target.parent, target.name)
    return moves or current.deleted or current.is_unrendered or current.text != text


async def _write_version(
    database: Database, tenant: TenantId, current: CurrentEntry, then: Revision, text: str, target: Place, actor: Actor
) -> int:
    try:
        async with database.transaction(tenant, actor=actor) as connection:
            await set_parents(connection, [current.version, then.version])
            written = await entries.write_text(connection, tenant, current, text_of(text), target)
            if written is None:
                raise Stale("The page was changed at this moment; look at it, then try again.")
            return written
    except psycopg.errors.CheckViolation as error:
        raise Refused(f"The page cannot be where it was: {error.diag.message_primary}.") from error
    except psycopg.errors.ForeignKeyViolation as error:
        raise Refused("The page cannot be where it was: the folder it was in is gone for good.") from error
