"""Writes into the tree what rows say, verifies it, and records it as agreed."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from mirrord.db.content import derived_rows, record_rows, stored_bytes
from mirrord.db.content.entry_writes import run_statements
from mirrord.db.database import Connection
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import NO_TEXT, Base, Digest, EntryId, File, Kind, Place, Row, State, digest_of
from mirrord.errors import Busy, Refused, Stale, reason_of
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.mirror.state_file import cached_stat
from mirrord.mirror.tree.tree_layout import page_path, parent_of
from mirrord.mirror.write import replace as replacing
from mirrord.mirror.write.replace import Written
from mirrord.mirror.write.tree_locks import lock_for
from mirrord.sync.decisions.entry_decision import Decision, PlaceMove
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.writing.file_moves import move_files
from mirrord.sync.writing.folder_writes import (
    entries_with_base_at,
    has_directory,
    make_folder,
    note_directories,
    note_mount,
    row_of,
)
from mirrord.sync.writing.target_paths import split_into_generations, target_paths, without_content, without_hosted
from mirrord.sync.writing.write_outcomes import FileOutcome

MAX_PARALLEL_WRITES = 4  # writes at the same time: they wait for fsync, not for the processor


@dataclass(frozen=True, slots=True)
class _Writing:
    """What one call of write_files() writes. texts: the bytes of rows; those that are missing cannot be written."""

    sides: Sides
    texts: Mapping[EntryId, bytes]
    outcome: FileOutcome


async def write_files(sides: Sides, decisions: Sequence[Decision], texts: Mapping[EntryId, bytes]) -> FileOutcome:
    """Carry out decisions for files, parents first. texts: the row texts that are in memory already."""
    outcome = FileOutcome()
    moves = [decision for decision in decisions if decision.place is PlaceMove.TO_FILE]
    evicted = await _select_evicted(sides, moves)
    moves = [decision for decision in moves if decision.state.entry not in evicted]
    writes = [
        decision for decision in decisions if decision.place is not PlaceMove.TO_FILE or decision.state.entry in evicted
    ]
    folders = [decision for decision in writes if row_of(decision).digest == NO_TEXT]
    contents = [decision for decision in writes if row_of(decision).digest != NO_TEXT]
    if sides.crowded is not None:
        outcome.later, contents = contents, []
    is_in_place = not moves and not folders and all(map(_current_path, contents))
    has_all_texts = all(decision.state.entry in texts for decision in contents)
    if is_in_place and has_all_texts:  # for example after an app wrote one page
        await _write_all(_Writing(sides, texts, outcome), contents, {})
        return outcome
    async with sides.database.transaction(sides.tenant) as connection:
        paths = await target_paths(connection, sides, _rows_of(decisions))
        data = await _load_bytes(connection, sides, contents) if contents else {}
    noted = await note_directories(sides, folders, paths)
    if moves:
        await move_files(sides, moves, await _paths_of_moves(sides, moves, writes, paths), outcome)
        async with sides.database.transaction(sides.tenant) as connection:  # a folder that had to wait has its old path
            paths = await target_paths(connection, sides, _rows_of(writes))
    paths = await without_hosted(sides, _rows_of(writes), paths, paths.keys())
    await _write_parents_first(_Writing(sides, data, outcome), writes, paths)
    if noted:
        await asyncio.to_thread(sides.unrecorded_files.forget, sides.state, noted)
    return outcome


async def _paths_of_moves(
    sides: Sides, moves: Sequence[Decision], writes: Sequence[Decision], paths: Mapping[EntryId, str]
) -> dict[EntryId, str]:
    """*paths* without those below new entries of *writes* in the directories of entries that stay."""
    new_entries = {decision.state.entry for decision in writes if decision.state.base is None}
    leaving = {decision.state.entry for decision in moves}
    return await without_hosted(sides, _rows_of([*moves, *writes]), paths, new_entries, leaving)


async def _write_parents_first(writing: _Writing, decisions: Sequence[Decision], paths: Mapping[EntryId, str]) -> None:
    """
    Write files and make directories.

    What lies below a page or folder that gets no directory now waits (docs/design/sync.md, F6): it is another's.
    """
    rows = _rows_of(decisions)
    for generation in split_into_generations(rows):
        members = [decision for decision in decisions if decision.state.entry in generation]
        for decision in members:
            if row_of(decision).digest == NO_TEXT:
                await make_folder(writing.sides, decision, paths, writing.outcome)
        contents = [decision for decision in members if row_of(decision).digest != NO_TEXT]
        if writing.sides.crowded is None:
            await _write_all(writing, contents, paths)
        unmade = {
            decision.state.entry
            for decision in members
            if not has_directory(decision, writing.outcome, paths.get(decision.state.entry))
        }
        paths = without_content(unmade, rows, paths) if unmade else paths


async def _select_evicted(sides: Sides, moves: Sequence[Decision]) -> set[EntryId]:
    """Select folders whose directory holds another page's `_index.md`: they get a new directory and leave this one."""
    evicted = set()
    for decision in moves:
        file, row = decision.state.file, row_of(decision)
        if not isinstance(file, File) or not (file.kind is row.kind is Kind.FOLDER):
            continue
        path = page_path("", file.path, index=True)
        if path in sides.looker.index and await entries_with_base_at(sides, path, row.entry):
            evicted.add(row.entry)
    return evicted


