"""Observing: from dirty paths and entries to states (base, file, row) of entries."""

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mirrord.db import sightings, states, views
from mirrord.db.connect import Connection
from mirrord.db.states import Known
from mirrord.domain.entry import Digest, EntryId, Kind, id_of_path, new_id, parse_id
from mirrord.domain.state import NO_TEXT, Base, File, Row, State, Unknown
from mirrord.errors import Refused, Unavailable, reason_of
from mirrord.mirror import copies
from mirrord.mirror.index import Index
from mirrord.mirror.layout import Spot, directory_of
from mirrord.sync.assembly import Assembly, is_owned, owner_paths
from mirrord.sync.continuing import continued
from mirrord.sync.evidence import Found, Memory
from mirrord.sync.identity import identify, late_save
from mirrord.sync.look import Look
from mirrord.sync.recopied import take_recopied
from mirrord.sync.sides import Sides
from mirrord.sync.succession import overtaken, unproven


@dataclass(frozen=True, slots=True)
class Dirty:
    """Where to look. forced: paths to read again although nothing about them seems to have changed."""

    paths: frozenset[str] = frozenset()
    entries: frozenset[EntryId] = frozenset()
    forced: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Shown:
    """
    What the tree shows.

    written: the page for which a command wrote bytes, by their digest.
    missing: paths of bases that hold nothing, where no path differs and only rows changed; None: paths differ.
    """

    look: Look
    written: Mapping[Digest, EntryId]
    missing: frozenset[str] | None


@dataclass(slots=True)
class Observation:
    """
    What was seen.

    seen: the newest version in an entry's history that had the file's bytes.
    unowned: directories of which is not known yet whose children live there; look at them first.
    late: files that are only an editor's save of a page that has an index file by now, and that page's base.
    recopied: files that are a copy of a twin that was made of their path, and the twin's base.
    overtaken: paths where another file is than was, while that may be elsewhere.
    """

    states: dict[EntryId, State]
    look: Look
    seen: dict[EntryId, int] = field(default_factory=dict)
    unowned: set[str] = field(default_factory=set)
    late: dict[str, Base] = field(default_factory=dict)
    recopied: dict[str, Base] = field(default_factory=dict)
    overtaken: frozenset[str] = frozenset()


async def observe(
    sides: Sides,
    dirty: Dirty,
    look: Look | None = None,
    coming: Collection[Base] = (),
    *,
    shown: Shown | None = None,
    known: Known | None = None,
    adopting: bool = False,
    rewound: bool = False,
) -> Observation:
    """
    Look at the tree where *dirty* says, and load what is known of every entry concerned.

    look: what was seen there already, where *dirty* has paths only. coming: bases of new entries elsewhere that are
    just being written. shown: what look_at() saw there just now. known: what was read of all entries in *dirty* just
    now. adopting: whether old bytes of attachments matter, too. rewound: whether the tree went back in time.
    """
    bases, rows = (known.bases, known.rows) if known else await _load_entries(sides, dirty.entries)
    if shown is None:
        shown = await asyncio.to_thread(look_at, sides, dirty, bases, look)
    look = shown.look
    if shown.missing is not None:
        memory = Memory(bases, rows, shown.missing)
        assembled = Assembly(sides.looker.index, look, memory, {}).states(dirty.entries, rows)
        return Observation(await _with_purged(sides, assembled), look)
    async with sides.database.transaction(sides.tenant) as connection:
        memory, asked = await _remember(connection, sides, shown, bases, coming, rewound=rewound)
        late = _late_saves(look, memory, sides.looker.index)
        recopied = await take_recopied(connection, sides, look, memory)
        if suspects := unproven(look.found.values(), memory):
            memory.texts = await views.texts_of_digests(connection, sides.tenant, suspects)
        owners = identify(look.found.values(), memory, sides.tenant, new_id)
        owners = await continued(connection, sides, look, memory, owners, rows)
        sides.copies.note(look.found.values(), owners, memory, time.monotonic())
        entries = set(dirty.entries) | set(owners.values()) | {base.entry for base in _concerned(memory, look)}
        rows = {entry: row for entry, row in memory.rows.items() if entry in entries}
        if left := entries - asked:
            rows |= await states.load_rows(connection, sides.tenant, left)
        assembly = Assembly(sides.looker.index, look, memory, owners)
        assembled = assembly.states(entries, rows)
        seen = await _seen(connection, sides, assembled)
        if adopting:
            seen |= await _seen_others(connection, sides, assembled)
    absorbed = {base.entry for base in [*late.values(), *recopied.values()]}
    states_of = await _with_purged(sides, [state for state in assembled if state.entry not in absorbed])
    overtaking = overtaken(look.found.values(), memory, owners)
    return Observation(states_of, look, seen, assembly.unowned, late, recopied, overtaking)


