"""Carries applied change sets over to rows, each as a whole: what others hold delays all of it."""

import logging
from collections.abc import Sequence

from mirrord.domain.entry import File
from mirrord.errors import Locked
from mirrord.sync import known_losses
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step
from mirrord.sync.engine_parts import EngineParts
from mirrord.sync.observation.observe import Dirty, Observation
from mirrord.sync.observation.waiting_plans import MetPlans
from mirrord.sync.writing.apply import PassOutcome, find_stale_saves, path_of
from mirrord.sync.writing.joint_writes import JointWrites, write_jointly

log = logging.getLogger(__name__)


def mark_later(parts: EngineParts, dirty: Dirty, observation: Observation, met: MetPlans) -> None:
    """Look again at what a look met: at once at what is not of *met*, at that in a while."""
    look, owners = observation.look, observation.owners
    looked = look.found_files.keys() | look.gone_paths | look.unknown_files.keys()
    absorbed = {*owners.stray_saves, *owners.copied_directories.paths}
    paths = dirty.paths.union(looked, absorbed, observation.unowned_directories)
    parts.queue.mark(paths - met.paths, dirty.entries - met.entries, forced=True)
    parts.queue.mark(met.paths, dirty.entries & met.entries, forced=True, delay=met.retry_seconds)


async def carry_over_plans(
    parts: EngineParts, met: MetPlans, observation: Observation, decisions: Sequence[Decision], applied: PassOutcome
) -> list[Decision] | None:
    """
    Write what *met* changed to rows, in one transaction. Returns the decisions that follow on their own: what meets
    changes of rows, and everything if a row is in the way of another.

    None: the change sets wait, and nothing was written.
    """
    if met.is_patient and any(decision.step is Step.LATER and _is_of(decision, met) for decision in decisions):
        return None
    decisions = await parts.restraint.restrain(decisions, applied.troubles)
    removals, is_approved = await _select_removals(parts, decisions, met)
    joint = JointWrites(await _select_writes(parts, decisions), removals)
    if not (joint.writes or joint.removals):
        return list(decisions)
    try:
        outcome = await write_jointly(parts.sides, joint, observation.look.views)
    except Locked:
        return None if met.is_patient else list(decisions)
    if outcome is None:
        log.warning("change_set_parted", extra={"tenant": parts.sides.name, "entries": len(joint.writes)})
        return list(decisions)
    applied.add(outcome)
    if not is_approved:
        parts.halts.note_removed([decision for decision in outcome.carried_out if decision.step is Step.DELETE])
    together = {decision.state.entry for decision in (*joint.writes, *joint.removals)}
    return [decision for decision in decisions if decision.state.entry not in together]


async def _select_writes(parts: EngineParts, decisions: Sequence[Decision]) -> list[Decision]:
    """The writes to rows that no change of a row hinders."""
    writes = [decision for decision in decisions if decision.step is Step.ROW]
    edits = [decision for decision in writes if decision.place is not PlaceMove.TO_ROW]
    stale = await find_stale_saves(parts.sides, edits)
    return [
        decision
        for decision in writes
        if decision.move not in (Move.MERGE, Move.SIBLING) and decision.state.entry not in stale
    ]


async def _select_removals(
    parts: EngineParts, decisions: Sequence[Decision], met: MetPlans
) -> tuple[list[Decision], bool]:
    """
    The deletions of the change sets, if they may spread, and whether a person accepted them; those of the tree's people
    are gathered as ever.
    """
    removals = [
        decision
        for decision in decisions
        if decision.step is Step.DELETE and decision.move is Move.ENTOMB and path_of(decision) in met.removed
    ]
    is_approved = await known_losses.are_approved(parts.sides, met.approved_by, removals)
    may_spread = removals and await parts.halts.may_remove(removals, is_approved=is_approved)
    return (removals, is_approved) if may_spread else ([], False)


def _is_of(decision: Decision, met: MetPlans) -> bool:
    file = decision.state.file
    paths = {path_of(decision), file.path if isinstance(file, File) else None}
    return decision.state.entry in met.entries or not met.paths.isdisjoint(paths - {None})
