"""Deletions: collected until no more come, confirmed by a scan, weighed together; segments go with their page."""

import asyncio
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import psycopg

from mirrord.db.content import entry_states
from mirrord.db.content.altered_rows import refusal_of
from mirrord.db.content.entry_writes import Statement, run_statements
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import FILE_ACTOR, NO_TEXT, EntryId, File, Kind, State, parse_id
from mirrord.domain.place import BESIDE_PREFIX
from mirrord.errors import Busy, Refused, Stale, UserError, reason_of
from mirrord.mirror.tree.tree_layout import directory_of, parent_of
from mirrord.mirror.write import replace as replacing
from mirrord.mirror.write.tree_locks import lock_for
from mirrord.sync.decisions.entry_decision import Decision, Move, Step
from mirrord.sync.decisions.guard import QUIET_SECONDS, RECENT_SECONDS
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.state_assembly import is_owned
from mirrord.sync.writing.row_writes import write_to_rows
from mirrord.sync.writing.write_outcomes import Outcome, judge_unwritten, refused_outcome


async def find_segments_deleted_with_page(sides: Sides, decisions: Sequence[Decision]) -> frozenset[EntryId]:
    """Select the segments among *decisions* whose page is deleted with them, or is gone from both sides."""
    pages = {
        decision.state.entry: page
        for decision in decisions
        if (page := _page_id_of_segment(decision.state)) is not None
    }
    if not pages:
        return frozenset()
    page_ids = list(set(pages.values()))
    async with sides.database.transaction(sides.tenant) as connection:
        selection = entry_states.BaseKeys(entries=page_ids)
        bases, rows = await entry_states.load_bases_and_rows(
            connection, sides.tenant, sides.mirror, selection, page_ids
        )
    ids_with_base = {base.entry for base in bases}
    deleted_ids = {decision.state.entry for decision in decisions}
    deleted_ids |= {page for page, row in rows.items() if row.deleted} - ids_with_base
    return frozenset(entry for entry, page in pages.items() if page in deleted_ids)


def _page_id_of_segment(state: State) -> EntryId | None:
    """The page of a segment record; None for other entries."""
    source = state.base or state.row
    if source is None or source.kind is not Kind.RECORD:
        return None
    kind, _, key = source.place.name.partition("/")
    return parse_id(key) if kind == "segment" else None


SIDES = ("file", "row", "emptied", "vanished")


@dataclass(slots=True)
class GatheredDeletions:
    """
    Entries that one side has lost.

    entries: the path of the lost file by entry, None if the file is still there. added_at: monotonic time of the last
    addition. recent_counts: (monotonic time, number) of deletions carried over, by side.
    """

    entries: dict[EntryId, str | None] = field(default_factory=dict)
    added_at: float = 0.0
    recent_counts: dict[str, deque[tuple[float, int]]] = field(
        default_factory=lambda: {side: deque() for side in SIDES}
    )

    def add(self, entries: Mapping[EntryId, str | None]) -> None:
        """Add lost entries; a new one restarts the wait."""
        if entries.keys() - self.entries.keys():
            self.added_at = time.monotonic()
        self.entries |= entries

    @property
    def is_due(self) -> bool:
        """Whether the set is complete: nothing was added for QUIET seconds."""
        return self.seconds_until_due == 0

    @property
    def seconds_until_due(self) -> float | None:
        """Seconds until the set is complete if nothing is added; None: it is empty."""
        return max(0.0, self.added_at + QUIET_SECONDS - time.monotonic()) if self.entries else None

    def take_entries(self, only: Collection[EntryId] = ()) -> dict[EntryId, str | None]:
        """Remove and return the entries, or *only* the given ones."""
        selected = {entry: path for entry, path in self.entries.items() if not only or entry in only}
        self.entries = {entry: path for entry, path in self.entries.items() if entry not in selected}
        return selected

    def count_recent(self, side: str) -> int:
        """Deletions seen on *side* within the last ten minutes."""
        spans = self.recent_counts[side]
        while spans and time.monotonic() - spans[0][0] > RECENT_SECONDS:
            spans.popleft()
        return sum(count for _, count in spans)

    def note_carried_over(self, side: str, count: int) -> None:
        """Note that *count* deletions of *side* were carried over."""
        self.recent_counts[side].append((time.monotonic(), count))


def side_of(decision: Decision) -> str:
    """The side on which the loss was seen: one of SIDES."""
    return _SIDE_OF[decision.move]


_SIDE_OF = {Move.ENTOMB: "file", Move.TRASH: "row", Move.TO_ROW: "emptied", Move.REINSERT: "vanished"}


async def entomb_rows(sides: Sides, decisions: Sequence[Decision]) -> Outcome:
    """
    Make tombstones of rows whose files are gone, all in one transaction, children first.

    If a trigger of an app refuses one, each is deleted by itself.
    """
    ordered = sorted(
        decisions, key=lambda decision: -(decision.state.base.path or "").count("/") if decision.state.base else 0
    )
    try:
        return await _entomb_together(sides, ordered)
    except (psycopg.Error, UserError) as error:
        if (refusal := refusal_of(error)) is None:
            raise
        if len(ordered) == 1:
            return refused_outcome(ordered[0], refusal)
    outcome = Outcome()
    for decision in ordered:
        outcome.add(await entomb_rows(sides, [decision]))
    return outcome


