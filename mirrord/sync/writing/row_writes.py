"""Writes to rows what files say, by compare-and-set, with the base in the same transaction."""

import asyncio
from collections.abc import Mapping, Sequence

import psycopg

from mirrord.db.content import entry_tables
from mirrord.db.content.altered_rows import refusal_of
from mirrord.db.content.entry_tables import load_locked_rows
from mirrord.db.content.entry_writes import PageValues, defer_names, run_statements
from mirrord.db.database import Connection
from mirrord.db.open_issues import Problem
from mirrord.db.transactions import TransactionChanges
from mirrord.domain.entry import FILE_ACTOR, File, Kind
from mirrord.errors import Busy, Damaged, Locked, Refused, Stale, UserError
from mirrord.markdown.frontmatter.page_properties import Views
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.mirror.tree.tree_layout import by_depth, printable
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove
from mirrord.sync.decisions.move_groups import group_by_names, moving_entries, select_waiting
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.row_names import find_free_names, names_like
from mirrord.sync.writing.entry_bodies import MAX_LOOP_BYTES, body_of, data_of, text_of
from mirrord.sync.writing.row_statements import PreparedWrite, new_base, statements_for, update_statement
from mirrord.sync.writing.write_outcomes import (
    Outcome,
    concerns_rows,
    judge_failure,
    judge_unwritten,
    refused_outcome,
    twin_problem,
)

BATCH_ENTRIES = 200  # entries a transaction


async def write_to_rows(sides: Sides, decisions: Sequence[Decision], views: Mapping[str, Views]) -> Outcome:
    """Carry out decisions for rows, parents first, many in one transaction. views: by path, of pages just read."""
    outcome = Outcome()
    ordered = sorted(decisions, key=order_of)
    for start in range(0, len(ordered), BATCH_ENTRIES):
        batch = ordered[start : start + BATCH_ENTRIES]
        chunk = _select_ready(batch, outcome) if outcome.later else batch
        if len(chunk) == 1 and _is_small_and_read(chunk[0]):  # a turn of a thread would only delay an edit
            prepared = read_bodies(sides, chunk, views, outcome)
        else:
            prepared = await asyncio.to_thread(read_bodies, sides, chunk, views, outcome)
        outcome.add(await _write_together(sides, prepared))
    await entry_tables.keep_statistics(sides.database, sides.tenant, len(ordered))
    return outcome


def _select_ready(decisions: Sequence[Decision], outcome: Outcome) -> Sequence[Decision]:
    """The decisions that do not depend on an entry of an earlier batch that waits; the others wait, too."""
    waiting = select_waiting([[decision] for decision in decisions], (), moving_entries(outcome.later))
    outcome.later += [decision for decision in decisions if decision.state.entry in waiting]
    return [decision for decision in decisions if decision.state.entry not in waiting]


def order_of(decision: Decision) -> tuple[bool, int, str, bool]:
    """A sort key: bases are dropped first, then parents come before children."""
    file = decision.state.file
    return (decision.move is not Move.FORGET, *by_depth(file.path if isinstance(file, File) else ""))


def read_bodies(
    sides: Sides, decisions: Sequence[Decision], views: Mapping[str, Views], outcome: Outcome
) -> list[PreparedWrite]:
    """Read the files whose contents go to rows; blocking. Those that cannot be read are added to *outcome*."""
    prepared = []
    for decision in decisions:
        file = decision.state.file
        try:
            if not isinstance(file, File) or not _needs_body(decision):
                prepared.append(PreparedWrite(decision, b"", PageValues(None)))
                continue
            data = b"" if file.kind is Kind.FOLDER else data_of(sides.tree, file)
            known_views = views.get(file.path) if file.data is not None else None
            prepared.append(PreparedWrite(decision, data, body_of(file, data, known_views)))
        except (Stale, FileNotFoundError):
            outcome.stale.append(decision)
        except Busy:
            outcome.later.append(decision)
        except (Damaged, Refused) as error:
            path = printable(decision.state.file.path)  # type: ignore[union-attr]
            outcome.troubles.append(Problem(path, "damaged", str(error), decision.state.entry))
    return prepared


