"""Undoes change sets, as one transaction of ordinary new versions that is a change set itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg

from mirrord.db import change_set_rows
from mirrord.db.change_set_rows import ChangeSet
from mirrord.db.content import dialect_rows, undo_rows
from mirrord.db.content.entry_tables import table_of
from mirrord.db.content.entry_writes import Body, PageValues, defer_names
from mirrord.db.content.record_rows import record_text
from mirrord.db.content.undo_rows import Chosen, EntryWrite, StateRow
from mirrord.db.database import Connection, Database, set_actor, set_no_cascade
from mirrord.domain.entry import Actor, Digest, EntryId, Kind, TenantId, digest_of, new_id
from mirrord.domain.scope import UNLIMITED, Scope
from mirrord.errors import Refused, Stale, UserError
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.operations import undo_halts
from mirrord.operations.undo_halts import IsOwn, OwnLosses, WithdrawnEntry
from mirrord.operations.undo_plan import (
    NOWHERE,
    Clash,
    EntryHistory,
    EntryState,
    Step,
    Surroundings,
    UndoPlan,
    Withdrawal,
    check_plan,
    plan_entries,
)
from mirrord.operations.undo_scope import limit_plan, limit_surroundings
from mirrord.sync.writing.entry_bodies import text_of

MAX_TRIES = 3  # of an undo, while entries are being changed
MIN_ID_LENGTH = 6  # characters of the beginning of an id


@dataclass(frozen=True, slots=True)
class UndoRequest:
    """
    What to undo.

    change_set: the id of a change set, or its beginning; None: what *author* did since a moment.
    partial: leave what clashes and do the rest. id: of the new change set. only_of: whose change sets may be undone;
    None: everyone's. scope: of the token that asks; in pages that it hides only links are taken back.
    """

    actor: Actor
    change_set: str | None = None
    author: str | None = None
    since: datetime | None = None
    partial: bool = False
    id: UUID | None = None
    only_of: Actor | None = None
    scope: Scope = UNLIMITED


@dataclass(frozen=True, slots=True)
class UndoOutcome:
    """
    What an undo did, or would do.

    change_set: the new one; None: nothing was written. undone: the change set that was taken back. withdrawals: losses
    that waited in halts.
    """

    change_set: UUID | None
    title: str
    undone: UUID | None
    steps: Sequence[Step]
    clashes: Sequence[Clash]
    withdrawals: Sequence[Withdrawal] = ()

    def facts(self) -> dict[str, Any]:
        """As JSON."""
        changes: list[dict[str, Any]] = [
            {"id": str(step.entry), "name": step.after.name, "change": describe_step(step)} for step in self.steps
        ]
        changes += map(undo_halts.withdrawal_facts, self.withdrawals)
        clashes = [{"id": str(clash.entry), "name": clash.name, "reason": clash.reason} for clash in self.clashes]
        return {"title": self.title, "changes": changes, "left": clashes}


class UnknownChangeSet(UserError):
    """A text that means no change set. sentence: without the advice for people."""

    def __init__(self, sentence: str) -> None:
        super().__init__(f"{sentence} `mirrord changes` lists them.")
        self.sentence = sentence


def describe_step(step: Step) -> str:
    """What a step does, for people."""
    if step.after.is_deleted:
        return "is deleted"
    if step.now.is_deleted:
        return "lives again"
    changes = ["goes back to its place"] if step.is_placed else []
    if step.source is None:
        changes.append("keeps later edits, without these")
    elif step.source != step.now.version:
        changes.append("gets its earlier text" if step.kind is not Kind.ATTACHMENT else "gets its earlier bytes")
    if step.now.index != step.after.index:
        changes.append("gets its earlier file name")
    return " and ".join(changes) or "is as it was"


async def find_change_set(connection: Connection, tenant: TenantId, beginning: str) -> ChangeSet:
    """The change set whose id begins so. Raises UserError if there is none, or several."""
    text = beginning.strip().lower()
    if not text or any(sign not in "0123456789abcdef-" for sign in text):
        raise UnknownChangeSet(f"{beginning!r} is no id of a change set.")
    matches = await change_set_rows.find_change_sets(connection, tenant, text)
    if not matches:
        raise UnknownChangeSet(f"There is no change set {beginning!r}.")
    if len(matches) > 1:
        raise UserError(f"{beginning!r} begins the ids of {len(matches)} change sets; write more of it.")
    return matches[0]


async def preview_undo(database: Database, tenant: TenantId, request: UndoRequest) -> UndoOutcome:
    """What an undo would do. Raises UserError, Refused as undo()."""
    async with database.transaction(tenant) as connection:
        target, plan = await _load_plan(connection, tenant, request)
    return _planned(request, target, plan)


def _planned(request: UndoRequest, target: ChangeSet | None, plan: UndoPlan) -> UndoOutcome:
    title, undone = _title_of(request, target), target.id if target is not None else None
    return UndoOutcome(None, title, undone, plan.steps, plan.clashes, plan.shown_withdrawals)


async def undo(database: Database, tenant: TenantId, request: UndoRequest) -> UndoOutcome:
    """
    Undo in one transaction. With clashes, and unless *partial*, nothing is written.

    Raises:
        UserError: there is no such change set.
        Refused: it was undone already, or there is nothing to undo.
        Stale: entries were being changed; nothing was written.
    """
    for _ in range(MAX_TRIES):
        try:
            async with database.transaction(tenant) as connection:
                return await undo_within(connection, tenant, request)
        except _Overtaken:
            continue
        except (psycopg.IntegrityError, psycopg.DataError) as error:
            raise Refused(f"The rows refuse this undo: {error.diag.message_primary}. Nothing was written.") from error
    raise Stale("Pages of this change set are being changed at this moment; try again.")


class _Overtaken(Exception):
    """An entry changed between look and write: the transaction is rolled back."""


async def undo_within(connection: Connection, tenant: TenantId, request: UndoRequest) -> UndoOutcome:
    """As undo(), in a transaction of the caller's, which ends with it; one try."""
    target, plan = await _load_plan(connection, tenant, request)
    outcome = _planned(request, target, plan)
    if plan.is_empty:
        raise Refused("There is nothing to undo: everything is as it was before these changes.")
    if not (plan.steps or plan.withdrawals) or (plan.clashes and not request.partial):
        return outcome
    await set_actor(connection, {"kind": request.actor.kind, "name": request.actor.name})
    await set_no_cascade(connection)
    await defer_names(connection)
    written = await _write_steps(connection, tenant, plan)
    if not await undo_halts.carry_out_withdrawals(connection, tenant, plan.withdrawals, request.actor):
        raise _Overtaken
    undone_by = request.id or new_id()
    await undo_rows.stamp_versions(connection, tenant, undone_by, written)
    stored = await _store(connection, tenant, request, replace(outcome, change_set=undone_by))
    if target is not None and not plan.clashes and not plan.has_rest:  # what is left may be undone later
        await change_set_rows.mark_undone(connection, tenant, target.id, undone_by)
    return stored


