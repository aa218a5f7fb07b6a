"""Makes the directories of folders, and records them as agreed."""

import asyncio
from collections.abc import Mapping, Sequence, Set

from mirrord.db.content import entry_states
from mirrord.db.content.entry_writes import run_statements
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import NO_TEXT, Base, EntryId, File, Kind, Row
from mirrord.errors import Busy, Mounted, Refused, Stale, reason_of
from mirrord.mirror.state_file import CachedStat
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.write import replace as replacing
from mirrord.sync.decisions.entry_decision import Decision
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.writing.write_outcomes import FileOutcome


def row_of(decision: Decision) -> Row:
    """The row that a file or directory is written for."""
    assert decision.state.row is not None
    return decision.state.row


async def note_directories(sides: Sides, decisions: Sequence[Decision], paths: Mapping[EntryId, str]) -> Set[EntryId]:
    """
    Note the directories of new folders before they are made; returns the entries. Moves into them make them, too.

    If the daemon dies before it records them, or loses its connection, and the rows get other names meanwhile, nothing
    else tells them from new folders of a person.
    """
    rows = [row_of(decision) for decision in decisions if decision.state.base is None]
    bases = [_base_of_directory(row, paths[row.entry]) for row in rows if row.entry in paths]
    if bases:
        await asyncio.to_thread(sides.unrecorded_files.note_directories, sides.state, bases)
    return {base.entry for base in bases}


async def make_folder(sides: Sides, decision: Decision, paths: Mapping[EntryId, str], outcome: FileOutcome) -> None:
    """Make the directory of a folder at its path of *paths*, remove the page file that it may have had, record it."""
    path, row = paths.get(decision.state.entry), row_of(decision)
    if path is None:
        outcome.later.append(decision)
        return
    if holders := await entries_with_base_at(sides, path, row.entry):
        outcome.hindered_by[row.entry] = holders
        outcome.later.append(decision)
        return
    try:
        stat = await asyncio.to_thread(_make_directory, sides, path)
    except (Refused, OSError) as error:
        code = "in-the-way" if isinstance(error, FileExistsError | NotADirectoryError) else "unwritable"
        sentence = f"The folder {path!r} cannot be made: {reason_of(error)}"
        note_mount(decision, error, outcome)
        outcome.troubles.append(Problem(path, code, sentence, row.entry))
        outcome.later.append(decision)
        return
    if not await _remove_page_file(sides, decision, outcome):
        return
    if stat is not None:
        sides.looker.index.record(path, CachedStat(*stat[:5], NO_TEXT, row.entry))
    outcome.written_paths[path] = row.entry
    async with sides.database.transaction(sides.tenant, sides.fence) as connection:
        await run_statements(connection, [sides.writer.store_base(_base_of_directory(row, path))])
    outcome.carried_out.append(decision)


def has_directory(decision: Decision, outcome: FileOutcome, path: str | None) -> bool:
    """Whether the directory of a page or folder that belongs at *path* is recorded as its own."""
    if path is None:
        return False
    base = decision.state.base
    return outcome.written_paths.get(path) == decision.state.entry or (base is not None and base.path == path)


def _base_of_directory(row: Row, path: str) -> Base:
    return Base(row.entry, Kind.FOLDER, path, row.place, row.version, NO_TEXT, None)


def _make_directory(sides: Sides, path: str) -> Stat | None:
    """Make a directory and return its stat; None if it is gone again."""
    sides.tree.make_directories(path)
    return sides.tree.stat(path)


def note_mount(decision: Decision, error: Exception, outcome: FileOutcome) -> None:
    """Note an entry blocked by a mount: only a person removes a mount, so it is not tried again with a delay."""
    if isinstance(error, Mounted):
        outcome.barred.add(decision.state.entry)


async def entries_with_base_at(sides: Sides, path: str, entry: EntryId) -> set[EntryId]:
    """Other entries whose base has *path*: their current path has to be known first."""
    async with sides.database.transaction(sides.tenant) as connection:
        bases = await entry_states.load_bases(connection, sides.tenant, sides.mirror, entry_states.BaseKeys([path]))
    return {base.entry for base in bases if base.entry != entry}


async def _remove_page_file(sides: Sides, decision: Decision, outcome: FileOutcome) -> bool:
    """Remove the page file of a page that became a folder, unless it was saved meanwhile; return whether it is gone."""
    file, row = decision.state.file, row_of(decision)
    if not isinstance(file, File) or file.kind is Kind.FOLDER:
        return True
    expected, removal = replacing.ExpectedFile(row.entry, file.digest), replacing.Removal("made a folder", row.title)
    try:
        displaced = await asyncio.to_thread(replacing.remove, sides.tree, sides.journal, file.path, expected, removal)
    except Stale:
        outcome.stale.append(decision)
    except Busy:
        outcome.later.append(decision)
    except (Refused, OSError) as error:
        sentence = f"{file.path!r} cannot be moved to the trash: {reason_of(error)}"
        outcome.troubles.append(Problem(file.path, "unwritable", sentence, row.entry))
        outcome.later.append(decision)
    else:
        sides.looker.index.forget(file.path)
        if displaced is not None:
            outcome.displaced_saves.append((row, file.path, file.digest, displaced))
        return True
    return False
