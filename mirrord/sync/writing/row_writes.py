"""Writes to rows what files say, by compare-and-set, with the base in the same transaction."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import psycopg

from mirrord.db.content import entry_states, entry_tables
from mirrord.db.content.altered_rows import OMITTED, refusal_of
from mirrord.db.content.entry_tables import load_locked_rows
from mirrord.db.content.entry_writes import PageValues, defer_names, run_statements
from mirrord.db.database import Connection
from mirrord.db.open_issues import Problem
from mirrord.db.transactions import TransactionChanges
from mirrord.domain.entry import FILE_ACTOR, EntryId, File, Kind
from mirrord.errors import Busy, Damaged, Locked, Refused, Stale, UserError
from mirrord.markdown.frontmatter.page_properties import Views
from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.mirror.tree.tree_layout import by_depth, printable
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove
from mirrord.sync.decisions.move_groups import group_by_names, moving_entries, select_waiting
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.row_names import find_free_names, names_like
from mirrord.sync.writing.entry_bodies import body_of, data_of, text_of
from mirrord.sync.writing.row_statements import PreparedWrite, new_base, statements_for, update_statement
from mirrord.sync.writing.target_paths import directory_above, path_in

BATCH_ENTRIES = 200  # entries a transaction
MAX_LOOP_BYTES = 20_000  # bytes of a text that is parsed on the event loop


@dataclass(slots=True)
class Outcome:
    """
    The outcome of decisions.

    carried_out: the base is recorded. stale: look again now. later: look again in a while. refused: moves that would
    put a page below itself, because rows moved meanwhile. hindered_by: by entry that waits, the entries in its way, to
    be looked at together. barred: entries that wait for a mount, to be looked at with the whole tree. renamed: files
    and directories, (old, new). unsure: paths where a call failed, so that the tree there and below is unknown.
    reformed: paths of moved entries that are of another kind than their base. carried_along: entries whose files went
    along with the directory of another entry than their parent.
    """

    carried_out: list[Decision] = field(default_factory=list)
    stale: list[Decision] = field(default_factory=list)
    later: list[Decision] = field(default_factory=list)
    refused: list[Decision] = field(default_factory=list)
    hindered_by: dict[EntryId, set[EntryId]] = field(default_factory=dict)
    barred: set[EntryId] = field(default_factory=set)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    unsure: set[str] = field(default_factory=set)
    reformed: set[str] = field(default_factory=set)
    carried_along: set[EntryId] = field(default_factory=set)
    troubles: list[Problem] = field(default_factory=list)

    def add(self, other: "Outcome") -> None:
        """Add the outcome of further decisions."""
        self.carried_out += other.carried_out
        self.stale += other.stale
        self.later += other.later
        self.refused += other.refused
        self.hindered_by |= other.hindered_by
        self.barred |= other.barred
        self.renamed += other.renamed
        self.unsure |= other.unsure
        self.reformed |= other.reformed
        self.carried_along |= other.carried_along
        self.troubles += other.troubles


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


def concerns_rows(error: psycopg.Error | UserError) -> bool:
    """Whether *error* is about single rows, so that others can be written without them."""
    return isinstance(error, psycopg.errors.IntegrityError) or refusal_of(error) is not None


async def _write_circle(sides: Sides, group: Sequence[PreparedWrite]) -> Outcome:
    try:
        return await _write_rows(sides, group)
    except (psycopg.Error, UserError) as error:
        if not concerns_rows(error):
            raise
        outcome = Outcome()
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
            if (outcome_of_failure := await _judge_failure(sides, decision, error)) is not None:
                return outcome_of_failure
            assert isinstance(file, File)
            names = iter(await find_free_names(sides, decision.state.entry, file.kind, file.place, list(names)))
        else:
            if isinstance(file, File) and name != file.place.name and outcome.carried_out:
                outcome.stale.append(decision)  # the file is still to be renamed
                outcome.troubles.append(_twin_problem(decision, file, name))
            return outcome
    return Outcome(later=[decision])


async def _judge_failure(sides: Sides, decision: Decision, error: psycopg.Error | UserError) -> Outcome | None:
    """The outcome of a write that failed with *error*; None: a sibling has the name, and another one is to be tried."""
    if (refusal := refusal_of(error)) is not None:
        return refused_outcome(decision, refusal)
    if isinstance(error, psycopg.errors.CheckViolation):
        return Outcome(refused=[decision])
    if not isinstance(error, psycopg.errors.UniqueViolation):
        return Outcome(stale=[decision])  # the parent was deleted meanwhile
    constraint = error.diag.constraint_name or ""
    if constraint == "record_key_is_free":
        return await _retry_or_report_namesake(sides, decision)
    is_name = "name_is_free" in constraint and isinstance(decision.state.file, File)
    return None if is_name else Outcome(stale=[decision])


def refused_outcome(decision: Decision, refusal: str) -> Outcome:
    """The outcome for a row that a trigger of an app refuses: both sides stay as they are, and it is tried again."""
    file, base = decision.state.file, decision.state.base
    path = file.path if file is not None else (base.path if base is not None else None) or str(decision.state.entry)
    problem = Problem(printable(path), "trigger", refusal_sentence(path, refusal), decision.state.entry)
    return Outcome(later=[decision], troubles=[problem])


def refusal_sentence(path: str, refusal: str) -> str:
    """What a problem says of a row that a trigger of an app refuses."""
    return f"A trigger of an app refuses the row of {path!r}: {refusal.rstrip('.')}. Both sides stay as they are."


async def _retry_or_report_namesake(sides: Sides, decision: Decision) -> Outcome:
    """
    The outcome for a record whose name another row has: in that spelling, look again; in another case, a problem.

    In the first case the file may belong to the new row, and a deleted row gives it up: a record is what it is called.
    """
    file = decision.state.file
    assert isinstance(file, File)
    async with sides.database.transaction(sides.tenant, sides.fence) as connection:
        if not await entry_states.is_record_name(connection, sides.tenant, file.place.name):
            return Outcome(later=[decision], troubles=[_namesake_problem(decision, file)])
        if decision.move in (Move.REVIVE, Move.REINSERT):
            await run_statements(connection, [sides.writer.delete_base(decision.state.entry)])
    return Outcome(stale=[decision])


def _namesake_problem(decision: Decision, file: File) -> Problem:
    """The problem of two records whose names differ in case; a record's name cannot get a number."""
    sentence = f"{file.path!r} has the name of another record but for case; rename one of them, or delete it."
    return Problem(file.path, "in-the-way", sentence, decision.state.entry)


