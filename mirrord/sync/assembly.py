"""Putting bases, looks and rows together into states, entry by entry."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mirrord.domain.entry import EntryId, Kind, Place
from mirrord.domain.state import NO_TEXT, Base, File, Row, State, Unknown
from mirrord.mirror.index import Index
from mirrord.mirror.layout import directory_of, spot_of_directory
from mirrord.sync.evidence import Found, Memory
from mirrord.sync.look import Look


def owner_paths(directory: str) -> list[str]:
    """Paths whose base may own *directory*, the strongest first."""
    return [f"{directory}/_index.md", f"{directory}.md", directory] if directory else []


def is_owned(directory: str, index: Index) -> bool:
    """Whether a page is there whose directory it is: `D/_index.md`, or the folder note `D.md`."""
    return any(path in index for path in owner_paths(directory)[:2])


@dataclass(slots=True)
class Assembly:
    """
    What is known in one pass.

    owners: whose each found path is. unowned: directories of which is not known yet whose children live there.
    """

    index: Index
    look: Look
    memory: Memory
    owners: dict[str, EntryId]
    unowned: set[str] = field(default_factory=set)

    def states(self, entries: Iterable[EntryId], rows: Mapping[EntryId, Row]) -> list[State]:
        path_of = {entry: path for path, entry in self.owners.items()}
        return [
            State(entry, self.memory.of_entry.get(entry), self._file(entry, path_of.get(entry)), rows.get(entry))
            for entry in entries
        ]

    def owner(self, directory: str) -> EntryId | None:
        """The entry whose children live in *directory*; None for the root. Raises KeyError if that is not known yet."""
        if not directory:
            return None
        for path in owner_paths(directory):
            if path in self.owners:
                return self.owners[path]
            base = self.memory.at_path.get(path)
            if base is not None and path in self.index:
                return base.entry
        raise KeyError(directory)

    def is_missing(self, base: Base) -> bool:
        """Whether nothing is known to be where the file of *base* was."""
        known = (self.index, self.look.found, self.look.unknown)
        return base.path is not None and not any(base.path in paths for paths in known)

    def _file(self, entry: EntryId, path: str | None) -> File | Unknown | None:
        base = self.memory.of_entry.get(entry)
        if path is not None:
            return self._found(self.look.found[path], base)
        if base is None or base.path is None or base.path in self.owners:
            return None
        if base.path in self.look.unknown:
            return self.look.unknown[base.path]
        seen = self.index.get(base.path)
        if seen is not None and not self._has_page(base):
            return File(base.kind, base.path, base.place, seen.digest, base.claimed)
        return self._bare_directory(base)

    def _found(self, found: Found, base: Base | None) -> File | Unknown:
        spot = found.spot
        try:
            place = Place(self.owner(spot.folder), spot.name, spot.index)
        except KeyError:
            if base is None or base.path != found.path:
                self.unowned.add(spot.folder)
                return Unknown(found.path, f"The folder of {found.path!r} is not known yet.")
            place = base.place
        here = self.memory.at_path.get(found.path)
        return File(
            *(spot.kind, found.path, place, found.digest, found.claimed, found.data),
            contested=here is not None and here is not base,
            held=found.held,
            succeeds=self._folder_there(found, base),
        )

    def _folder_there(self, found: Found, base: Base | None) -> EntryId | None:
        """The folder that had the directory to which the file of another page came."""
        if base is None or found.spot.kind is not Kind.PAGE:
            return None
        there = self.memory.at_path.get(directory_of(found.path, Kind.PAGE))
        is_other = there is not None and there is not base and there.kind is Kind.FOLDER
        return there.entry if there is not None and is_other else None

    def _has_page(self, base: Base) -> bool:
        """Whether a folder's directory has become the directory of a page."""
        return base.kind is Kind.FOLDER and any(path in self.owners for path in owner_paths(base.path or "")[:2])

    def _bare_directory(self, base: Base) -> File | None:
        """The page file is gone: does its directory live on, without another page file?"""
        if base.kind is not Kind.PAGE or base.path is None:
            return None
        directory = directory_of(base.path, Kind.PAGE)
        spot = spot_of_directory(directory)
        if spot is None or directory not in self.index or is_owned(directory, self.index):
            return None
        place = Place(base.place.parent, base.place.name)
        return File(Kind.FOLDER, directory, place, NO_TEXT)