def look_at(sides: Sides, dirty: Dirty, bases: Sequence[Base] = (), look: Look | None = None) -> Shown:
    """What the tree shows; blocking. look: what was seen already; None: nothing. bases: of the dirty entries."""
    if look is None:
        paths = dirty.paths | {base.path for base in bases if base.path is not None}
        look = sides.looker.look(paths, dirty.forced)
    _leave_out_owned(look, sides.looker.index)
    if look.found or look.gone or look.unknown:
        return Shown(look, _written(sides), None)
    return Shown(look, {}, _missing(sides, bases, look))


def _late_saves(look: Look, memory: Memory, index: Index) -> dict[str, Base]:
    """Taken out of what was found: they are no pages of their own."""
    late = {}
    for path, found in list(look.found.items()):
        if found.spot.kind is not Kind.PAGE:
            continue
        directory = directory_of(path, Kind.PAGE)
        index_path, note_path = owner_paths(directory)[:2]
        if index_path not in index or note_path not in index:
            continue
        note = look.found.get(note_path)
        if note is None and (base := memory.at_path.get(note_path)) is not None:
            note = _unchanged(base)
        if note is not None and (page := late_save(note, memory, look.found.get(index_path))) is not None:
            late[note_path] = page
            look.found.pop(note_path, None)
    return late


def _unchanged(base: Base) -> Found:
    """A file that was not read again."""
    assert base.path is not None
    return Found(base.path, Spot(Kind.PAGE, "", base.place.name), base.digest, base.claimed, (0, 0))


async def _with_purged(sides: Sides, assembled: list[State]) -> dict[EntryId, State]:
    """States by entry. A row that is gone may have been purged: then it was deleted long ago, not lost."""
    states_of = {state.entry: state for state in assembled}
    lost = [state.base for state in assembled if state.base is not None and state.row is None]
    if lost:
        async with sides.database.transaction(sides.tenant) as connection:
            for entry, row in (await states.load_purged(connection, sides.tenant, lost)).items():
                states_of[entry] = replace(states_of[entry], row=row)
    return states_of


def _leave_out_owned(look: Look, index: Index) -> None:
    """A directory that a page owns is no folder of its own."""
    for path, found in list(look.found.items()):
        if found.spot.kind is Kind.FOLDER and is_owned(path, index):
            index.settle(path)
            del look.found[path]


async def _load_entries(sides: Sides, entries: Collection[EntryId]) -> tuple[Sequence[Base], Mapping[EntryId, Row]]:
    if not entries:
        return [], {}
    async with sides.database.transaction(sides.tenant) as connection:
        wanted = states.Wanted(entries=list(entries))
        return await states.load_both(connection, sides.tenant, sides.mirror, wanted, entries)