async def _entomb_together(sides: Sides, ordered: Sequence[Decision]) -> Outcome:
    statements = [_entomb_statement(sides, decision) for decision in ordered]
    async with sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR) as connection:
        versions = await run_statements(connection, statements)
        outcome = Outcome()
        for decision, version in zip(ordered, versions, strict=True):
            if version is not None:
                outcome.carried_out.append(decision)
            else:
                outcome.add(await judge_unwritten(connection, sides, decision))
    return outcome


def _entomb_statement(sides: Sides, decision: Decision) -> Statement:
    assert decision.state.base is not None
    assert decision.state.row is not None
    return sides.writer.delete(decision.state.base, decision.state.row.version)


async def trash_files(sides: Sides, decisions: Sequence[Decision]) -> Outcome:
    """Move the files of deleted rows to the trash, then remove empty directories; revive folders that are not empty."""
    outcome = Outcome()
    pages = [decision for decision in decisions if _file_of(decision).digest != NO_TEXT]
    for decision in pages:
        await _trash_file(sides, decision, outcome)
    folders = sorted({_emptied_directory(decision) for decision in decisions} - {""}, key=lambda path: -path.count("/"))
    failed = {_file_of(decision).path: "something in it cannot be removed yet." for decision in outcome.later}
    removed = {path for path in folders if await asyncio.to_thread(_remove_directory, sides, path, failed)}
    removed |= {path for path in folders if path not in failed and is_owned(path, sides.looker.index)}  # by a page now
    folders_only = [decision for decision in decisions if _file_of(decision).digest == NO_TEXT]
    outcome.carried_out += [decision for decision in folders_only if _file_of(decision).path in removed]
    for decision in folders_only:
        if (why := failed.get(_file_of(decision).path)) is not None:
            _list_problem(decision, why, outcome)
    statements = [sides.writer.delete_base(decision.state.entry) for decision in outcome.carried_out]
    # the folder still holds files that mirrord does not sync or know yet: revive it
    remaining = [decision for decision in folders_only if _file_of(decision).path not in removed | failed.keys()]
    outcome.stale += [decision for decision in remaining if decision.state.row is None]
    async with sides.database.transaction(sides.tenant, sides.fence) as connection:
        await run_statements(connection, statements)
    outcome.add(
        await write_to_rows(
            sides, [_to_revived_folder(decision) for decision in remaining if decision.state.row is not None], {}
        )
    )
    return outcome


def _to_revived_folder(decision: Decision) -> Decision:
    """The decision that revives a folder's row; an entry that has its name by now keeps the name."""
    row = decision.state.row
    move = Move.REINSERT if row is not None and row.purged else Move.REVIVE
    return replace(decision, step=Step.ROW, move=move)


async def _trash_file(sides: Sides, decision: Decision, outcome: Outcome) -> None:
    file, row = _file_of(decision), decision.state.row
    title = row.title if row else None
    sides.check_lease()
    try:
        await asyncio.to_thread(_remove_file, sides, file, decision.state.entry, title)
    except Stale:
        outcome.stale.append(decision)
    except Busy:
        outcome.later.append(decision)
    except (Refused, OSError) as error:
        _list_problem(decision, reason_of(error), outcome)
    else:
        sides.looker.index.forget(file.path)
        outcome.carried_out.append(decision)


def _remove_file(sides: Sides, file: File, entry: EntryId, title: str | None) -> None:
    reason = "deleted in Postgres"
    with lock_for(sides.tree, [file.path]):
        replacing.remove(
            sides.tree,
            sides.journal,
            file.path,
            replacing.ExpectedFile(entry, file.digest),
            replacing.Removal(reason, title=title),
        )


def _list_problem(decision: Decision, why: str, outcome: Outcome) -> None:
    path = _file_of(decision).path
    sentence = f"{path!r} was deleted in Postgres and cannot be removed: {why}"
    outcome.troubles.append(Problem(path, "unwritable", sentence, decision.state.entry))
    outcome.later.append(decision)


def _emptied_directory(decision: Decision) -> str:
    """The directory to remove with the entry if it is empty by then, or an empty string."""
    file = _file_of(decision)
    if file.kind is Kind.RECORD:
        return ""
    if file.kind is Kind.ATTACHMENT:
        return parent_of(file.path) if not file.place.name.startswith(BESIDE_PREFIX) else ""
    return directory_of(file.path, file.kind)


def _remove_directory(sides: Sides, path: str, failed: dict[str, str]) -> bool:
    """Remove an empty directory; return whether it is gone. failed: reason by path that cannot be removed; grows."""
    why = next((why for below, why in failed.items() if below.startswith(f"{path}/")), None)
    if why is not None:
        failed[path] = why
        return False
    try:
        is_removed = _try_remove(sides, path)
    except (Refused, OSError) as error:
        failed[path] = reason_of(error)
        return False
    if is_removed:
        sides.looker.index.forget(path)
    return is_removed


def _try_remove(sides: Sides, path: str) -> bool:
    stat = sides.tree.stat(path)
    if stat is None:
        return True
    if not stat.is_directory:
        return False
    sides.tree.remove_directory(f"{path}/assets")
    return sides.tree.remove_directory(path)


def _file_of(decision: Decision) -> File:
    assert isinstance(decision.state.file, File)
    return decision.state.file