def _twin_problem(decision: Decision, file: File, name: str) -> Problem:
    above = directory_above(file.path, file.kind, index=file.place.index)
    path = path_in(above, file.kind, replace(file.place, name=name))
    sentence = f"{path!r} was {file.path!r}: a sibling has the same name but for case or spelling, so it got a number."
    return Problem(path, "twin", sentence, decision.state.entry)


async def _write_rows(sides: Sides, prepared: Sequence[PreparedWrite], name: str | None = None) -> Outcome:
    """Write rows in one transaction. name: of a single row that may not have its file's name."""
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
        outcome = Outcome()
        end = 0
        for write, group in zip(prepared, groups, strict=True):
            end += len(group)
            if results[end - 1] is not None:
                outcome.carried_out.append(write.decision)
            else:
                outcome.add(await judge_unwritten(connection, sides, write.decision))
    return outcome


async def write_save(
    connection: Connection,
    sides: Sides,
    decision: Decision,
    views: Mapping[str, Views],
    changes: TransactionChanges,
) -> bool:
    """Write the page of a plain save in the open transaction; returns whether it still had the expected version."""
    file = decision.state.file
    assert isinstance(file, File)
    assert file.data is not None
    write = PreparedWrite(decision, file.data, text_of(PageText(decode(file.data)), views.get(file.path)))
    statement = update_statement(sides, write, new_base(decision.state, file))
    (version,) = await run_statements(connection, [statement])
    changes.expected_entries = 1 if version is not None else None
    return version is not None


async def judge_unwritten(connection: Connection, sides: Sides, decision: Decision) -> Outcome:
    """The outcome of a write that matched no row: the row changed meanwhile, or a trigger of an app left it out."""
    rows = await entry_states.load_rows(connection, sides.tenant, [decision.state.entry])
    row, expected = rows.get(decision.state.entry), decision.state.row
    is_new = decision.move in (Move.INSERT, Move.REINSERT)
    is_write = decision.move in (Move.TO_ROW, Move.REVIVE, Move.ENTOMB) or decision.place is PlaceMove.TO_ROW
    is_as_expected = row is None if is_new else row is not None and expected is not None and is_write
    if is_as_expected and (row is None or expected is None or row.version == expected.version):
        return refused_outcome(decision, OMITTED)
    return Outcome(stale=[decision])


def _makes_equal(decision: Decision) -> bool:
    """Whether row and base are equal after the write, so that the feed has no news of it."""
    row = decision.state.row
    is_new = decision.move is Move.INSERT
    is_text = decision.move is Move.TO_ROW and row is not None and row.placed and not row.ahead
    return (is_new or is_text) and decision.place is PlaceMove.NOTHING