async def _write_all(writing: _Writing, decisions: Sequence[Decision], paths: Mapping[EntryId, str]) -> None:
    if not decisions:
        return
    sides, limit = writing.sides, asyncio.Semaphore(MAX_PARALLEL_WRITES)
    creations = _digests_of_new_files(decisions, writing.texts)
    if creations:
        await asyncio.to_thread(sides.unrecorded_files.note, sides.state, creations)

    async def write_limited(decision: Decision) -> Base | None:
        async with limit:
            return await _write_file(writing, decision, paths)

    bases = await asyncio.gather(*map(write_limited, decisions))
    if written := [base for base in bases if base is not None]:
        await _record(sides, decisions, written, writing.outcome)
    if creations:
        await asyncio.to_thread(sides.unrecorded_files.forget, sides.state, creations.keys())


def _digests_of_new_files(decisions: Sequence[Decision], data: Mapping[EntryId, bytes]) -> dict[EntryId, Digest]:
    rows = [row_of(decision) for decision in decisions if decision.state.base is None]
    return {row.entry: row.digest for row in rows if row.entry in data and row.digest is not None}


async def _record(sides: Sides, decisions: Sequence[Decision], written: Sequence[Base], outcome: FileOutcome) -> None:
    with ExitStack() as unrecorded:
        for path in outcome.written_paths.keys() & {base.path for base in written}:
            unrecorded.callback(sides.looker.index.forget, path)  # not recorded: the next look finds our file
            unrecorded.callback(sides.occupied_paths.note, outcome.written_paths[path], time.monotonic())
        if len(decisions) == 1 and _keeps_path(decisions[0], written[0]):
            await sides.writer.store_base_alone(sides.database, sides.fence, written[0])
        else:
            await _store_bases(sides, written)
        unrecorded.pop_all()


async def _store_bases(sides: Sides, bases: Sequence[Base]) -> None:
    writer = sides.writer
    statements = [*map(writer.clear_path_of_others, bases), *map(writer.store_base, bases)]
    async with sides.database.transaction(sides.tenant, sides.fence) as connection:
        await run_statements(connection, statements)


def _keeps_path(decision: Decision, written: Base) -> bool:
    """Whether the entry had this path before, so that no other entry's base has it: paths of bases are unique."""
    return decision.state.base is not None and decision.state.base.path == written.path


async def _load_bytes(connection: Connection, sides: Sides, decisions: Sequence[Decision]) -> dict[EntryId, bytes]:
    """The bytes of the rows, without rows that changed since the decision."""
    rows = _rows_of(decisions)
    loaded: dict[EntryId, bytes] = {}
    pages = [entry for entry, row in rows.items() if row.kind in (Kind.PAGE, Kind.FOLDER)]
    recorded = [entry for entry, row in rows.items() if row.kind is Kind.RECORD]
    texts = await derived_rows.load_texts(connection, sides.tenant, pages)
    if recorded:
        texts |= await record_rows.load_texts(connection, sides.tenant, recorded)
    for entry, (version, text) in texts.items():
        if version == rows[entry].version and text is not None:
            loaded[entry] = text.encode()
    for entry, row in rows.items():
        if row.kind is Kind.ATTACHMENT and row.digest is not None:
            data = await stored_bytes.load_blob(connection, sides.tenant, row.digest)
            if data is not None:
                loaded[entry] = data
    return loaded


