"""Losses that raise no suspicion: that an undo meant, that a person approved, and those of a halt that are no more."""

from collections.abc import Collection, Sequence

from mirrord.db import approval_rows
from mirrord.db.content import entry_states, undo_rows
from mirrord.db.open_issues import Halt
from mirrord.domain.entry import EntryId, Kind, parse_id
from mirrord.sync.decisions.entry_decision import Decision
from mirrord.sync.observation.mirror_handles import Sides


async def select_meant(sides: Sides, side: str, decisions: Sequence[Decision]) -> frozenset[EntryId]:
    """The entries among *decisions* that a change set deleted in rows; nothing but an undo does that."""
    entries = [decision.state.entry for decision in decisions]
    if side != "row" or not entries:
        return frozenset()
    async with sides.database.transaction(sides.tenant) as connection:
        return await undo_rows.load_deleted_by_change_sets(connection, sides.tenant, entries)


async def select_approved(sides: Sides, side: str, decisions: Sequence[Decision]) -> frozenset[EntryId]:
    """The entries among *decisions* whose files agents deleted with the approval of a person, who saw each of them."""
    paths = {decision.state.entry: decision.state.base.path for decision in decisions if decision.state.base}
    if side != "file" or not paths:
        return frozenset()
    async with sides.database.transaction(sides.tenant) as connection:
        approved = await approval_rows.load_approved_deletions(connection, sides.tenant, list(paths))
    return frozenset(EntryId(entry) for entry, path in approved if paths.get(EntryId(entry)) == path)


async def are_approved(sides: Sides, requests: Collection[str], decisions: Sequence[Decision]) -> bool:
    """Whether a person approved *requests*, and saw all files among *decisions*, which these requests removed."""
    ids = list(filter(None, map(parse_id, requests)))
    if not ids:
        return False
    async with sides.database.transaction(sides.tenant) as connection:
        approved_paths = await approval_rows.load_approved_paths(connection, sides.tenant, ids)
    bases = [decision.state.base for decision in decisions]
    files = {base.path for base in bases if base is not None and base.kind in (Kind.PAGE, Kind.ATTACHMENT)}
    return bool(approved_paths) and files <= approved_paths


async def is_over(sides: Sides, halt: Halt) -> bool:
    """Whether nothing of *halt* is lost any more. The first lost entry ends the look, so that it may be asked often."""
    entries = [EntryId(entry) for entry in halt.entries]
    if halt.side not in ("file", "row") or not entries:
        return False
    return await _are_back(sides, halt.side, entries[:1]) and await _are_back(sides, halt.side, entries)


async def _are_back(sides: Sides, side: str, entries: Sequence[EntryId]) -> bool:
    async with sides.database.transaction(sides.tenant) as connection:
        keys = entry_states.BaseKeys(entries=list(entries))
        bases, rows = await entry_states.load_bases_and_rows(connection, sides.tenant, sides.mirror, keys, entries)
    if side == "row":
        return all(entry in rows and not rows[entry].deleted for entry in entries)
    paths = {base.entry: base.path for base in bases}
    return all((path := paths.get(entry)) is not None and path in sides.looker.index for entry in entries)