def _is_small_and_read(decision: Decision) -> bool:
    """Whether the file is in memory already, and small."""
    file = decision.state.file
    return isinstance(file, File) and file.data is not None and len(file.data) <= MAX_LOOP_BYTES


def _needs_body(decision: Decision) -> bool:
    if decision.place is PlaceMove.TO_ROW:
        return False
    return decision.move in (Move.INSERT, Move.REINSERT, Move.TO_ROW, Move.REVIVE)


async def _write_together(sides: Sides, prepared: Sequence[PreparedWrite]) -> Outcome:
    """Write in one transaction; if rows are in each other's way, group by group, so that only those rows wait."""
    if not prepared:
        return Outcome()
    try:
        return await _write_rows(sides, prepared)
    except Locked:
        return await _write_unlocked(sides, prepared)
    except (psycopg.Error, UserError) as error:
        if not concerns_rows(error):
            raise
        write_of = {write.decision.state.entry: write for write in prepared}
        outcome = Outcome()
        for decisions in group_by_names(write.decision for write in prepared):
            group = [write_of[decision.state.entry] for decision in decisions]
            outcome.add(await (_write_alone(sides, group[0]) if len(group) == 1 else _write_circle(sides, group)))
        return outcome


async def _write_circle(sides: Sides, group: Sequence[PreparedWrite]) -> Outcome:
    try:
        return await _write_rows(sides, group)
    except (psycopg.Error, UserError) as error:
        if not concerns_rows(error):
            raise
        outcome = Outcome()
        if (refusal := refusal_of(error)) is not None:  # one alone would take the path of a file that stays unrecorded
            for member in group:
                outcome.add(refused_outcome(member.decision, refusal, is_joint=True))
            return outcome
        moves_first = sorted(group, key=lambda member: member.decision.place is not PlaceMove.TO_ROW)
        for member in moves_first:  # they free names
            outcome.add(await _write_alone(sides, member))
        return outcome


async def _write_unlocked(sides: Sides, prepared: Sequence[PreparedWrite]) -> Outcome:
    """Write the rows that no app holds; the others later."""
    locked = await load_locked_rows(sides.database, sides.tenant, [write.decision.state.entry for write in prepared])
    waiting = select_waiting(group_by_names(write.decision for write in prepared), locked)
    if not waiting:  # the lock was released just now, or it is on something that all rows need
        return Outcome(later=[write.decision for write in prepared])
    outcome = Outcome(later=[write.decision for write in prepared if write.decision.state.entry in waiting])
    free = [write for write in prepared if write.decision.state.entry not in waiting]
    outcome.add(await _write_together(sides, free))
    return outcome


async def _write_alone(sides: Sides, prepared: PreparedWrite) -> Outcome:
    """Write one row; if a sibling has its name, under the next free name."""
    decision, file = prepared.decision, prepared.decision.state.file
    names = names_like(file.place.name, file.kind) if isinstance(file, File) else iter(("",))
    while (name := next(names, None)) is not None:
        try:
            outcome = await _write_rows(sides, [prepared], name)
        except (psycopg.Error, UserError) as error:
            if not concerns_rows(error):
                raise
            if (outcome_of_failure := await judge_failure(sides, decision, error)) is not None:
                return outcome_of_failure
            assert isinstance(file, File)
            names = iter(await find_free_names(sides, decision.state.entry, file.kind, file.place, list(names)))
        else:
            if isinstance(file, File) and name != file.place.name and outcome.carried_out:
                outcome.stale.append(decision)  # the file is still to be renamed
                outcome.troubles.append(twin_problem(decision, file, name))
            return outcome
    return Outcome(later=[decision])


class _Unwritten(Exception):
    """
    Writes matched no row, and others depend on them: one takes the path of another base, or its name.

    outcome: of all writes that matched no row.
    """

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


