"""Restore a whole tenant to a moment: planned first, then carried out, every change as an ordinary new version."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mirrord.db import restores
from mirrord.db.connect import Connection, Database, set_no_cascade
from mirrord.db.restores import EntryAtMoment
from mirrord.db.writes import PageText
from mirrord.domain.entry import Actor, Kind, TenantId
from mirrord.sync.bodies import text_of

BATCH_ENTRIES = 200  # entries a transaction
MAX_ROUNDS = 5


class Action(StrEnum):
    """The action of a restore on one entry."""

    REVIVE = "lives again"
    CHANGE = "gets its text of then"
    MOVE = "goes back to its place"
    DELETE = "is deleted: it was not there"
    LEAVE = "stays, although it was not there"


@dataclass(frozen=True, slots=True)
class Change:
    """One entry that differs from its state at the moment."""

    then: EntryAtMoment
    act: Action


def plan_restore(entries: Iterable[EntryAtMoment], *, delete_newer: bool) -> list[Change]:
    """The changes that restore *entries* to the moment. delete_newer: delete entries made since."""
    changes = [(entry, _act_for(entry, delete_newer=delete_newer)) for entry in entries]
    return [Change(entry, act) for entry, act in changes if act is not None]


def _act_for(entry: EntryAtMoment, *, delete_newer: bool) -> Action | None:
    if entry.version_then is None or entry.was_deleted:
        if entry.is_deleted:
            return None
        return Action.DELETE if delete_newer else Action.LEAVE
    if entry.is_deleted:
        return Action.REVIVE
    if entry.is_changed:
        return Action.CHANGE
    return Action.MOVE if entry.is_moved else None


async def preview_restore(
    database: Database, tenant: TenantId, moment: datetime, *, delete_newer: bool
) -> list[Change]:
    """The changes that a restore to *moment* would make."""
    async with database.transaction(tenant) as connection:
        return plan_restore(await restores.load_at_moment(connection, tenant, moment), delete_newer=delete_newer)


async def restore_tenant(
    database: Database, tenant: TenantId, moment: datetime, actor: Actor, *, delete_newer: bool
) -> list[Change]:
    """
    Restore every entry to *moment*; returns the changes left because of writes that went on meanwhile.

    What hinders one round, for instance a folder that lives again because of its pages, does not hinder the next.
    """
    remaining: list[Change] = []
    for _ in range(MAX_ROUNDS):
        remaining = await preview_restore(database, tenant, moment, delete_newer=delete_newer)
        remaining = await carry_out_changes(database, tenant, remaining, actor)
        if not remaining:
            break
    return remaining


async def carry_out_changes(
    database: Database, tenant: TenantId, changes: Sequence[Change], actor: Actor
) -> list[Change]:
    """Carry out *changes*; returns those not done because the entry changed since it was read."""
    todo = [change for change in changes if change.act is not Action.LEAVE]
    missed: list[Change] = []
    for start in range(0, len(todo), BATCH_ENTRIES):
        async with database.transaction(tenant, actor=actor) as connection:
            await set_no_cascade(connection)
            for change in todo[start : start + BATCH_ENTRIES]:
                if not await _carry_out_change(connection, tenant, change):
                    missed.append(change)
    return missed


async def _carry_out_change(connection: Connection, tenant: TenantId, change: Change) -> bool:
    then = change.then
    if change.act is Action.DELETE:
        return await restores.delete_entry(connection, tenant, then)
    if then.kind in (Kind.ATTACHMENT, Kind.RECORD):
        return await restores.restore_entry(connection, tenant, then, None)
    markdown = await restores.load_text_then(connection, tenant, then)
    return await restores.restore_entry(
        connection, tenant, then, text_of(markdown) if markdown is not None else PageText(None)
    )
