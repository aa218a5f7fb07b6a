"""Undos of losses that wait in a halt: no version tells of them, but the events of the commands do."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mirrord.db import waiting_deletions
from mirrord.db.change_set_rows import ChangeSet
from mirrord.db.database import Connection
from mirrord.db.waiting_deletions import LossEvent, PendingDeletion, WaitingLoss
from mirrord.documents.link_places import paths_of
from mirrord.domain.entry import Actor, EntryId, Kind, TenantId, parse_id
from mirrord.domain.scope import Scope
from mirrord.operations.record_limits import OUTSIDE, page_of_segments
from mirrord.operations.undo_plan import NOWHERE, Clash, EntryHistory, UndoPlan, Withdrawal

CONFIRMED = "was deleted, and a person has just confirmed that; try again in a moment"
EMPTIED = "was emptied, which waits for a person: `mirrord halts` shows it; discard that, then undo again"
COMES_BACK = "comes back, because no person had confirmed its loss yet"
PENDING = "was deleted, which is not in rows yet; try again in a moment"

IsOwn = Callable[[LossEvent], bool]


def is_of_change_set(change_set: ChangeSet) -> IsOwn:
    """Whether an event belongs to *change_set*; one of another author does not, as everybody may append events."""
    actor, key = dict(change_set.actor), str(change_set.id)
    return lambda event: event.change_set == key and dict(event.actor) == actor


def is_of_author(author: str, since: datetime) -> IsOwn:
    """Whether an event is of *author*, a name or an actor as lists print it, and happened since a moment."""

    def is_own(event: LossEvent) -> bool:
        kind, name = event.actor.get("kind", ""), event.actor.get("name", "")
        return author in (name, f"{kind} {name}", f"{name} {kind}") and event.occurred_at >= since

    return is_own


@dataclass(frozen=True, slots=True)
class OwnLosses:
    """Losses of the changes to undo that no version tells of. pending: deletions that no halt has yet."""

    waiting: Sequence[WaitingLoss]
    pending: Mapping[EntryId, PendingDeletion]


async def load_own_losses(connection: Connection, tenant: TenantId, is_own: IsOwn) -> OwnLosses:
    """The losses that events of the changes to undo caused, with what was lost below deleted folders and pages."""
    losses = await waiting_deletions.load_waiting(connection, tenant)
    events = await waiting_deletions.load_loss_events(connection, tenant, losses)
    own_ids = {entry for entry, event in events.items() if is_own(event)}
    other_ids = events.keys() - own_ids
    pending = await waiting_deletions.load_pending(connection, tenant)
    waiting_ids = {loss.entry for loss in losses}
    return OwnLosses(
        _with_followers(losses, own_ids, other_ids),
        {entry: each for entry, each in pending.items() if entry not in waiting_ids and is_own(each.event)},
    )


def _with_followers(
    losses: Sequence[WaitingLoss], own_ids: Iterable[EntryId], other_ids: Collection[EntryId]
) -> list[WaitingLoss]:
    """*own_ids* of *losses*, and what went with them: attachments, folders without a page, segments."""
    chosen = {*own_ids}
    deletions = [loss for loss in losses if loss.side == "file" and loss.entry not in other_ids]
    while followers := {loss.entry for loss in deletions if _follows(loss, chosen)} - chosen:
        chosen |= followers
    return [loss for loss in losses if loss.entry in chosen]


def _follows(loss: WaitingLoss, leaders: Collection[EntryId]) -> bool:
    if loss.kind is Kind.RECORD:
        return page_of_segments(loss.name) in leaders
    return loss.kind is not Kind.PAGE and loss.parent in leaders


async def add_withdrawals(
    connection: Connection, tenant: TenantId, plan: UndoPlan, losses: OwnLosses, scope: Scope
) -> UndoPlan:
    """*plan* with the withdrawal of *losses*, as far as *scope* may write them; others clash, or stay unnamed."""
    visible, hidden_ids, refused = await _limit(connection, tenant, losses, scope)
    deleted = {step.entry for step in plan.steps if step.after.is_deleted}
    stepped = {step.entry for step in plan.steps} - deleted
    clashes = [*plan.clashes, *refused]
    withdrawals: list[Withdrawal] = []
    for loss in visible:
        reason = _obstacle(loss, stepped)
        if reason is not None:
            clashes.append(Clash(loss.entry, loss.kind, loss.name, reason))
        elif loss.decision is None:
            withdrawals.append(Withdrawal(loss.entry, loss.kind, loss.name, loss.version, loss.halt))
    clashes += [
        Clash(entry, each.kind, each.name, PENDING)
        for entry, each in losses.pending.items()
        if entry not in deleted and entry not in hidden_ids
    ]
    emptied = {clash.entry for clash in clashes if clash.reason is EMPTIED}
    steps = [step for step in plan.steps if step.entry not in emptied]
    has_rest = plan.has_rest or bool(hidden_ids)
    return replace(plan, steps=steps, clashes=clashes, has_rest=has_rest, withdrawals=withdrawals)


def _obstacle(loss: WaitingLoss, stepped: Collection[EntryId]) -> str | None:
    if loss.decision == "apply":
        return CONFIRMED
    return EMPTIED if loss.side == "emptied" and loss.entry in stepped else None


async def _limit(
    connection: Connection, tenant: TenantId, losses: OwnLosses, scope: Scope
) -> tuple[list[WaitingLoss], set[EntryId], list[Clash]]:
    """What *scope* lets write, what it hides, and clashes for what it only lets read."""
    if scope.is_unlimited:
        return list(losses.waiting), set(), []
    places = {loss.entry: page_of_segments(loss.name) or loss.entry for loss in losses.waiting}
    places |= {entry: entry for entry in losses.pending}
    paths = await paths_of(connection, tenant, set(places.values()))
    hidden_ids = {
        entry for entry, place in places.items() if (path := paths.get(place)) is None or not scope.can_read(path)
    }
    visible = [loss for loss in losses.waiting if loss.entry not in hidden_ids]
    writable = [loss for loss in visible if scope.can_write(paths[places[loss.entry]])]
    refused = [Clash(loss.entry, loss.kind, loss.name, OUTSIDE) for loss in visible if loss not in writable]
    return writable, hidden_ids, refused


async def carry_out_withdrawals(
    connection: Connection, tenant: TenantId, withdrawals: Sequence[Withdrawal], actor: Actor
) -> bool:
    """Take the entries out of their halts; False: a halt is another one by now."""
    halts: dict[int, set[EntryId]] = {}
    for withdrawal in withdrawals:
        halts.setdefault(withdrawal.halt, set()).add(withdrawal.entry)
    for halt in sorted(halts):  # two undos wait for each other in one order
        if not await waiting_deletions.take_from_halt(connection, tenant, halt, halts[halt], actor):
            return False
    return True


def withdrawal_facts(withdrawal: Withdrawal) -> dict[str, Any]:
    """As JSON, in the outcome of the undo: its own undo deletes the entry again."""
    return {
        "id": str(withdrawal.entry),
        "name": withdrawal.name,
        "change": COMES_BACK,
        "kind": withdrawal.kind.value,
        "withdrawn": withdrawal.version,
    }


@dataclass(frozen=True, slots=True)
class WithdrawnEntry:
    """An entry whose loss an undo took back. version: of its row then."""

    entry: EntryId
    kind: Kind
    version: int


def withdrawn_by(undo: ChangeSet) -> list[WithdrawnEntry]:
    """What *undo* took out of halts, as its outcome says; no version of the undo tells of it."""
    changes = (undo.outcome or {}).get("changes", ())
    return [
        WithdrawnEntry(entry, Kind(change["kind"]), change["withdrawn"])
        for change in changes
        if "withdrawn" in change and (entry := parse_id(change["id"])) is not None
    ]


def as_revived(history: EntryHistory) -> EntryHistory:
    """The history of a withdrawn entry, as if the undo had revived it: taking that back deletes it."""
    first = min(history.chosen)
    states = [state for state in history.states if state.version >= first]
    return replace(history, states=[NOWHERE, *states], chosen={*history.chosen, first})
