"""Acting on files: what rows say is written into the tree, verified, and then recorded as agreed."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from mirrord.codec.views import views_of
from mirrord.db import blobs, records, states, views
from mirrord.db.attention import Problem
from mirrord.db.connect import Connection
from mirrord.db.writes import run
from mirrord.domain.entry import Digest, EntryId, Kind, Place, digest_of
from mirrord.domain.state import NO_TEXT, Base, File, Row, State
from mirrord.errors import Busy, Mounted, Refused, Stale, reason_of
from mirrord.mirror import replace as replacing
from mirrord.mirror.kernel import Stat
from mirrord.mirror.layout import page_path, parent_of
from mirrord.mirror.lock import lock_for
from mirrord.mirror.replace import Displaced, Written
from mirrord.mirror.state import Seen
from mirrord.sync.decision import Decision
from mirrord.sync.place import PlaceMove
from mirrord.sync.relocate import move_files
from mirrord.sync.rows import Outcome
from mirrord.sync.sides import Sides
from mirrord.sync.targets import target_paths, without_guests

PARALLEL = 4  # writes at once: they wait for fsync, not for the processor


@dataclass(slots=True)
class FileOutcome(Outcome):
    """
    written: paths that hold their row's text now, or are its folder, and whose they are.
    displaced: saves that came between look and write, with the row.
    taken: paths where something is already; it may be our own write, whose base was never recorded.
    """

    written: dict[str, EntryId] = field(default_factory=dict)
    displaced: list[tuple[Row, str, Digest | None, Displaced]] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)


async def to_files(sides: Sides, decisions: Sequence[Decision], texts: Mapping[EntryId, bytes]) -> FileOutcome:
    """Carry out decisions for files, parents first. texts: what is known already of what their rows say."""
    outcome = FileOutcome()
    moves = [decision for decision in decisions if decision.place is PlaceMove.TO_FILE]
    evicted = await _evicted(sides, moves)
    moves = [decision for decision in moves if decision.state.entry not in evicted]
    writes = [one for one in decisions if one.place is not PlaceMove.TO_FILE or one.state.entry in evicted]
    folders = [decision for decision in writes if _row(decision).digest == NO_TEXT]
    contents = [decision for decision in writes if _row(decision).digest != NO_TEXT]
    if sides.crowded is not None:
        outcome.later, contents = contents, []
    is_in_place = not moves and not folders and all(map(_own_path, contents))
    if is_in_place and all(one.state.entry in texts for one in contents):  # as after an app's write of one page
        await _write_all(sides, contents, {}, texts, outcome)
        return outcome
    async with sides.database.transaction(sides.tenant) as connection:
        paths = await target_paths(connection, sides, _rows_of(decisions))
        data = await _load(connection, sides, contents) if contents else {}

    def by_depth(decision: Decision) -> int:
        return paths.get(decision.state.entry, "").count("/")

    if moves:
        await move_files(sides, moves, paths, outcome)
        async with sides.database.transaction(sides.tenant) as connection:  # a folder that had to wait is where it was
            paths = await target_paths(connection, sides, _rows_of(writes))
    paths = await without_guests(sides, _rows_of(writes), paths)
    for decision in sorted(folders, key=by_depth):
        await _make_folder(sides, decision, paths, outcome)
    await _write_all(sides, sorted(contents, key=by_depth), paths, data, outcome)
    return outcome


async def _evicted(sides: Sides, moves: Sequence[Decision]) -> set[EntryId]:
    """Folders in whose directory another page's `_index.md` is by now: they do not take it along, but get a new one."""
    found = set()
    for one in moves:
        file, row = one.state.file, _row(one)
        if not isinstance(file, File) or not (file.kind is row.kind is Kind.FOLDER):
            continue
        path = page_path("", file.path, index=True)
        if path in sides.looker.index and await _holders(sides, path, row.entry):
            found.add(row.entry)
    return found


