"""PURE: new files that are copies of known files, as far as this process has seen them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mirrord.domain.entry import EMPTY_DIGEST, EntryId, Kind
from mirrord.domain.state import NO_TEXT, Base
from mirrord.sync.evidence import EarlierState, FoundFile, has_fitting_kind

COPY_SECONDS = 3600.0  # between a copy and the removal of the original; a large tree may take so long
MAX_COPIES = 100_000  # remembered copies
COPIED_KINDS = (Kind.PAGE, Kind.ATTACHMENT)


@dataclass(slots=True)
class KnownCopies:
    """
    New entries whose first file had the bytes of another known file that was still in its place.

    Files that arrive together are not copies of each other, because their order is unknown. Lost with the process.
    """

    _originals: dict[EntryId, frozenset[EntryId]] = field(default_factory=dict)
    _came_at: dict[EntryId, float] = field(default_factory=dict)

    def note(self, files: Iterable[FoundFile], owners: Mapping[str, EntryId], memory: EarlierState, now: float) -> None:
        """Remember which of the files in *founds* are copies. now: monotonic seconds."""
        for file in files:
            entry = owners.get(file.path)
            if entry is None or not _is_first_text(file, memory.base_of_entry.get(entry)):
                continue
            if originals := originals_of(file, memory):
                self._originals.setdefault(entry, originals)
                self._came_at.setdefault(entry, now)
        while self._came_at and self._is_expired(next(iter(self._came_at)), now):
            self._forget(next(iter(self._came_at)))

    def copies_of(self, entries: Iterable[EntryId]) -> dict[EntryId, frozenset[EntryId]]:
        """The copies of *entries*, each with all its possible originals."""
        entry_set = frozenset(entries)
        return {copy: originals for copy, originals in self._originals.items() if not entry_set.isdisjoint(originals)}

    def _is_expired(self, entry: EntryId, now: float) -> bool:
        return len(self._came_at) > MAX_COPIES or now - self._came_at[entry] > COPY_SECONDS

    def _forget(self, entry: EntryId) -> None:
        del self._came_at[entry], self._originals[entry]


def _is_first_text(file: FoundFile, base: Base | None) -> bool:
    """Whether an entry is new, or has its first text now, because it was a bare directory or an empty file."""
    return base is None or (base.version == 1 and base.digest != file.digest and base.digest in (EMPTY_DIGEST, NO_TEXT))


def originals_of(file: FoundFile, memory: EarlierState) -> frozenset[EntryId]:
    """The entries whose file is in its place and has the bytes of *file*."""
    if file.spot.kind not in COPIED_KINDS or file.digest in (EMPTY_DIGEST, NO_TEXT):
        return frozenset()
    bases = memory.bases_of_digest.get(file.digest, ())
    return frozenset(base.entry for base in bases if has_fitting_kind(base, file) and not memory.is_lost(base))