async def _write_file(writing: _Writing, decision: Decision, paths: Mapping[EntryId, str]) -> Base | None:
    """Write one file; return the base to record, or None if it was not written."""
    sides, outcome = writing.sides, writing.outcome
    row, file = row_of(decision), decision.state.file
    data = writing.texts.get(row.entry)
    path = _current_path(decision) or paths.get(row.entry)
    if path is None:
        outcome.later.append(decision)
        return None
    if data is None or digest_of(data) != row.digest:
        _report_wrong_bytes(decision, path, data, outcome)
        return None
    replaced_digest = file.digest if isinstance(file, File) and file.kind is not Kind.FOLDER else None
    if replaced_digest is None and await _needs_scan(sides, decision, path, outcome):
        return None
    try:
        base, written = await asyncio.to_thread(_replace_file, sides, decision, path, data, replaced_digest)
    except Stale:
        if replaced_digest is None:
            _note_occupied(sides, decision, path, outcome)
        outcome.stale.append(decision)
        return None
    except Busy:
        outcome.later.append(decision)
        return None
    except (Refused, OSError) as error:
        sentence = f"{path!r} cannot be written: {reason_of(error)}"
        note_mount(decision, error, outcome)
        outcome.troubles.append(Problem(path, "unwritable", sentence, row.entry))
        outcome.later.append(decision)
        return None
    if written.displaced is not None:
        outcome.displaced_saves.append((row, path, replaced_digest, written.displaced))
    if written.stat is not None:
        sides.looker.index.record(path, cached_stat(written.stat, base.digest, row.entry))
        sides.old_buffers.note_write(row.entry, written.stat.ctime_ns)
    else:
        outcome.stale.append(decision)
    outcome.carried_out.append(decision)
    outcome.written_paths[path] = row.entry
    return base


def _base_of_written(decision: Decision, row: Row, path: str, data: bytes) -> Base:
    claimed = PageText(data.decode()).views.id if row.kind is Kind.PAGE else None
    return Base(row.entry, row.kind, path, _place_to_record(decision.state), row.version, digest_of(data), claimed)


async def _needs_scan(sides: Sides, decision: Decision, path: str, outcome: FileOutcome) -> bool:
    """Whether *path* was taken by what may be the unrecorded file of the entry, which is renamed or still there."""
    entry = decision.state.entry
    if decision.state.base is not None or not sides.occupied_paths.needs_scan(entry):
        return False
    if await asyncio.to_thread(_is_occupied, sides, path):
        _note_occupied(sides, decision, path, outcome)
        outcome.stale.append(decision)
    else:
        outcome.vacated_paths[path] = entry
        outcome.later.append(decision)
    return True


def _is_occupied(sides: Sides, path: str) -> bool:
    """Whether something is at *path*, or it cannot be looked at; blocking."""
    try:
        return sides.tree.stat(path) is not None
    except (Refused, OSError):
        return True


def _note_occupied(sides: Sides, decision: Decision, path: str, outcome: FileOutcome) -> None:
    entry = decision.state.entry
    outcome.occupied_paths[path] = entry
    if decision.state.base is None:
        sides.occupied_paths.note(entry, time.monotonic())
    if path not in sides.looker.index:
        sentence = f"The page cannot be written to {path!r}: something that is not a page is there. Move it away."
        outcome.troubles.append(Problem(path, "in-the-way", sentence, entry))


def _place_to_record(state: State) -> Place:
    """The place for the base: the row's, but an unrecorded file keeps its own, so that the next look moves it."""
    file, row = state.file, state.row
    assert row is not None
    if state.base is None and isinstance(file, File) and file.kind is row.kind:
        return file.place
    return row.place


def _current_path(decision: Decision) -> str | None:
    """The path of the existing file that gets a new text, or None."""
    file = decision.state.file
    return file.path if isinstance(file, File) and file.kind is not Kind.FOLDER else None


def _replace_file(
    sides: Sides, decision: Decision, path: str, data: bytes, replaced_digest: Digest | None
) -> tuple[Base, Written]:
    """
    Write *data*, and return the base to record for it; the text is parsed for that when it is in place.

    The inode is remembered at once: the daemon may die before it records the base.
    """
    sides.check_lease()
    if replaced_digest is None:
        sides.tree.make_directories(parent_of(path))
    row = row_of(decision)
    expected = replacing.ExpectedFile(row.entry, replaced_digest)
    with lock_for(sides.tree, [path]):
        written = replacing.write(sides.tree, sides.journal, path, data, expected)
    base = _base_of_written(decision, row, path, data)
    if written.stat is not None:
        cached = cached_stat(written.stat, base.digest, base.entry)
        if decision.state.base is None:
            sides.unrecorded_files.note_written(sides.state, base, cached)
        else:
            sides.state.store({path: cached})
    return base, written


def _report_wrong_bytes(decision: Decision, path: str, data: bytes | None, outcome: FileOutcome) -> None:
    if row_of(decision).kind is not Kind.ATTACHMENT:
        outcome.stale.append(decision)
        return
    defect = "are missing" if data is None else "do not have the digest of the attachment (BLAKE2b-256)"
    sentence = f"The bytes of {path!r} in mirrord.blob {defect}; insert them again."
    outcome.troubles.append(Problem(path, "blob", sentence, decision.state.entry))
    outcome.later.append(decision)


def _rows_of(decisions: Sequence[Decision]) -> dict[EntryId, Row]:
    return {decision.state.entry: row_of(decision) for decision in decisions}