async def _remember(
    connection: Connection,
    sides: Sides,
    shown: Shown,
    known: Sequence[Base],
    coming: Collection[Base],
    *,
    rewound: bool,
) -> tuple[Memory, set[EntryId]]:
    """
    Load what may be evidence for what was found, and see which of it is no longer in its place.

    Also the entries of which the memory has the row, if there is one.
    """
    look, written = shown.look, shown.written
    founds = look.found.values()
    claims = [entry for found in founds if (entry := parse_id(found.claimed))]
    paths = {*look.found, *look.gone, *look.unknown, *look.old_path.values()}
    for found in founds:
        paths.update(owner_paths(found.spot.folder))
        if found.spot.kind is Kind.PAGE:
            paths.update(owner_paths(directory_of(found.path, Kind.PAGE)))
        elif found.spot.kind is Kind.FOLDER:
            paths.update(owner_paths(found.path))
    digests = [found.digest for found in founds if found.digest != NO_TEXT]
    homes = [id_of_path(sides.tenant, found.path) for found in founds]
    known_by = [*claims, *(written[digest] for digest in digests if digest in written)]
    # homes too: the page that a path gave its id may be elsewhere, and a new file there is another page
    wanted = states.Wanted(sorted(paths), known_by + homes, digests)
    candidates = [*known_by, *homes]
    bases, rows = await states.load_both(connection, sides.tenant, sides.mirror, wanted, candidates)
    bases = list({base.entry: base for base in [*bases, *known]}.values())
    elsewhere = any(base.path not in look.found for base in bases)
    missing = await asyncio.to_thread(_missing, sides, bases, look) if elsewhere else _missing(sides, bases, look)
    return Memory([*coming, *bases], rows, missing, look.old_path, rewound, written), set(candidates)


def _written(sides: Sides) -> dict[Digest, EntryId]:
    """Without this evidence a page that a command moved would be another one: then nothing is decided."""
    try:
        return copies.written(sides.tree)
    except OSError as error:
        raise Unavailable(f"The journals of {sides.name!r} cannot be read: {reason_of(error)}") from error


def _missing(sides: Sides, bases: Sequence[Base], look: Look) -> frozenset[str]:
    """Base paths that hold nothing now, or a page that claims to be another one."""
    missing = set()
    for base in bases:
        path = base.path
        if path is None or path in look.unknown:
            continue
        found = look.found.get(path)
        if found is not None:
            if found.claimed != base.claimed and parse_id(found.claimed):
                missing.add(path)
        elif path not in sides.looker.index or not _is_there(sides, path, look):
            missing.add(path)
    return frozenset(missing)


def _is_there(sides: Sides, path: str, look: Look) -> bool:
    """What cannot be told is unknown, and does not count as gone."""
    try:
        return sides.tree.stat(path) is not None
    except (Refused, OSError) as error:
        look.unknown[path] = Unknown(path, f"{path!r} cannot be looked at: {reason_of(error)}")
        return True


def _concerned(memory: Memory, look: Look) -> list[Base]:
    """Bases whose file was looked at, or whose file has gone."""
    looked = look.gone | look.unknown.keys() | look.found.keys() | memory.missing
    return [base for base in memory.bases if base.path in looked]


async def _seen(connection: Connection, sides: Sides, assembled: list[State]) -> dict[EntryId, int]:
    """Ask the history about bytes that neither the base nor the living row has."""
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
    seen = await sightings.of_pages(connection, sides.tenant, pages) if pages else {}
    return seen | (await sightings.of_records(connection, sides.tenant, records) if records else {})


async def _seen_others(connection: Connection, sides: Sides, assembled: list[State]) -> dict[EntryId, int]:
    """The same for attachments; a directory is the same whenever it was made."""
    pairs = [(state.row, state.file.digest) for state in assembled if state.row and isinstance(state.file, File)]
    folders = {row.entry: row.version for row, digest in pairs if digest == NO_TEXT}
    asked = [(row.entry, digest) for row, digest in pairs if row.kind is Kind.ATTACHMENT]
    return folders | (await sightings.of_attachments(connection, sides.tenant, asked) if asked else {})
