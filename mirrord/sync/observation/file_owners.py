"""
The entry of each file that a look found, by all evidence.

Files that no id, inode or digest identifies are matched to rows by their place.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from mirrord.db.content import derived_rows, entry_states, stored_bytes
from mirrord.db.database import Connection
from mirrord.domain.entry import EMPTY_DIGEST, NO_TEXT, Base, Digest, EntryId, Kind, Row, id_of_path, new_id, parse_id
from mirrord.domain.place import name_key
from mirrord.markdown.frontmatter.page_text import decode
from mirrord.sync.observation import unrecorded_rows
from mirrord.sync.observation.copied_directories import NO_DIRECTORIES, CopiedDirectories, take_copied_directories
from mirrord.sync.observation.copied_files import RECOPIED_REASON, take_recopied
from mirrord.sync.observation.file_identity import identify_files
from mirrord.sync.observation.identity_evidence import EarlierState, FoundFile, match_texts
from mirrord.sync.observation.look_result import LookResult
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.renames import find_overtaken, select_unproven
from mirrord.sync.observation.state_assembly import StateAssembler
from mirrord.sync.observation.stray_saves import StraySave, take_former_saves, take_late_saves

MAX_COMPARED_TEXTS = 100  # lost pages, and files, whose texts are compared; among more of them, likeness proves little


async def match_by_place(
    connection: Connection,
    sides: Sides,
    look: LookResult,
    memory: EarlierState,
    owners: dict[str, EntryId],
    rows: Mapping[EntryId, Row],
) -> dict[str, EntryId]:
    """
    Return *owners* with unidentified files matched to entries that are lost or have no file.

    A file at the path of an unrecorded row, with other bytes, is the unrecorded page that alone ever had its bytes:
    names changed hands or case before this mirror recorded them, and apps may have deleted the rows.

    A file with most of the text of a lost page is that page: it was renamed and saved again before the look. The lost
    pages include one that began at the file's path and that this mirror has not recorded yet.
    A new page at the place of a tombstone, or of a row without a file here, continues that row. A file with the exact
    bytes of such a row of *rows*, at the place the row had then, was written by a daemon that died before it recorded
    the write, and the row was renamed afterwards.

    A new page also continues a page at its place whose file is missing, even since an earlier look: its folder was
    renamed, and it was saved again. In a tree without bases, a directory is matched before its content, so the match
    goes from the root down. Finally, a file with the name, but for case, and most of the text of such a row is that
    page: it or its folder was renamed before the daemon recorded anything.
    """
    owners = await _match_unrecorded_bytes(connection, sides, look, memory, owners, rows)
    awaited = _awaited_pages(sides, memory, owners, rows)
    pages = _unidentified_pages(look.found_files.values(), owners, memory)
    owners = owners | unrecorded_rows.match_awaited(pages, awaited)
    owners = owners | await _match_lost_texts(connection, sides, pages, memory, owners, awaited)
    unrecorded_digests = {
        row.entry: row.digest for row in rows.values() if row.entry not in memory.base_of_entry and not row.deleted
    }
    tried_places: set[_PlaceKey] = set()
    while True:
        assembly = StateAssembler(sides.looker.index, look, memory, owners)
        unidentified = {
            place: path for place, path in _unidentified_files(assembly).items() if place not in tried_places
        }
        owned = set(owners.values())
        matched = await _match_rows(connection, assembly, sides, unidentified) if unidentified else {}
        if unrecorded := {entry: digest for entry, digest in unrecorded_digests.items() if entry not in owned}:
            matched = await _match_written(connection, sides, look, unidentified, unrecorded) | matched
        if not matched:
            return owners | await _match_namesakes(connection, sides, pages, memory, owners, rows)
        owners = owners | matched
        tried_places |= unidentified.keys()


_PlaceKey = tuple[bool, EntryId | None, str]  # is an attachment, parent, name


def _unidentified_files(assembly: StateAssembler) -> dict[_PlaceKey, str]:
    """Paths of the unidentified files, by place."""
    paths: dict[_PlaceKey, str] = {}
    for path, file in assembly.look.found_files.items():
        if not _is_identified(file, assembly.owners[path], assembly.memory):
            with suppress(KeyError):
                paths[file.spot.kind is Kind.ATTACHMENT, assembly.owner_of(file.spot.folder), file.spot.name] = path
    return paths


async def _match_rows(
    connection: Connection, assembly: StateAssembler, sides: Sides, unidentified: Mapping[_PlaceKey, str]
) -> dict[str, EntryId]:
    """Match files to rows and bases at their place. Adds to the memory which files of these bases are missing."""
    memory, owned = assembly.memory, set(assembly.owners.values())
    pages = [(parent, name) for is_attachment, parent, name in unidentified if not is_attachment]
    attachments = [(parent, name) for is_attachment, parent, name in unidentified if is_attachment]
    rows_and_bases: list[Row | Base] = []
    if pages:
        rows, bases = await entry_states.load_rows_at(connection, sides.tenant, sides.mirror, pages)
        memory.add_missing(
            [base for base in bases if assembly.is_missing(base) and base.entry not in memory.base_of_entry]
        )
        rows_and_bases += rows
    if attachments:
        rows_and_bases += await entry_states.load_attachments_at(connection, sides.tenant, sides.mirror, attachments)
    rows_and_bases += [
        base for base in memory.bases if base.path in memory.missing_paths and base.kind is not Kind.ATTACHMENT
    ]
    free = [row for row in rows_and_bases if row.entry not in owned]
    places = [((row.kind is Kind.ATTACHMENT, row.place.parent, row.place.name), row.entry) for row in free]
    return {unidentified[place]: entry for place, entry in places if place in unidentified}


async def _match_written(
    connection: Connection,
    sides: Sides,
    look: LookResult,
    unidentified: Mapping[_PlaceKey, str],
    rows: Mapping[EntryId, Digest | None],
) -> dict[str, EntryId]:
    """Match files to rows by bytes and place. Bytes alone prove nothing: they may come from a template."""
    digests = {look.found_files[path].digest for path in unidentified.values()} - {EMPTY_DIGEST, NO_TEXT}
    questions = [(entry, digest) for entry, digest in rows.items() if digest in digests]
    sighted = await stored_bytes.find_places(connection, sides.tenant, questions) if questions else []
    matches = [(unidentified.get((False, parent, name)), entry, digest) for entry, digest, parent, name in sighted]
    return {
        path: entry for path, entry, digest in matches if path is not None and look.found_files[path].digest == digest
    }


async def _match_unrecorded_bytes(
    connection: Connection,
    sides: Sides,
    look: LookResult,
    memory: EarlierState,
    owners: dict[str, EntryId],
    rows: Mapping[EntryId, Row],
) -> dict[str, EntryId]:
    """*owners* with the files of unrecorded pages matched by exact bytes, if the row of a file's path has others."""
    files = list(look.found_files.values())
    contested = unrecorded_rows.find_contested(files, memory, owners, sides.tenant)
    open_files = unrecorded_rows.select_open_files(files, memory, owners, sides.tenant) if contested else []
    if not 0 < len(open_files) <= MAX_COMPARED_TEXTS:
        return owners
    digests = [file.digest for file in open_files]
    tombstones = await entry_states.load_unrecorded_tombstones(connection, sides.tenant, sides.mirror, digests)
    candidates = {row.entry: row for row in [*tombstones, *rows.values(), *memory.rows.values()]}.values()
    alike = unrecorded_rows.select_named_alike(candidates, files, memory, sides.tenant)
    if not 0 < len(alike) <= MAX_COMPARED_TEXTS:
        return owners
    questions = [(row.entry, digest) for row in alike for digest in digests]
    known_texts = await stored_bytes.find_texts(connection, sides.tenant, questions)
    matches = unrecorded_rows.match_exact_bytes(open_files, known_texts, contested, owners)
    return unrecorded_rows.reassign_files(owners, matches, new_id)


