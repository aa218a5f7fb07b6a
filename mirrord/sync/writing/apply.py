"""
Applies decisions: rows are rendered, rows written, then files; each act names what it replaces.

Among the edits about to be written to rows, saves of stale buffers are found first.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import psycopg

from mirrord.db.content import stored_bytes
from mirrord.db.content.altered_rows import refusal_of
from mirrord.db.content.stored_bytes import Revision
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import Base, EntryId, File, Kind, Row, State, UnreadableFile
from mirrord.errors import Busy, Damaged, Refused, Stale, UserError
from mirrord.markdown.frontmatter.page_properties import Views
from mirrord.markdown.frontmatter.page_text import decode
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step
from mirrord.sync.decisions.stale_buffers import merge_base
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.retries import Retries
from mirrord.sync.writing import conflict_merge
from mirrord.sync.writing.conflict_merge import conflict_of
from mirrord.sync.writing.entry_bodies import data_of
from mirrord.sync.writing.file_writes import write_files
from mirrord.sync.writing.refused_siblings import renew_sibling
from mirrord.sync.writing.row_rendering import RenderedRows, name_row, render_rows
from mirrord.sync.writing.row_writes import write_to_rows
from mirrord.sync.writing.write_outcomes import FileOutcome, refused_outcome


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
    """
    Name and render rows that apps wrote; return the new states, which need a new decision.

    So do pages that were refused: a file that changed beside one is not merged with it.
    """
    rows = {decision.state.entry: decision.state.row for decision in decisions if decision.state.row is not None}
    for decision in decisions:
        if decision.place is PlaceMove.NAME and decision.state.row is not None:
            try:
                rows[decision.state.entry] = await name_row(sides, decision.state.row)
            except Stale:
                applied.stale.append(decision)
                del rows[decision.state.entry]
            except (psycopg.Error, UserError) as error:
                if (message := refusal_of(error)) is None:
                    raise
                applied.add(refused_outcome(decision, message))
                del rows[decision.state.entry]
    unrendered = {entry: row for entry, row in rows.items() if _is_unrendered(row)}
    rendered = await render_rows(sides, unrendered) if unrendered else RenderedRows()
    applied.texts |= rendered.texts
    by_entry = {decision.state.entry: decision for decision in decisions}
    for refusal in rendered.refusals:
        doubts.note_refused(rows[refusal.entry])
        path = problem_path(by_entry[refusal.entry])
        applied.troubles.append(Problem(path, refusal.code, refusal.sentence, refusal.entry))
    for entry, message in rendered.trigger_refusals.items():
        applied.add(refused_outcome(by_entry[entry], message))
    refused = {refusal.entry for refusal in rendered.refusals} | rendered.trigger_refusals.keys()
    applied.stale += [by_entry[entry] for entry in unrendered.keys() - rendered.rows.keys() - refused]
    refused_rows = {
        refusal.entry: row for refusal in rendered.refusals if (row := rows[refusal.entry]).kind is not Kind.RECORD
    }
    changed = {entry: row for entry, row in rows.items() if entry not in unrendered} | rendered.rows | refused_rows
    return [replace(by_entry[entry].state, row=row) for entry, row in changed.items()]


def _is_unrendered(row: Row) -> bool:
    return not row.deleted and (bool(row.ahead) or row.digest is None)


async def apply_decisions(
    sides: Sides, decisions: Sequence[Decision], views: Mapping[str, Views], applied: PassOutcome
) -> None:
    """Write rows, then files. views: of the pages just read, by path."""
    to_write = [decision for decision in decisions if decision.step is Step.ROW]
    edits = [decision for decision in to_write if decision.place not in (PlaceMove.TO_ROW, PlaceMove.TO_FILE)]
    stale = await find_stale_saves(sides, edits)
    conflicts = [edit for edit in edits if edit.move in (Move.MERGE, Move.SIBLING) or edit.state.entry in stale]
    conflicting = {decision.state.entry for decision in conflicts}
    ordinary = [decision for decision in to_write if decision.state.entry not in conflicting]
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
        applied.vacated_paths |= written.vacated_paths


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
        renewed: list[EntryId] | None = None
        if decision.move is Move.SIBLING:
            renewed = await renew_sibling(sides, conflict)
            conflict = replace(conflict, ancestor=None)
        elif buffer_revision is not None:
            conflict = replace(
                conflict, ancestor=buffer_revision.digest, ancestor_version=buffer_revision.version, stale=True
            )
        applied.entries_to_check += renewed or await conflict_merge.merge_conflict(sides, conflict)
    except (Stale, FileNotFoundError):
        applied.stale.append(decision)
    except Busy:
        applied.later.append(decision)
    except (Damaged, Refused) as error:
        applied.troubles.append(Problem(file.path, "damaged", str(error), decision.state.entry))
    except (psycopg.Error, UserError) as error:
        if (refusal := refusal_of(error)) is None:
            raise
        applied.add(refused_outcome(decision, refusal))
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


async def find_stale_saves(sides: Sides, decisions: Sequence[Decision]) -> dict[EntryId, Revision]:
    """
    Find the version that each stale buffer was made from, by entry: its file was saved from a text older than the base.

    The version has the bytes of the file itself if an editor saved an older text once more.
    """
    suspects = [pair for decision in decisions for pair in _select_suspect(decision) if _may_show_older(sides, *pair)]
    if suspects:  # a command read the text that it replaced
        written_entries = await asyncio.to_thread(sides.written_entries.of_tree, sides.tree)
        suspects = [(file, base) for file, base in suspects if written_entries.get(file.digest) != base.entry]
    if not suspects:
        return {}
    async with sides.database.transaction(sides.tenant) as connection:
        questions = [(base.entry, file.digest) for file, base in suspects]
        known_entries = await stored_bytes.newest_page_versions(connection, sides.tenant, questions)
        suspects = [
            (file, base)
            for file, base in suspects
            if base.entry not in known_entries or _is_repeated(sides, file, base)
        ]
        shown_revisions = await stored_bytes.load_shown_versions(
            connection, sides.tenant, [base for _, base in suspects]
        )
    revisions = {}
    for file, base in suspects:
        revision = await asyncio.to_thread(_find_revision, sides, file, base, shown_revisions[base.entry])
        if revision is not None:
            revisions[base.entry] = revision
    return revisions


def _select_suspect(decision: Decision) -> Iterator[tuple[File, Base]]:
    """File and base of an edit, if the base is not a text that was saved in this file itself."""
    file, base = decision.state.file, decision.state.base
    if decision.move not in (Move.TO_ROW, Move.MERGE) or not isinstance(file, File) or base is None:
        return
    if file.kind is Kind.PAGE and base.kind is Kind.PAGE and base.version > max(base.saved or 0, 1):
        yield file, base


def _may_show_older(sides: Sides, file: File, base: Base) -> bool:
    """Whether the save came so soon after mirrord's write that the editor may not have read it."""
    cached_stat = sides.looker.index.get(file.path)
    return cached_stat is not None and sides.old_buffers.may_show_older(base.entry, cached_stat.ctime_ns)


def _is_repeated(sides: Sides, file: File, base: Base) -> bool:
    """Whether a known text is the buffer that was saved and merged a moment ago, not an intended undo."""
    return sides.old_buffers.is_repeated(base.entry, file.digest)


def _find_revision(sides: Sides, file: File, base: Base, revisions: Sequence[Revision]) -> Revision | None:
    if len(revisions) < 2 or revisions[-1].digest != base.digest:
        return None
    repeated = next((revision for revision in revisions if revision.digest == file.digest), None)
    if repeated is not None:
        return repeated
    saved_text = None
    with suppress(
        Stale, Busy, Damaged, Refused, FileNotFoundError
    ):  # the write itself meets the same error and reports it
        saved_text = decode(data_of(sides.tree, file))
    if saved_text is None:
        return None
    base_text = merge_base([revision.text for revision in revisions[:-1]], revisions[-1].text, saved_text)
    return next((revision for revision in revisions if revision.text == base_text), None)