async def _write_steps(connection: Connection, tenant: TenantId, plan: UndoPlan) -> Chosen:
    """Write all steps; their new versions. Raises _Overtaken."""
    written: dict[str, dict[EntryId, set[int]]] = {}
    for step in _in_order_of_writing(plan):
        version = await undo_rows.write_entry(connection, tenant, _write_of(step))
        if version is None:
            raise _Overtaken
        written.setdefault(table_of(step.kind), {})[step.entry] = {version}
    return written


def _in_order_of_writing(plan: UndoPlan) -> list[Step]:
    """Records first: a page that is deleted or revived takes its segments with it, unless they are where they go."""
    return sorted((*plan.steps, *plan.link_steps), key=lambda step: step.kind is not Kind.RECORD)


async def _store(connection: Connection, tenant: TenantId, request: UndoRequest, outcome: UndoOutcome) -> UndoOutcome:
    await change_set_rows.store_undo(connection, tenant, undo_row(request, outcome, "applied"))
    return outcome


def undo_row(request: UndoRequest, outcome: UndoOutcome, state: str) -> ChangeSet:
    """The row of an undo."""
    now = datetime.now(UTC)
    return ChangeSet(
        id=outcome.change_set or request.id or new_id(),
        kind="undo",
        title=outcome.title,
        message=None,
        actor={"kind": request.actor.kind, "name": request.actor.name},
        client=None,
        undoes=outcome.undone,
        partial=request.partial,
        state=state,
        outcome=outcome.facts(),
        started_at=now,
        applied_at=now if state == "applied" else None,
        undone_by=None,
    )


def _title_of(request: UndoRequest, target: ChangeSet | None) -> str:
    if target is not None:
        redoes = target.kind == "undo" and target.title.startswith("Undo of ")
        return f"Redo of {target.title.removeprefix('Undo of ')}" if redoes else f"Undo of {target.title}"
    since = request.since.astimezone() if request.since is not None else None
    return f"Undo of what {request.author} did since {since:%Y-%m-%d %H:%M}"


async def _load_plan(
    connection: Connection, tenant: TenantId, request: UndoRequest
) -> tuple[ChangeSet | None, UndoPlan]:
    target, is_own = await _find_target(connection, tenant, request)
    losses = await undo_halts.load_own_losses(connection, tenant, is_own)
    if target is not None:
        withdrawn = undo_halts.withdrawn_by(target)
        chosen = _with_withdrawn(await undo_rows.load_of_change_set(connection, tenant, target.id), withdrawn)
    else:
        withdrawn, chosen = [], await _load_of_author(connection, tenant, request, losses)
    revived = {entry.entry for entry in withdrawn}
    histories = await load_histories(connection, tenant, chosen)
    plan = plan_entries(
        [undo_halts.as_revived(history) if history.entry in revived else history for history in histories]
    )
    plan = await limit_plan(connection, tenant, plan, request.scope)
    around = await _load_surroundings(connection, tenant, chosen, plan)
    plan = check_plan(plan, await limit_surroundings(connection, tenant, around, request.scope))
    return target, await undo_halts.add_withdrawals(connection, tenant, plan, losses, request.scope)