async def _match_lost_texts(
    connection: Connection,
    sides: Sides,
    pages: Sequence[FoundFile],
    memory: EarlierState,
    owners: Mapping[str, EntryId],
    awaited: dict[EntryId, Digest],
) -> dict[str, EntryId]:
    owned = set(owners.values())
    files = {file.path: file for file in _unidentified_pages(pages, owners, memory)}
    lost = {base.entry: base.digest for base in memory.bases if _is_lost(base, memory)}
    lost |= _unrecorded_pages(sides, files, memory) | awaited
    lost = {entry: digest for entry, digest in lost.items() if entry not in owned}
    matches = await _match_texts(connection, sides, lost, list(files.values()))
    claims = {
        entry: base.claimed for entry in matches.values() if (base := memory.base_of_entry.get(entry)) is not None
    }
    return {path: entry for path, entry in matches.items() if claims.get(entry) == files[path].claimed}


async def _match_namesakes(
    connection: Connection,
    sides: Sides,
    pages: Sequence[FoundFile],
    memory: EarlierState,
    owners: Mapping[str, EntryId],
    rows: Mapping[EntryId, Row],
) -> dict[str, EntryId]:
    """Match *pages* to *rows* without a file here that have the same name, but for case, and most of the text."""
    owned = set(owners.values())
    unidentified = {
        file.path: file for file in _unidentified_pages(pages, owners, memory) if owners[file.path] not in rows
    }
    keys = {name_key(file.spot.name) for file in unidentified.values()}
    waiting = [row for row in rows.values() if name_key(row.place.name) in keys and row.entry not in owned]
    lost = {row.entry: row.digest for row in waiting if _is_unrecorded_page(row, memory) and row.digest is not None}
    files = [file for file in unidentified.values() if file.data is not None and file.claimed is None]
    matches = await _match_texts(connection, sides, lost, files)
    return {
        path: entry
        for path, entry in matches.items()
        if name_key(rows[entry].place.name) == name_key(unidentified[path].spot.name)
    }


