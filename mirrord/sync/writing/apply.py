"""Applies decisions: rows are rendered, rows written, then files; each act names what it replaces."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mirrord.db.content.stored_bytes import Revision
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import EntryId, File, Row, State, UnreadableFile
from mirrord.errors import Busy, Damaged, Refused, Stale
from mirrord.markdown.frontmatter.page_properties import Views
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.retries import Retries
from mirrord.sync.writing import conflict_merge
from mirrord.sync.writing.conflict_merge import conflict_of
from mirrord.sync.writing.entry_bodies import data_of
from mirrord.sync.writing.file_writes import FileOutcome, write_files
from mirrord.sync.writing.row_rendering import RenderedRows, name_row, render_rows
from mirrord.sync.writing.row_writes import write_to_rows
from mirrord.sync.writing.stale_saves import find_stale_saves


@dataclass(slots=True)
class PassOutcome(FileOutcome):
    """
    The outcome of a pass.

    entries_to_check: other entries to look at next, such as conflict siblings. texts: texts of rows rendered in this
    pass.
    """

    entries_to_check: list[EntryId] = field(default_factory=list)
    texts: dict[EntryId, bytes] = field(default_factory=dict)


async def prepare_rows(
    sides: Sides, decisions: Sequence[Decision], doubts: Retries, applied: PassOutcome
) -> list[State]:
    """Name and render rows that apps wrote; return the new states, which need a new decision."""
    rows = {decision.state.entry: decision.state.row for decision in decisions if decision.state.row is not None}
    for decision in decisions:
        if decision.place is PlaceMove.NAME and decision.state.row is not None:
            try:
                rows[decision.state.entry] = await name_row(sides, decision.state.row)
            except Stale:
                applied.stale.append(decision)
                del rows[decision.state.entry]
    unrendered = {entry: row for entry, row in rows.items() if _is_unrendered(row)}
    rendered = await render_rows(sides, unrendered) if unrendered else RenderedRows()
    applied.texts |= rendered.texts
    by_entry = {decision.state.entry: decision for decision in decisions}
    for refusal in rendered.refusals:
        doubts.note_refused(refusal.entry, refusal.version)
        applied.troubles.append(
            Problem(problem_path(by_entry[refusal.entry]), "render", refusal.sentence, refusal.entry)
        )
    refused = {refusal.entry for refusal in rendered.refusals}
    applied.stale += [by_entry[entry] for entry in unrendered.keys() - rendered.rows.keys() - refused]
    changed = {entry: row for entry, row in rows.items() if entry not in unrendered} | rendered.rows
    return [replace(by_entry[entry].state, row=row) for entry, row in changed.items()]


def _is_unrendered(row: Row) -> bool:
    return not row.deleted and (bool(row.ahead) or row.digest is None)


async def apply_decisions(
    sides: Sides, decisions: Sequence[Decision], views: Mapping[str, Views], applied: PassOutcome
) -> None:
    """Write rows, then files. views: of the pages just read, by path."""
    to_write = [decision for decision in decisions if decision.step is Step.ROW]
    stale = await find_stale_saves(sides, [decision for decision in to_write if _changes_content(decision)])
    conflicts = [decision for decision in to_write if _is_conflict(decision) or decision.state.entry in stale]
    ordinary = [decision for decision in to_write if not (_is_conflict(decision) or decision.state.entry in stale)]
    if ordinary:
        applied.add(await write_to_rows(sides, ordinary, views))
    for decision in conflicts:
        await _merge_conflict(sides, decision, applied, stale.get(decision.state.entry))
    files = [decision for decision in decisions if decision.step is Step.FILE]
    # a refused place goes back to the row's (docs/design/sync.md, L7)
    files += [replace(decision, step=Step.FILE, place=PlaceMove.TO_FILE) for decision in applied.refused]
    if files:
        written = await write_files(sides, files, applied.texts)
        applied.add(written)
        applied.written_paths |= written.written_paths
        applied.displaced_saves += written.displaced_saves
        applied.occupied_paths |= written.occupied_paths


def _changes_content(decision: Decision) -> bool:
    return decision.place not in (PlaceMove.TO_ROW, PlaceMove.TO_FILE)


def _is_conflict(decision: Decision) -> bool:
    return _changes_content(decision) and decision.move in (Move.MERGE, Move.SIBLING)


async def _merge_conflict(
    sides: Sides, decision: Decision, applied: PassOutcome, buffer_revision: Revision | None
) -> None:
    """buffer_revision: the version in a stale editor buffer; None: the file was made from the base."""
    file = decision.state.file
    assert isinstance(file, File)
    try:
        data = await asyncio.to_thread(data_of, sides.tree, file)
        conflict = conflict_of(decision.state, data)
        if buffer_revision is not None:
            sides.old_buffers.note_save(decision.state.entry, file.digest)
        if decision.move is Move.SIBLING:
            conflict = replace(conflict, ancestor=None)
        elif buffer_revision is not None:
            conflict = replace(
                conflict, ancestor=buffer_revision.digest, ancestor_version=buffer_revision.version, stale=True
            )
        applied.entries_to_check += await conflict_merge.merge_conflict(sides, conflict)
    except (Stale, FileNotFoundError):
        applied.stale.append(decision)
    except Busy:
        applied.later.append(decision)
    except (Damaged, Refused) as error:
        applied.troubles.append(Problem(file.path, "damaged", str(error), decision.state.entry))
    else:
        applied.carried_out.append(replace(decision, move=Move.MERGE, again=True) if buffer_revision else decision)


def path_of(decision: Decision) -> str | None:
    """The path of the entry's file now, or else in the base."""
    file, base = decision.state.file, decision.state.base
    return file.path if file is not None else base.path if base is not None else None


def problem_path(decision: Decision) -> str:
    """The path under which a problem lists the entry, else its name."""
    row = decision.state.row
    return path_of(decision) or (row.place.name if row and row.place.name else str(decision.state.entry))


def is_temporarily_blocked(decision: Decision) -> bool:
    """Whether the obstacle is temporary."""
    return isinstance(decision.state.file, UnreadableFile) and decision.state.file.is_temporary