async def _make_folder(sides: Sides, decision: Decision, paths: Mapping[EntryId, str], outcome: FileOutcome) -> None:
    path, row = paths.get(decision.state.entry), _row(decision)
    if path is None:
        outcome.later.append(decision)
        return
    if holders := await _holders(sides, path, row.entry):
        outcome.beside[row.entry] = holders
        outcome.later.append(decision)
        return
    try:
        stat = await asyncio.to_thread(_make_directory, sides, path)
    except (Refused, OSError) as error:
        code = "in-the-way" if isinstance(error, FileExistsError | NotADirectoryError) else "unwritable"
        sentence = f"The folder {path!r} cannot be made: {reason_of(error)}"
        _bar(decision, error, outcome)
        outcome.troubles.append(Problem(path, code, sentence, row.entry))
        outcome.later.append(decision)
        return
    if not await _remove_page_file(sides, decision, outcome):
        return
    if stat is not None:
        sides.looker.index.note(path, Seen(*stat[:5], NO_TEXT, row.entry))
    outcome.written[path] = row.entry
    base = Base(row.entry, Kind.FOLDER, path, row.place, row.version, NO_TEXT, None)
    async with sides.database.transaction(sides.tenant, sides.fence) as connection:
        await run(connection, [sides.writer.record(base)])
    outcome.done.append(decision)


def _bar(decision: Decision, error: Exception, outcome: FileOutcome) -> None:
    """A mount goes by a person's hand only: nobody is to wait for that."""
    if isinstance(error, Mounted):
        outcome.barred.add(decision.state.entry)


def _make_directory(sides: Sides, path: str) -> Stat | None:
    """What is there then; None: it is gone again."""
    sides.tree.make_directories(path)
    return sides.tree.stat(path)


async def _holders(sides: Sides, path: str, entry: EntryId) -> set[EntryId]:
    """Others whose base still says that *path* is their own: where they are has to be known first."""
    async with sides.database.transaction(sides.tenant) as connection:
        bases = await states.load_bases(connection, sides.tenant, sides.mirror, states.Wanted([path]))
    return {base.entry for base in bases if base.entry != entry}


async def _remove_page_file(sides: Sides, decision: Decision, outcome: FileOutcome) -> bool:
    """A page that became a folder loses its page file; whether it has none now. One that was saved meanwhile stays."""
    file, row = decision.state.file, _row(decision)
    if not isinstance(file, File) or file.kind is Kind.FOLDER:
        return True
    remove = partial(replacing.remove, entry=row.entry, over=file.digest, reason="made a folder", title=row.title)
    try:
        displaced = await asyncio.to_thread(remove, sides.tree, sides.journal, file.path)
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
            outcome.displaced.append((row, file.path, file.digest, displaced))
        return True
    return False


async def _write_all(
    sides: Sides,
    decisions: Sequence[Decision],
    paths: Mapping[EntryId, str],
    data: Mapping[EntryId, bytes],
    outcome: FileOutcome,
) -> None:
    if not decisions:
        return
    limit = asyncio.Semaphore(PARALLEL)

    async def one(decision: Decision) -> Base | None:
        async with limit:
            return await _write(sides, decision, paths, data.get(decision.state.entry), outcome)

    bases = await asyncio.gather(*map(one, decisions))
    written = [base for base in bases if base is not None]
    if not written:
        return
    statements = [*map(sides.writer.yield_path, written), *map(sides.writer.record, written)]
    with ExitStack() as unrecorded:
        for path in outcome.written.keys() & {base.path for base in written}:
            unrecorded.callback(sides.looker.index.forget, path)  # ours, but nobody else knows: the next look finds it
        async with sides.database.transaction(sides.tenant, sides.fence) as connection:
            await run(connection, statements)
        unrecorded.pop_all()


async def _load(connection: Connection, sides: Sides, decisions: Sequence[Decision]) -> dict[EntryId, bytes]:
    """The bytes of the rows, left out where the row is no longer what was planned on."""
    rows = _rows_of(decisions)
    loaded: dict[EntryId, bytes] = {}
    pages = [entry for entry, row in rows.items() if row.kind in (Kind.PAGE, Kind.FOLDER)]
    recorded = [entry for entry, row in rows.items() if row.kind is Kind.RECORD]
    texts = await views.load_texts(connection, sides.tenant, pages)
    if recorded:
        texts |= await records.load_texts(connection, sides.tenant, recorded)
    for entry, (version, text) in texts.items():
        if version == rows[entry].version and text is not None:
            loaded[entry] = text.encode()
    for entry, row in rows.items():
        if row.kind is Kind.ATTACHMENT and row.digest is not None:
            data = await blobs.load(connection, sides.tenant, row.digest)
            if data is not None:
                loaded[entry] = data
    return loaded


