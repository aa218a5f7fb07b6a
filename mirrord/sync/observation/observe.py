"""From changed paths and entries to their states (base, file, row)."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from mirrord.db.content import entry_states, stored_bytes
from mirrord.db.content.entry_states import LoadedEntries
from mirrord.db.database import Connection
from mirrord.domain.entry import NO_TEXT, Base, Digest, EntryId, File, Kind, State, UnreadableFile, id_of_path, parse_id
from mirrord.errors import Refused, Unavailable, reason_of
from mirrord.mirror.seen_files import Index
from mirrord.mirror.tree.tree_layout import directory_of
from mirrord.mirror.write import applied_plans
from mirrord.sync.observation.file_owners import FileOwners, find_owners
from mirrord.sync.observation.identity_evidence import EarlierState
from mirrord.sync.observation.look_result import LookResult
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.open_files import guess_new_paths
from mirrord.sync.observation.state_assembly import StateAssembler, find_only_owner, is_owned, owner_paths


@dataclass(frozen=True, slots=True)
class Dirty:
    """Where to look. forced: paths to read again even if they look unchanged."""

    paths: frozenset[str] = frozenset()
    entries: frozenset[EntryId] = frozenset()
    forced: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TreeView:
    """
    The tree's part of an observation.

    written: the page for which a command wrote bytes, by their digest.
    missing: paths of bases without a file, if no path differs and only rows changed; None: paths differ.
    notes: the notes about applied change sets that were there before or after the look.
    """

    look: LookResult
    written: Mapping[Digest, EntryId]
    missing: frozenset[str] | None
    notes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """
    What was read before an observation, and is not read again. None: nothing of the kind.

    look: an earlier look, if the observation has paths only. view: the result of look_at_tree() for it.
    known_entries: bases and rows of all its entries.
    """

    look: LookResult | None = None
    view: TreeView | None = None
    known_entries: LoadedEntries | None = None


@dataclass(slots=True)
class Observation:
    """
    The states of entries, and everything else that a look showed.

    seen_versions: the newest version in an entry's history that had the file's bytes.
    unowned_directories: directories whose owning page is not known yet; look at them first.
    notes: as in the TreeView.
    """

    states: dict[EntryId, State]
    look: LookResult
    seen_versions: dict[EntryId, int] = field(default_factory=dict)
    unowned_directories: set[str] = field(default_factory=set)
    owners: FileOwners = field(default_factory=FileOwners)
    notes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Terms:
    """
    What holds for an observation.

    coming_bases: bases of new entries elsewhere that are just being written. is_adopting: old bytes of attachments
    matter, too. is_rewound: the tree went back in time.
    """

    coming_bases: Collection[Base] = ()
    is_adopting: bool = False
    is_rewound: bool = False


async def observe(sides: Sides, dirty: Dirty, read_ahead: ReadAhead, terms: Terms) -> Observation:
    """Look at the tree where *dirty* says, and load base and row of every entry concerned."""
    loaded_entries = read_ahead.known_entries
    if loaded_entries is None:
        loaded_entries = await _load_entries(sides, dirty.entries) if dirty.entries else LoadedEntries()
    bases, rows = loaded_entries.bases, loaded_entries.rows
    view = read_ahead.view
    if view is None:
        view = await asyncio.to_thread(look_at_tree, sides, dirty, bases, read_ahead.look)
    if view.missing is None:
        async with sides.database.transaction(sides.tenant) as connection:
            return await observe_files(connection, sides, dirty, view, loaded_entries, terms)
    memory = EarlierState(bases, rows, view.missing)
    assembled = StateAssembler(sides.looker.index, view.look, memory, {}).build_states(dirty.entries, rows)
    states_of = {state.entry: state for state in assembled}
    if lost := _select_lost(assembled):
        async with sides.database.transaction(sides.tenant) as connection:
            await _add_purged_rows(connection, sides, states_of, lost)
    return Observation(states_of, view.look, notes=view.notes)


async def observe_files(
    connection: Connection, sides: Sides, dirty: Dirty, view: TreeView, known_entries: LoadedEntries, terms: Terms
) -> Observation:
    """Load what belongs to the files of *view*, in the open transaction. known_entries: of the dirty entries."""
    look = view.look
    memory, loaded = await _load_memory(connection, sides, view, known_entries.bases, terms)
    is_alone = not (dirty.entries or terms.coming_bases)
    only_owner = find_only_owner(look, memory, sides.looker.index) if is_alone else None
    if only_owner is not None:
        owners = FileOwners(dict([only_owner]))
    else:
        owners = await find_owners(connection, sides, look, memory, known_entries.rows)
    entries = {*dirty.entries, *owners.entries.values(), *(base.entry for base in _concerned_bases(memory, look))}
    rows = {entry: row for entry, row in memory.rows.items() if entry in entries}
    if unloaded := entries - loaded:
        rows |= await entry_states.load_rows(connection, sides.tenant, unloaded)
    assembly = StateAssembler(sides.looker.index, look, memory, owners.entries)
    assembled = assembly.build_states(entries, rows)
    versions = await _versions_with_bytes(connection, sides, assembled)
    if terms.is_adopting:
        versions |= await _attachment_versions(connection, sides, assembled)
    absorbed = {save.page.entry for save in owners.stray_saves.values()}
    states_of = {state.entry: state for state in assembled if state.entry not in absorbed}
    if lost := _select_lost(states_of.values()):
        await _add_purged_rows(connection, sides, states_of, lost)
    return Observation(states_of, look, versions, assembly.unowned_directories, owners, view.notes)


async def observe_save(connection: Connection, sides: Sides, view: TreeView) -> Observation | None:
    """Like observe_files(), of one file that is the only one of *view*; None: its path does not tell whose it is."""
    look, index = view.look, sides.looker.index
    memory, loaded = await _load_memory(connection, sides, view, (), Terms())
    if (only_owner := find_only_owner(look, memory, index)) is None:
        return None
    path, entry = only_owner
    rows = memory.rows if entry in loaded else await entry_states.load_rows(connection, sides.tenant, [entry])
    base, owners = memory.base_of_entry[entry], {path: entry}
    file = StateAssembler(index, look, memory, owners).to_file(look.found_files[path], base)
    return Observation({entry: State(entry, base, file, rows.get(entry))}, look, owners=FileOwners(owners))


def look_at_tree(sides: Sides, dirty: Dirty, bases: Sequence[Base] = (), look: LookResult | None = None) -> TreeView:
    """Look at the tree; blocking. look: an earlier look; None: there is none. bases: of the dirty entries."""
    notes = applied_plans.list_notes(sides.tree)
    if look is None:
        paths = dirty.paths | {base.path for base in bases if base.path is not None}
        look = sides.looker.look_at_paths(paths, dirty.forced)
    notes |= applied_plans.list_notes(sides.tree)
    _drop_owned_folders(look, sides.looker.index)
    if look.found_files or look.gone_paths or look.unknown_files:
        return TreeView(look, _load_written(sides), None, notes)
    return TreeView(look, {}, _missing_paths(sides, bases, look), notes)


def _select_lost(states: Iterable[State]) -> list[Base]:
    """The bases of entries without a row: it is lost, or was purged long after its deletion."""
    return [state.base for state in states if state.base is not None and state.row is None]


async def _add_purged_rows(
    connection: Connection, sides: Sides, states_of: dict[EntryId, State], lost: Sequence[Base]
) -> None:
    """Add the purged rows among *lost* to the states."""
    for entry, row in (await entry_states.load_purged(connection, sides.tenant, lost)).items():
        states_of[entry] = replace(states_of[entry], row=row)


def _drop_owned_folders(look: LookResult, index: Index) -> None:
    """Remove directories that a page owns from *look*: they are no folders of their own."""
    for path, file in list(look.found_files.items()):
        if file.spot.kind is Kind.FOLDER and is_owned(path, index):
            index.drop_origin(path)
            del look.found_files[path]


async def _load_entries(sides: Sides, entries: Collection[EntryId]) -> LoadedEntries:
    async with sides.database.transaction(sides.tenant) as connection:
        keys = entry_states.BaseKeys(entries=list(entries))
        bases, rows = await entry_states.load_bases_and_rows(connection, sides.tenant, sides.mirror, keys, entries)
    return LoadedEntries(frozenset(entries), bases, rows)


async def _load_memory(
    connection: Connection, sides: Sides, view: TreeView, dirty_bases: Sequence[Base], terms: Terms
) -> tuple[EarlierState, set[EntryId]]:
    """
    Load the evidence for the files found, and check which bases have lost their files.

    The set has the entries whose rows, if there are any, are in the memory.
    """
    look, written = view.look, view.written
    files = look.found_files.values()
    claims = [entry for file in files if (entry := parse_id(file.claimed))]
    paths = {*look.found_files, *look.gone_paths, *look.unknown_files, *look.old_path.values()}
    for file in files:
        paths.update(owner_paths(file.spot.folder))
        if file.spot.kind is Kind.PAGE:
            paths.update(owner_paths(directory_of(file.path, Kind.PAGE)))
        elif file.spot.kind is Kind.FOLDER:
            paths.update(owner_paths(file.path))
    digests = [file.digest for file in files if file.digest != NO_TEXT]
    path_ids = [id_of_path(sides.tenant, file.path) for file in files]
    unrecorded = sides.unrecorded_files.entry_of_digest
    claimed_entries = [*claims, *(of[digest] for of in (written, unrecorded) for digest in digests if digest in of)]
    # path_ids too: a page may have left the path that gave it its id, and a new file there is another page
    query = entry_states.BaseKeys(sorted(paths), claimed_entries + path_ids, digests)
    candidates = [*claimed_entries, *path_ids]
    bases, rows = await entry_states.load_bases_and_rows(connection, sides.tenant, sides.mirror, query, candidates)
    bases = list({base.entry: base for base in [*bases, *dirty_bases]}.values())
    elsewhere = any(base.path not in look.found_files for base in bases)
    missing = (
        await asyncio.to_thread(_missing_paths, sides, bases, look) if elsewhere else _missing_paths(sides, bases, look)
    )
    if missing and look.unknown_files:
        missing -= _note_held_files(sides, bases, missing, look)
    bases = [*terms.coming_bases, *bases]
    memory = EarlierState(bases, rows, missing, look.old_path, terms.is_rewound, written, unrecorded)
    return memory, set(candidates)


def _note_held_files(sides: Sides, bases: Sequence[Base], missing: Set[str], look: LookResult) -> Set[str]:
    """Those of *missing* whose files another program may have open at new paths, added to *look* as unknown."""
    based_paths = {base.path for base in bases if base.path is not None}
    guesses = guess_new_paths(missing, based_paths, look.unknown_files)
    look.unknown_files |= {path: sides.looker.renamed.remember_guess(path, new) for path, new in guesses.items()}
    return guesses.keys()


def _load_written(sides: Sides) -> dict[Digest, EntryId]:
    """
    The pages for which commands wrote bytes, by digest.

    Raises Unavailable if the journals cannot be read: without them a page that a command moved would be a new one.
    """
    try:
        return sides.written_entries.of_tree(sides.tree)
    except OSError as error:
        raise Unavailable(f"The journals of {sides.name!r} cannot be read: {reason_of(error)}") from error


def _missing_paths(sides: Sides, bases: Sequence[Base], look: LookResult) -> frozenset[str]:
    """Base paths that have no file now, or a page whose `id:` is another one's."""
    missing = set()
    for base in bases:
        path = base.path
        if path is None or path in look.unknown_files:
            continue
        file = look.found_files.get(path)
        if file is not None:
            if file.claimed != base.claimed and parse_id(file.claimed):
                missing.add(path)
        elif path not in sides.looker.index or not _exists(sides, path, look):
            missing.add(path)
    return frozenset(missing)


