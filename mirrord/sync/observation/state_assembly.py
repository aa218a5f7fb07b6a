"""Puts bases, looks and rows together into states, entry by entry, and says when a file can only be one entry's."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mirrord.domain.entry import EMPTY_DIGEST, NO_TEXT, Base, EntryId, File, Kind, Place, Row, State, UnreadableFile
from mirrord.mirror.seen_files import Index
from mirrord.mirror.tree.tree_layout import directory_of, spot_of_directory
from mirrord.sync.observation.identity_evidence import EarlierState, FoundFile
from mirrord.sync.observation.look_result import LookResult


def owner_paths(directory: str) -> list[str]:
    """Paths whose base may own *directory*, the strongest first."""
    return [f"{directory}/_index.md", f"{directory}.md", directory] if directory else []


def is_owned(directory: str, index: Index) -> bool:
    """Whether *directory* belongs to a page: `D/_index.md`, or the folder note `D.md`."""
    return any(path in index for path in owner_paths(directory)[:2])


def find_only_owner(look: LookResult, memory: EarlierState, index: Index) -> tuple[str, EntryId] | None:
    """
    The path and owner of the only file found, if it can only be the entry at its path; else None: weigh all evidence.

    It is a save of a known file: the path has a base with the same `id:`, no other path changed, and no entry whose
    path, bytes, `id:` or first path could make it the owner lost its file. Then no file was renamed or replaced.
    """
    if len(look.found_files) != 1 or look.gone_paths or look.unknown_files or memory.is_rewound:
        return None
    ((path, file),) = look.found_files.items()
    base = memory.base_at_path.get(path)
    if base is None or base.kind is not file.spot.kind or base.claimed != file.claimed:
        return None
    if base.kind is Kind.FOLDER or base.digest in (EMPTY_DIGEST, NO_TEXT):
        return None  # a first text, which may be a copy
    if file.is_held_open or memory.path_of_inode.get(file.inode, path) != path:
        return None  # a renamed file, or a new one with the inode number of another
    if any(map(memory.is_lost, memory.bases)):
        return None
    if all(owner_path in index for owner_path in owner_paths(directory_of(path, Kind.PAGE))[:2]):
        return None  # a folder note and an index file: one of them may be a late save
    return path, base.entry


@dataclass(slots=True)
class StateAssembler:
    """
    The facts of one pass.

    owners: entry id by found path. unowned_directories: directories whose owning page is not known yet.
    """

    index: Index
    look: LookResult
    memory: EarlierState
    owners: dict[str, EntryId]
    unowned_directories: set[str] = field(default_factory=set)

    def build_states(self, entries: Iterable[EntryId], rows: Mapping[EntryId, Row]) -> list[State]:
        path_of = {entry: path for path, entry in self.owners.items()}
        return [
            State(
                entry,
                self.memory.base_of_entry.get(entry),
                self._file_of_entry(entry, path_of.get(entry)),
                rows.get(entry),
            )
            for entry in entries
        ]

    def owner_of(self, directory: str) -> EntryId | None:
        """The entry whose children live in *directory*; None for the root. Raises KeyError if it is not known yet."""
        if not directory:
            return None
        for path in owner_paths(directory):
            if path in self.owners:
                return self.owners[path]
            base = self.memory.base_at_path.get(path)
            if base is not None and path in self.index:
                return base.entry
        raise KeyError(directory)

    def is_missing(self, base: Base) -> bool:
        """Whether nothing is known at the path of *base*."""
        known_paths = (self.index, self.look.found_files, self.look.unknown_files)
        return base.path is not None and not any(base.path in paths for paths in known_paths)

    def _file_of_entry(self, entry: EntryId, path: str | None) -> File | UnreadableFile | None:
        base = self.memory.base_of_entry.get(entry)
        if path is not None:
            return self.to_file(self.look.found_files[path], base)
        if base is None or base.path is None or base.path in self.owners:
            return None
        if base.path in self.look.unknown_files:
            return self.look.unknown_files[base.path]
        cached_stat = self.index.get(base.path)
        if cached_stat is not None and not self._has_page_file(base):
            return File(base.kind, base.path, base.place, cached_stat.digest, base.claimed)
        return self._to_bare_folder(base)

    def to_file(self, found_file: FoundFile, base: Base | None) -> File | UnreadableFile:
        """The file of the entry with *base*, found where the look says."""
        spot = found_file.spot
        try:
            place = Place(self.owner_of(spot.folder), spot.name, spot.index)
        except KeyError:
            if base is None or base.path != found_file.path:
                self.unowned_directories.add(spot.folder)
                return UnreadableFile(found_file.path, f"The folder of {found_file.path!r} is not known yet.")
            place = base.place
        base_at_path = self.memory.base_at_path.get(found_file.path)
        return File(
            kind=spot.kind,
            path=found_file.path,
            place=place,
            digest=found_file.digest,
            claimed=found_file.claimed,
            data=found_file.data,
            is_contested=base_at_path is not None and base_at_path is not base,
            is_held_open=found_file.is_held_open,
            succeeds=self._replaced_folder(found_file, base),
        )

    def _replaced_folder(self, found_file: FoundFile, base: Base | None) -> EntryId | None:
        """The folder whose directory another page's file has moved into."""
        if base is None or found_file.spot.kind is not Kind.PAGE:
            return None
        folder = self.memory.base_at_path.get(directory_of(found_file.path, Kind.PAGE))
        is_other_folder = folder is not None and folder is not base and folder.kind is Kind.FOLDER
        return folder.entry if folder is not None and is_other_folder else None

    def _has_page_file(self, base: Base) -> bool:
        """Whether the directory of a folder belongs to a page now."""
        return base.kind is Kind.FOLDER and any(path in self.owners for path in owner_paths(base.path or "")[:2])

    def _to_bare_folder(self, base: Base) -> File | None:
        """The remaining directory of a page without page file, as a folder; None if it is gone or another entry's."""
        if base.kind is not Kind.PAGE or base.path is None:
            return None
        directory = directory_of(base.path, Kind.PAGE)
        spot = spot_of_directory(directory)
        if spot is None or directory not in self.index or is_owned(directory, self.index):
            return None
        other = self.memory.base_at_path.get(directory)
        if other is not None and other.entry != base.entry:
            return None
        place = Place(base.place.parent, base.place.name)
        return File(Kind.FOLDER, directory, place, NO_TEXT)
