"""A whole tenant as it was at a moment: planned first, then made so, every change an ordinary new version."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mirrord.db import restores
from mirrord.db.connect import Connection, Database, set_no_cascade
from mirrord.db.restores import Then
from mirrord.db.writes import Text
from mirrord.domain.entry import Actor, Kind, TenantId
from mirrord.sync.bodies import text_of

BATCH = 200  # entries a transaction
ROUNDS = 5


class Act(StrEnum):
    """What has to be done with an entry."""

    REVIVE = "lives again"
    CHANGE = "gets its text of then"
    MOVE = "goes back to its place"
    DELETE = "is deleted: it was not there"
    LEAVE = "stays, although it was not there"


@dataclass(frozen=True, slots=True)
class Change:
    """One entry that is not what it was."""

    then: Then
    act: Act


def plan(entries: Iterable[Then], *, delete_newer: bool) -> list[Change]:
    """What is to be done so that every one of *entries* is what it was. delete_newer: also what was made since."""
    changes = [(one, _act(one, delete_newer=delete_newer)) for one in entries]
    return [Change(one, act) for one, act in changes if act is not None]


def _act(one: Then, *, delete_newer: bool) -> Act | None:
    if one.then is None or one.was_deleted:
        if one.is_deleted:
            return None
        return Act.DELETE if delete_newer else Act.LEAVE
    if one.is_deleted:
        return Act.REVIVE
    if one.changed:
        return Act.CHANGE
    return Act.MOVE if one.moved else None


async def look(database: Database, tenant: TenantId, moment: datetime, *, delete_newer: bool) -> list[Change]:
    """What a restore to *moment* would do."""
    async with database.transaction(tenant) as connection:
        return plan(await restores.at_moment(connection, tenant, moment), delete_newer=delete_newer)


async def restore_tenant(
    database: Database, tenant: TenantId, moment: datetime, actor: Actor, *, delete_newer: bool
) -> list[Change]:
    """
    Let every entry be what it was at *moment*; what is left to do, because somebody goes on writing.

    Whatever is in the way of one round, as a folder that lives again because of what is in it, is not in the next's.
    """
    left: list[Change] = []
    for _ in range(ROUNDS):
        left = await look(database, tenant, moment, delete_newer=delete_newer)
        left = await carry_out(database, tenant, left, actor)
        if not left:
            break
    return left


async def carry_out(database: Database, tenant: TenantId, changes: Sequence[Change], actor: Actor) -> list[Change]:
    """Do it; those that were not done, because somebody changed the entry since it was looked at."""
    todo = [one for one in changes if one.act is not Act.LEAVE]
    missed: list[Change] = []
    for start in range(0, len(todo), BATCH):
        async with database.transaction(tenant, actor=actor) as connection:
            await set_no_cascade(connection)
            for change in todo[start : start + BATCH]:
                if not await _carry_out(connection, tenant, change):
                    missed.append(change)
    return missed


async def _carry_out(connection: Connection, tenant: TenantId, change: Change) -> bool:
    one = change.then
    if change.act is Act.DELETE:
        return await restores.delete(connection, tenant, one)
    if one.kind in (Kind.ATTACHMENT, Kind.RECORD):
        return await restores.restore(connection, tenant, one, None)
    markdown = await restores.text_then(connection, tenant, one)
    return await restores.restore(connection, tenant, one, text_of(markdown) if markdown is not None else Text(None))