async def _match_texts(
    connection: Connection, sides: Sides, pages: Mapping[EntryId, Digest], files: Sequence[FoundFile]
) -> dict[str, EntryId]:
    """Match files to those of *pages* that have most of their text."""
    if not (pages and files) or max(len(pages), len(files)) > MAX_COMPARED_TEXTS:
        return {}
    texts = await derived_rows.load_texts_of_digests(connection, sides.tenant, pages)
    return match_texts(texts, {file.path: decode(file.data) for file in files if file.data is not None})


def _unrecorded_pages(sides: Sides, paths: Iterable[str], memory: EarlierState) -> dict[EntryId, Digest]:
    """
    Digests of pages that began at *paths* and have no base here.

    Their files may have been written, and the rows moved, before anything was recorded.
    """
    rows = (memory.rows.get(id_of_path(sides.tenant, path)) for path in paths)
    pages = (row for row in rows if row is not None and _is_unrecorded_page(row, memory))
    return {row.entry: row.digest for row in pages if row.digest is not None}


def _awaited_pages(
    sides: Sides, memory: EarlierState, owners: Mapping[str, EntryId], rows: Mapping[EntryId, Row]
) -> dict[EntryId, Digest]:
    """Digests of those of *rows* that are unrecorded and have no file, though their path was taken lately."""
    waiting = sides.occupied_paths.entries & rows.keys()
    waiting -= set(owners.values()) if waiting else set()
    pages = (rows[entry] for entry in waiting if _is_unrecorded_page(rows[entry], memory))
    return {row.entry: row.digest for row in pages if row.digest is not None}


def _unidentified_pages(
    files: Iterable[FoundFile], owners: Mapping[str, EntryId], memory: EarlierState
) -> list[FoundFile]:
    return [file for file in files if _is_unidentified_page(file, owners[file.path], memory)]


def _is_unrecorded_page(row: Row, memory: EarlierState) -> bool:
    """Whether *row* is a living page with a text, and this mirror has no base of it."""
    says_something = row.digest is not None and row.digest not in (EMPTY_DIGEST, NO_TEXT)
    return says_something and row.kind is Kind.PAGE and not row.deleted and row.entry not in memory.base_of_entry


def _is_lost(base: Base, memory: EarlierState) -> bool:
    return memory.is_lost(base) and base.kind is Kind.PAGE and base.digest not in (EMPTY_DIGEST, NO_TEXT)


def _is_unidentified_page(file: FoundFile, owner: EntryId, memory: EarlierState) -> bool:
    return file.spot.kind is Kind.PAGE and not _is_identified(file, owner, memory)


def _is_identified(file: FoundFile, owner: EntryId, memory: EarlierState) -> bool:
    """Whether there is evidence for the owner. Records are identified by name; a tombstone's path proves nothing."""
    row = memory.rows.get(owner)
    if row is not None and row.deleted and file.spot.kind is Kind.RECORD:
        row = None
    return owner in memory.base_of_entry or row is not None or parse_id(file.claimed) is not None


@dataclass(frozen=True, slots=True)
class FileOwners:
    """
    The entries of the found files, by path.

    stray_saves: files that are only a save of a page whose file is elsewhere, or a copy of a twin made of their path.
    overtaken_paths: paths that hold another file than before, while the earlier file may be elsewhere.
    copied_directories: directories that are a copy of a twin made of their path, and the files in them.
    """

    entries: dict[str, EntryId] = field(default_factory=dict)
    stray_saves: dict[str, StraySave] = field(default_factory=dict)
    overtaken_paths: frozenset[str] = frozenset()
    copied_directories: CopiedDirectories = NO_DIRECTORIES


async def find_owners(
    connection: Connection, sides: Sides, look: LookResult, memory: EarlierState, rows: Mapping[EntryId, Row]
) -> FileOwners:
    """The owners by all evidence. Removes stray saves and copies from *look*. rows: those that were marked."""
    stray_saves = take_late_saves(look, memory, sides.looker.index)
    stray_saves |= await take_former_saves(connection, sides, look, memory)
    copied_directories = await take_copied_directories(connection, sides, look, memory)
    recopied = copied_directories.saves | await take_recopied(connection, sides, look, memory)
    stray_saves |= {path: StraySave(twin, RECOPIED_REASON) for path, twin in recopied.items()}
    if suspects := select_unproven(look.found_files.values(), memory):
        memory.base_texts = await derived_rows.load_texts_of_digests(connection, sides.tenant, suspects)
    owners = identify_files(look.found_files.values(), memory, sides.tenant, new_id)
    owners = await match_by_place(connection, sides, look, memory, owners, rows)
    sides.known_copies.note(look.found_files.values(), owners, memory, time.monotonic())
    overtaken_paths = find_overtaken(look.found_files.values(), memory, owners)
    return FileOwners(owners, stray_saves, overtaken_paths, copied_directories)
