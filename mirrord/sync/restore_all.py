"""Restore a whole tenant to a moment: planned first, then carried out, every change as an ordinary new version."""

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
    """The action of a restore on one entry."""

    REVIVE = "lives again"
    CHANGE = "gets its text of then"
    MOVE = "goes back to its place"
    DELETE = "is deleted: it was not there"
    LEAVE = "stays, although it was not there"


@dataclass(frozen=True, slots=True)
class Change:
    """One entry that differs from its state at the moment."""

    then: Then
    act: Act


def plan(entries: Iterable[Then], *, delete_newer: bool) -> list[Change]:
    """The changes that restore *entries* to the moment. delete_newer: delete entries made since."""
    changes = [(entry, _act_for(entry, delete_newer=delete_newer)) for entry in entries]
    return [Change(entry, act) for entry, act in changes if act is not None]


def _act_for(entry: Then, *, delete_newer: bool) -> Act | None:
    if entry.then is None or entry.was_deleted:
        if entry.is_deleted:
            return None
        return Act.DELETE if delete_newer else Act.LEAVE
    if entry.is_deleted:
        return Act.REVIVE
    if entry.changed:
        return Act.CHANGE
    return Act.MOVE if entry.moved else None


async def look(database: Database, tenant: TenantId, moment: datetime, *, delete_newer: bool) -> list[Change]:
    """The changes that a restore to *moment* would make."""
    async with database.transaction(tenant) as connection:
        return plan(await restores.at_moment(connection, tenant, moment), delete_newer=delete_newer)


async def restore_tenant(
    database: Database, tenant: TenantId, moment: datetime, actor: Actor, *, delete_newer: bool
) -> list[Change]:
    """
    Restore every entry to *moment*; returns the changes left because of writes that went on meanwhile.

    What hinders one round, for instance a folder that lives again because of its pages, does not hinder the next.
    """
    remaining: list[Change] = []
    for _ in range(ROUNDS):
        remaining = await look(database, tenant, moment, delete_newer=delete_newer)
        remaining = await carry_out(database, tenant, remaining, actor)
        if not remaining:
            break
    return remaining


async def carry_out(database: Database, tenant: TenantId, changes: Sequence[Change], actor: Actor) -> list[Change]:
    """Carry out *changes*; returns those not done because the entry changed since it was read."""
    todo = [change for change in changes if change.act is not Act.LEAVE]
    missed: list[Change] = []
    for start in range(0, len(todo), BATCH):
        async with database.transaction(tenant, actor=actor) as connection:
            await set_no_cascade(connection)
            for change in todo[start : start + BATCH]:
                if not await _carry_out_change(connection, tenant, change):
                    missed.append(change)
    return missed


async def _carry_out_change(connection: Connection, tenant: TenantId, change: Change) -> bool:
    then = change.then
    if change.act is Act.DELETE:
        return await restores.delete(connection, tenant, then)
    if then.kind in (Kind.ATTACHMENT, Kind.RECORD):
        return await restores.restore(connection, tenant, then, None)
    markdown = await restores.text_then(connection, tenant, then)
    return await restores.restore(connection, tenant, then, text_of(markdown) if markdown is not None else Text(None))