async def _write_rows(sides: Sides, prepared: Sequence[PreparedWrite], name: str | None = None) -> Outcome:
    """Write rows in one transaction. name: of a single row that may not have its file's name."""
    try:
        return await _write_in_transaction(sides, prepared, name)
    except _Unwritten as error:
        outcome = error.outcome
    unwritten = {decision.state.entry for decision in (*outcome.stale, *outcome.later)}
    write_of, others = {write.decision.state.entry: write for write in prepared}, list[PreparedWrite]()
    for decisions in group_by_names(write.decision for write in prepared):
        if unwritten.isdisjoint(decision.state.entry for decision in decisions):
            others += [write_of[decision.state.entry] for decision in decisions]
        else:
            waiting = outcome.later if outcome.later else outcome.stale
            waiting += [decision for decision in decisions if decision.state.entry not in unwritten]
    if others:
        outcome.add(await _write_rows(sides, others, name))
    return outcome


async def _write_in_transaction(sides: Sides, prepared: Sequence[PreparedWrite], name: str | None) -> Outcome:
    """Like _write_rows(). Raises _Unwritten, and writes nothing, if a base or row would lose its place for nothing."""
    async with (
        sides.own_changes.committing() as changes,
        sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR, changes) as connection,
    ):
        moves = [write for write in prepared if write.decision.place is PlaceMove.TO_ROW]
        succeeding = [  # directories of folders that pages took over; run after all moves, because they depend on names
            sides.writer.replace_folder(state.entry, state.file.succeeds)
            for state in (move.decision.state for move in moves)
            if isinstance(state.file, File) and state.file.succeeds
        ]
        if moves and (succeeding or len(prepared) > 1):
            await defer_names(connection)  # a row may take the name that another gives up
        groups = [await statements_for(connection, sides, write, name) for write in prepared]
        results = await run_statements(
            connection, [*(statement for group in groups for statement in group), *succeeding]
        )
        if name is None and all(_makes_equal(write.decision) for write in prepared):
            changes.expected_entries = len(prepared)
        outcome, unwritten = Outcome(), Outcome()
        end, has_taken_path = 0, False
        for write, group in zip(prepared, groups, strict=True):
            end += len(group)
            if results[end - 1] is not None:
                outcome.carried_out.append(write.decision)
                continue
            unwritten.add(await judge_unwritten(connection, sides, write.decision))
            has_taken_path |= any(version is not None for version in results[end - len(group) : end])
        if has_taken_path or _is_any_joint(prepared, unwritten):
            raise _Unwritten(unwritten)
        outcome.add(unwritten)
    return outcome


def _is_any_joint(prepared: Sequence[PreparedWrite], unwritten: Outcome) -> bool:
    """Whether one of the *unwritten* rows gives up or takes the name of another one."""
    entries = {decision.state.entry for decision in (*unwritten.stale, *unwritten.later)}
    if not entries:
        return False
    groups = group_by_names(write.decision for write in prepared)
    return any(len(group) > 1 and any(each.state.entry in entries for each in group) for group in groups)


async def write_save(
    connection: Connection,
    sides: Sides,
    decision: Decision,
    page: PageText,
    changes: TransactionChanges,
) -> int | None:
    """
    Write the page of a plain save in the open transaction; returns its version. None: it had not the expected one.

    page: the text of its file.
    """
    file = decision.state.file
    assert isinstance(file, File)
    assert file.data is not None
    write = PreparedWrite(decision, file.data, text_of(page))
    statement = update_statement(sides, write, new_base(decision.state, file))
    (version,) = await run_statements(connection, [statement])
    changes.expected_entries = 1 if version is not None else None
    return version


def _makes_equal(decision: Decision) -> bool:
    """Whether row and base are equal after the write, so that the feed has no news of it."""
    row = decision.state.row
    is_new = decision.move is Move.INSERT
    is_text = decision.move is Move.TO_ROW and row is not None and row.placed and not row.ahead
    return (is_new or is_text) and decision.place is PlaceMove.NOTHING
