"""The entry of each file that a look found: by its path alone if nothing else can be true, else by all evidence."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from mirrord.db.content import derived_rows
from mirrord.db.database import Connection
from mirrord.domain.entry import EMPTY_DIGEST, NO_TEXT, Base, EntryId, Kind, Row, new_id
from mirrord.mirror.seen_files import Index
from mirrord.mirror.tree.tree_layout import Spot, directory_of
from mirrord.sync.observation.copied_files import take_recopied
from mirrord.sync.observation.file_identity import find_late_save, identify_files
from mirrord.sync.observation.file_look import LookResult
from mirrord.sync.observation.identity_evidence import EarlierState, FoundFile, has_fitting_kind
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.place_matching import match_by_place
from mirrord.sync.observation.renames import find_overtaken, select_unproven
from mirrord.sync.observation.state_assembly import owner_paths


@dataclass(frozen=True, slots=True)
class FileOwners:
    """
    The entries of the found files, by path.

    late_saves: files that are only an editor's save of a page that has an index file by now, with that page's base.
    recopied_files: files that are a copy of a twin made of their path, with the twin's base.
    overtaken_paths: paths that hold another file than before, while the earlier file may be elsewhere.
    """

    entries: dict[str, EntryId] = field(default_factory=dict)
    late_saves: dict[str, Base] = field(default_factory=dict)
    recopied_files: dict[str, Base] = field(default_factory=dict)
    overtaken_paths: frozenset[str] = frozenset()


def find_only_owner(look: LookResult, memory: EarlierState, index: Index) -> FileOwners | None:
    """
    The owner of the only file found, if it can only be the entry at its path; None: all evidence has to be weighed.

    It is a save of a known file: the path has a base with the same `id:`, no other path changed, and no entry whose
    path, bytes, `id:` or first path could make it the owner lost its file. Then no file was renamed or replaced.
    """
    if len(look.found_files) != 1 or look.gone_paths or look.unknown_files or memory.is_rewound:
        return None
    ((path, file),) = look.found_files.items()
    base = memory.base_at_path.get(path)
    if base is None or base.kind is not file.spot.kind or base.claimed != file.claimed:
        return None
    if base.kind is Kind.FOLDER or base.digest in (EMPTY_DIGEST, NO_TEXT) or not has_fitting_kind(base, file):
        return None  # a first text, which may be a copy
    if file.is_held_open or memory.path_of_inode.get(file.inode, path) != path:
        return None  # a renamed file, or a new one with the inode number of another
    if any(map(memory.is_lost, memory.bases)):
        return None
    if all(owner_path in index for owner_path in owner_paths(directory_of(path, Kind.PAGE))[:2]):
        return None  # a folder note and an index file: one of them may be a late save
    return FileOwners({path: base.entry})


async def find_owners(
    connection: Connection, sides: Sides, look: LookResult, memory: EarlierState, rows: Mapping[EntryId, Row]
) -> FileOwners:
    """The owners by all evidence. Removes late saves and copies from *look*. rows: those that were marked."""
    late_saves = _take_late_saves(look, memory, sides.looker.index)
    recopied = await take_recopied(connection, sides, look, memory)
    if suspects := select_unproven(look.found_files.values(), memory):
        memory.base_texts = await derived_rows.load_texts_of_digests(connection, sides.tenant, suspects)
    owners = identify_files(look.found_files.values(), memory, sides.tenant, new_id)
    owners = await match_by_place(connection, sides, look, memory, owners, rows)
    sides.known_copies.note(look.found_files.values(), owners, memory, time.monotonic())
    overtaken_paths = find_overtaken(look.found_files.values(), memory, owners)
    return FileOwners(owners, late_saves, recopied, overtaken_paths)


def _take_late_saves(look: LookResult, memory: EarlierState, index: Index) -> dict[str, Base]:
    """Remove late saves from *look*, and return them with their pages' bases: they are no pages of their own."""
    late_saves = {}
    for path, file in list(look.found_files.items()):
        if file.spot.kind is not Kind.PAGE:
            continue
        directory = directory_of(path, Kind.PAGE)
        index_path, note_path = owner_paths(directory)[:2]
        if index_path not in index or note_path not in index:
            continue
        note = look.found_files.get(note_path)
        if note is None and (base := memory.base_at_path.get(note_path)) is not None:
            note = _unread_file(base)
        if note is not None and (page := find_late_save(note, memory, look.found_files.get(index_path))) is not None:
            late_saves[note_path] = page
            look.found_files.pop(note_path, None)
    return late_saves


def _unread_file(base: Base) -> FoundFile:
    """The file of *base*, which was not read again."""
    assert base.path is not None
    return FoundFile(base.path, Spot(Kind.PAGE, "", base.place.name), base.digest, base.claimed, (0, 0))