def _exists(sides: Sides, path: str, look: LookResult) -> bool:
    """Whether a file is at *path*; one that cannot be looked at is added to *look* as unknown, and counts as there."""
    try:
        return sides.tree.stat(path) is not None
    except (Refused, OSError) as error:
        look.unknown_files[path] = UnreadableFile(path, f"{path!r} cannot be looked at: {reason_of(error)}")
        return True


def _concerned_bases(memory: EarlierState, look: LookResult) -> list[Base]:
    """Bases whose file was looked at, or is missing."""
    looked_paths = look.gone_paths | look.unknown_files.keys() | look.found_files.keys() | memory.missing_paths
    return [base for base in memory.bases if base.path in looked_paths]


async def _versions_with_bytes(connection: Connection, sides: Sides, assembled: list[State]) -> dict[EntryId, int]:
    """The newest version with the file's bytes, for bytes that neither the base nor the living row has."""
    questions = [
        (state.entry, state.file.kind, state.file.digest)
        for state in assembled
        if isinstance(state.file, File)
        and state.file.kind in (Kind.PAGE, Kind.RECORD)
        and state.row is not None
        and (state.row.deleted or state.file.digest != state.row.digest)
        and (state.base is None or state.file.digest != state.base.digest)
    ]
    pages = [(entry, digest) for entry, kind, digest in questions if kind is Kind.PAGE]
    records = [(entry, digest) for entry, kind, digest in questions if kind is Kind.RECORD]
    versions = await stored_bytes.newest_page_versions(connection, sides.tenant, pages) if pages else {}
    return versions | (await stored_bytes.newest_record_versions(connection, sides.tenant, records) if records else {})


async def _attachment_versions(connection: Connection, sides: Sides, assembled: list[State]) -> dict[EntryId, int]:
    """The same for attachments; for a directory the row's version, because its bytes never change."""
    pairs = [(state.row, state.file.digest) for state in assembled if state.row and isinstance(state.file, File)]
    folders = {row.entry: row.version for row, digest in pairs if digest == NO_TEXT}
    attachments = [(row.entry, digest) for row, digest in pairs if row.kind is Kind.ATTACHMENT]
    return folders | (
        await stored_bytes.newest_attachment_versions(connection, sides.tenant, attachments) if attachments else {}
    )