async def _write(
    sides: Sides, decision: Decision, paths: Mapping[EntryId, str], data: bytes | None, outcome: FileOutcome
) -> Base | None:
    """Write one file; the base to record, None where nothing was agreed."""
    row, file = _row(decision), decision.state.file
    path = _path_to_write(decision, paths)
    if path is None:
        outcome.later.append(decision)
        return None
    if data is None or digest_of(data) != row.digest:
        _no_bytes(decision, path, data, outcome)
        return None
    over = file.digest if isinstance(file, File) and file.kind is not Kind.FOLDER else None
    try:
        written = await asyncio.to_thread(_put, sides, path, data, row.entry, over)
    except Stale:
        if over is None:
            outcome.taken.add(path)
        if over is None and path not in sides.looker.index:
            sentence = f"The page cannot be written to {path!r}: something that is not a page is there. Move it away."
            outcome.troubles.append(Problem(path, "in-the-way", sentence, row.entry))
        outcome.stale.append(decision)
        return None
    except Busy:
        outcome.later.append(decision)
        return None
    except (Refused, OSError) as error:
        sentence = f"{path!r} cannot be written: {reason_of(error)}"
        _bar(decision, error, outcome)
        outcome.troubles.append(Problem(path, "unwritable", sentence, row.entry))
        outcome.later.append(decision)
        return None
    if written.displaced is not None:
        outcome.displaced.append((row, path, over, written.displaced))
    if written.stat is not None:
        sides.looker.index.note(path, Seen(*written.stat[:5], digest_of(data), row.entry))
        sides.old_buffers.note_write(row.entry, written.stat.ctime_ns)
    else:
        outcome.stale.append(decision)
    outcome.done.append(decision)
    outcome.written[path] = row.entry
    place = _agreed_place(decision.state)
    return Base(row.entry, row.kind, path, place, row.version, digest_of(data), _claimed(row.kind, data))


def _agreed_place(state: State) -> Place:
    """The row's; of a file that was not recorded yet its own, so that the next look carries the row's place over."""
    file, row = state.file, state.row
    assert row is not None
    is_unrecorded = state.base is None and isinstance(file, File) and file.kind is row.kind
    return file.place if is_unrecorded and isinstance(file, File) else row.place


def _path_to_write(decision: Decision, paths: Mapping[EntryId, str]) -> str | None:
    return _own_path(decision) or paths.get(decision.state.entry)


def _own_path(decision: Decision) -> str | None:
    """Where the file is that gets another text; None: there is none."""
    file = decision.state.file
    return file.path if isinstance(file, File) and file.kind is not Kind.FOLDER else None


def _put(sides: Sides, path: str, data: bytes, entry: EntryId, over: Digest | None) -> Written:
    sides.check_lease()
    if over is None:
        sides.tree.make_directories(parent_of(path))
    with lock_for(sides.tree, [path]):
        return replacing.write(sides.tree, sides.journal, path, data, entry=entry, over=over)


def _no_bytes(decision: Decision, path: str, data: bytes | None, outcome: FileOutcome) -> None:
    if _row(decision).kind is not Kind.ATTACHMENT:
        outcome.stale.append(decision)
        return
    what = "are missing" if data is None else "do not have the digest of the attachment (BLAKE2b-256)"
    sentence = f"The bytes of {path!r} in mirrord.blob {what}; insert them again."
    outcome.troubles.append(Problem(path, "blob", sentence, decision.state.entry))
    outcome.later.append(decision)


def _claimed(kind: Kind, data: bytes) -> str | None:
    return views_of(data.decode()).id if kind is Kind.PAGE else None


def _rows_of(decisions: Sequence[Decision]) -> dict[EntryId, Row]:
    return {decision.state.entry: _row(decision) for decision in decisions}


def _row(decision: Decision) -> Row:
    assert decision.state.row is not None
    return decision.state.row