async def _find_target(
    connection: Connection, tenant: TenantId, request: UndoRequest
) -> tuple[ChangeSet | None, IsOwn]:
    """The change set to undo, and which events are of the changes to undo."""
    if request.change_set is None:
        assert request.author is not None
        assert request.since is not None
        return None, undo_halts.is_of_author(request.author, request.since)
    target = await find_change_set(connection, tenant, request.change_set)
    _check_target(target, request)
    return target, undo_halts.is_of_change_set(target)


def _with_withdrawn(chosen: Chosen, withdrawn: Sequence[WithdrawnEntry]) -> Chosen:
    """*chosen* with the versions of entries that were withdrawn; those that were changed too are in it already."""
    merged = {table: {entry: set(versions) for entry, versions in rows.items()} for table, rows in chosen.items()}
    for entry in withdrawn:
        merged.setdefault(table_of(entry.kind), {}).setdefault(entry.entry, {entry.version})
    return merged


def _check_target(target: ChangeSet, request: UndoRequest) -> None:
    if request.only_of is not None and dict(target.actor) != {
        "kind": request.only_of.kind,
        "name": request.only_of.name,
    }:
        raise Refused("An agent undoes its own changes only; ask a person to undo those of others.")
    if target.state != "applied":
        raise Refused(f"{target.title} was {target.state}, so there is nothing to undo.")
    if target.undone_by is not None:
        raise Refused(f"It was undone already, by {target.undone_by}. To have it again, undo that one.")


async def _load_of_author(connection: Connection, tenant: TenantId, request: UndoRequest, losses: OwnLosses) -> Chosen:
    assert request.author is not None
    assert request.since is not None
    if request.since > datetime.now(UTC):
        raise UserError(f"{request.since.astimezone():%Y-%m-%d %H:%M} is in the future.")
    chosen = await undo_rows.load_of_author(connection, tenant, request.author, request.since)
    if not (chosen or losses.waiting or losses.pending):
        since = request.since.astimezone()
        raise UserError(f"{request.author} changed nothing since {since:%Y-%m-%d %H:%M}. `mirrord changes` lists who.")
    return chosen


async def load_histories(connection: Connection, tenant: TenantId, chosen: Chosen) -> list[EntryHistory]:
    """The histories of the entries of chosen versions."""
    states = await undo_rows.load_states(connection, tenant, chosen)
    dialect = await dialect_rows.load_dialect(connection, tenant)
    return [replace(_history_of(rows, chosen), dialect=dialect) for rows in states.values()]


def _history_of(rows: Sequence[StateRow], chosen: Chosen) -> EntryHistory:
    entry, kind = rows[0].entry, rows[-1].kind
    versions: set[int] = set()
    for of_entries in chosen.values():
        versions |= of_entries.get(entry, set())
    states = [_state_of(row) for row in rows]
    states[-1] = replace(states[-1], is_settled=states[-1].is_settled and rows[-1].is_row_settled)
    before = [NOWHERE] if states[0].version in versions else []
    return EntryHistory(entry, kind, [*before, *states], versions)


def _state_of(row: StateRow) -> EntryState:
    digest = Digest(bytes(row.digest)) if row.digest is not None else None
    if digest is None and row.text is not None:
        digest = digest_of(row.text.encode())
    place = (row.parent, row.name)
    return EntryState(
        row.version, row.is_deleted, *place, digest, row.text, row.is_settled, row.text_removed_at, row.index
    )


async def _load_surroundings(connection: Connection, tenant: TenantId, chosen: Chosen, plan: UndoPlan) -> Surroundings:
    placed = [step for step in plan.steps if step.is_placed]
    leaving = [step for step in plan.steps if step.after.is_deleted or step.is_placed]
    folders = {step.now.parent for step in leaving if step.now.parent is not None and not step.now.is_deleted}
    first_moment = await undo_rows.load_begin(connection, tenant, chosen)
    fresh = (
        await undo_rows.load_made_folders(connection, tenant, folders, first_moment) if first_moment and folders else []
    )
    made_folders = {
        folder: EntryState(version, is_deleted=False, parent=parent, name=name)
        for folder, version, parent, name in fresh
    }
    parents = {step.entry for step in plan.steps if step.after.is_deleted or step.becomes_leaf} | made_folders.keys()
    targets = {step.after.parent for step in placed if step.after.parent is not None}
    return Surroundings(
        await undo_rows.load_children(connection, tenant, parents),
        await undo_rows.load_holders(connection, tenant, {step.slot[2] for step in placed}),
        await undo_rows.load_existing(connection, tenant, targets),
        made_folders,
    )


def _write_of(step: Step) -> EntryWrite:
    name = step.after.name or ""
    return EntryWrite(
        step.entry,
        step.kind,
        step.now.version,
        step.after.is_deleted,
        step.after.parent,
        name,
        _body_of(step),
        step.source,
        step.after.index,
    )


def _body_of(step: Step) -> Body | None:
    text = step.after.text
    if step.after.is_deleted or step.kind is Kind.ATTACHMENT:
        return None
    if step.kind is Kind.RECORD:
        return record_text(step.after.name or "", text or "")
    return text_of(PageText(text)) if text is not None else PageValues(None, title=step.after.name)
