"""Writes all decisions about an applied change set to rows in one transaction, with one place in the feed."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import psycopg

from mirrord.db.content import entry_tables
from mirrord.db.content.entry_writes import Statement, defer_names, run_statements
from mirrord.db.database import Connection
from mirrord.domain.entry import FILE_ACTOR, File, Kind
from mirrord.errors import Locked, UserError
from mirrord.markdown.frontmatter.page_properties import Views
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step, is_emptied
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.writing.row_statements import PreparedWrite, statements_for
from mirrord.sync.writing.row_writes import order_of, read_bodies
from mirrord.sync.writing.target_paths import agreed_base, moved_base
from mirrord.sync.writing.write_outcomes import Outcome, concerns_rows


@dataclass(frozen=True, slots=True)
class JointWrites:
    """
    What one transaction writes. removals: lost files whose rows become tombstones.

    writes: all others; an edit of a moved file follows its move.
    """

    writes: Sequence[Decision]
    removals: Sequence[Decision]


async def write_jointly(sides: Sides, joint: JointWrites, views: Mapping[str, Views]) -> Outcome | None:
    """
    Write all in one transaction; a row that changed meanwhile is in the outcome as stale, and only that.

    None: a row is in the way of another, or a trigger of an app refuses one, and nothing is written. views: by path, of
    pages just read.
    Raises Locked if others hold a file or a row; nothing is written then.
    """
    outcome = Outcome()
    ordered = sorted(joint.writes, key=order_of)
    prepared = await asyncio.to_thread(read_bodies, sides, ordered, views, outcome)
    edits = await asyncio.to_thread(_prepare_edits, sides, prepared, views, outcome)
    if outcome.stale or outcome.later:
        raise Locked("A file of a change set is being written by another program.")
    try:
        async with sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR) as connection:
            outcome.add(await _write_all(connection, sides, prepared, edits, joint.removals))
    except (psycopg.Error, UserError) as error:
        if not concerns_rows(error):
            raise
        return None
    await entry_tables.keep_statistics(sides.database, sides.tenant, len(ordered) + len(joint.removals))
    return outcome


def _prepare_edits(
    sides: Sides, prepared: Sequence[PreparedWrite], views: Mapping[str, Views], outcome: Outcome
) -> dict[int, PreparedWrite]:
    """The edits of moved files, by the number of the move."""
    edits: dict[int, PreparedWrite] = {}
    for number, write in enumerate(prepared):
        if (edit := _edit_after_move(write.decision)) is not None:
            edits.update(zip([number], read_bodies(sides, [edit], views, outcome), strict=False))
    return edits


def _edit_after_move(decision: Decision) -> Decision | None:
    """The edit that follows a move, of the row as the move leaves it; None: the text stays as it is."""
    state = decision.state
    file, base, row = state.file, state.base, state.row
    if decision.place is not PlaceMove.TO_ROW or decision.move is not Move.TO_ROW or is_emptied(state, decision.move):
        return None
    if not isinstance(file, File) or base is None or row is None or file.kind is not base.kind:
        return None
    agreed = moved_base(agreed_base(base, file, row), file.kind, file.path, file.place)
    moved_row = replace(row, place=file.place)
    return Decision(replace(state, base=agreed, row=moved_row), Step.ROW, Move.TO_ROW, PlaceMove.NOTHING)


def _with_version(edit: PreparedWrite, version: int) -> PreparedWrite:
    """The same edit of a row that the move gave *version*."""
    state = edit.decision.state
    assert state.base is not None
    assert state.row is not None
    moved = replace(state, base=replace(state.base, version=version), row=replace(state.row, version=version))
    return replace(edit, decision=replace(edit.decision, state=moved))


async def _write_all(
    connection: Connection,
    sides: Sides,
    prepared: Sequence[PreparedWrite],
    edits: Mapping[int, PreparedWrite],
    removals: Sequence[Decision],
) -> Outcome:
    await defer_names(connection)  # a row may take the name that another gives up
    versions = await _write_each(connection, sides, prepared)
    await run_statements(connection, _successions(sides, prepared))
    moved = {number: version for number in edits if (version := versions[number]) is not None}
    edit_versions = await _write_each(
        connection, sides, [_with_version(edits[number], version) for number, version in moved.items()]
    )
    edited = dict(zip(moved, edit_versions, strict=True))
    ordered_removals = sorted(removals, key=_depth_of, reverse=True)
    removal_versions = await run_statements(connection, [_removal_statement(sides, each) for each in ordered_removals])
    outcome = Outcome()
    for number, (write, version) in enumerate(zip(prepared, versions, strict=True)):
        decision = replace(write.decision, again=False) if edited.get(number) is not None else write.decision
        (outcome.stale if version is None else outcome.carried_out).append(decision)
    for decision, version in zip(ordered_removals, removal_versions, strict=True):
        (outcome.stale if version is None else outcome.carried_out).append(decision)
    return outcome


async def _write_each(connection: Connection, sides: Sides, prepared: Sequence[PreparedWrite]) -> list[int | None]:
    """
    Run the statements of all; the version of each row, None: it is another one than was expected.

    Raises Locked where the base of another entry would lose its path for such a row.
    """
    groups = [await statements_for(connection, sides, write, None) for write in prepared]
    versions = await run_statements(connection, [statement for group in groups for statement in group])
    ends, end = [], 0
    for group in groups:
        end += len(group)
        ends.append(end - 1)
        if versions[end - 1] is None and any(version is not None for version in versions[end - len(group) : end]):
            raise Locked("A row changed whose file has the path of another one: its base would lose that for nothing.")
    return [versions[end] for end in ends]


def _successions(sides: Sides, prepared: Sequence[PreparedWrite]) -> list[Statement]:
    """Of pages that took over the directory of a folder."""
    moves = [write.decision.state for write in prepared if write.decision.place is PlaceMove.TO_ROW]
    return [
        sides.writer.replace_folder(state.entry, state.file.succeeds)
        for state in moves
        if isinstance(state.file, File) and state.file.succeeds
    ]


def _removal_statement(sides: Sides, decision: Decision) -> Statement:
    assert decision.state.base is not None
    assert decision.state.row is not None
    return sides.writer.delete(decision.state.base, decision.state.row.version)


def _depth_of(decision: Decision) -> tuple[int, bool]:
    """Children are deeper than their parents, and a page's directory than the page."""
    base = decision.state.base
    path = base.path or "" if base is not None else ""
    return path.count("/"), base is not None and base.kind is not Kind.FOLDER
