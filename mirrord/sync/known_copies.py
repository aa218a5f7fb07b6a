"""PURE: which new files are copies of files that were known, as far as this process has seen."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mirrord.domain.entry import EMPTY, EntryId, Kind
from mirrord.domain.state import NO_TEXT, Base
from mirrord.sync.evidence import Found, Memory, fits

COPY_SECONDS = 3600.0  # between a copy and the removal of the original: of a large tree it may take so long
MAX_COPIES = 100_000  # that are remembered
COPIED_KINDS = (Kind.PAGE, Kind.ATTACHMENT)


@dataclass(slots=True)
class KnownCopies:
    """
    New entries whose file had, when it came, the bytes of another file that was known and still in its place.

    Files that came together are no copies of each other: nobody can tell which was first. Forgotten with the process.
    """

    _originals: dict[EntryId, frozenset[EntryId]] = field(default_factory=dict)
    _came_at: dict[EntryId, float] = field(default_factory=dict)

    def note(self, founds: Iterable[Found], owners: Mapping[str, EntryId], memory: Memory, now: float) -> None:
        """Remember which of the files in *founds* are copies. now: monotonic seconds."""
        for found in founds:
            entry = owners.get(found.path)
            if entry is None or not _is_first_text(found, memory.of_entry.get(entry)):
                continue
            if originals := originals_of(found, memory):
                self._originals.setdefault(entry, originals)
                self._came_at.setdefault(entry, now)
        while self._came_at and self._is_over(next(iter(self._came_at)), now):
            self._forget(next(iter(self._came_at)))

    def of_originals(self, entries: Iterable[EntryId]) -> dict[EntryId, frozenset[EntryId]]:
        """The copies of *entries*, each with all that it may be a copy of."""
        wanted = frozenset(entries)
        return {copy: originals for copy, originals in self._originals.items() if not wanted.isdisjoint(originals)}

    def _is_over(self, entry: EntryId, now: float) -> bool:
        return len(self._came_at) > MAX_COPIES or now - self._came_at[entry] > COPY_SECONDS

    def _forget(self, entry: EntryId) -> None:
        del self._came_at[entry], self._originals[entry]


def _is_first_text(found: Found, base: Base | None) -> bool:
    """Whether an entry is new, or has its text only now: its directory was there before it, or it was empty."""
    return base is None or (base.version == 1 and base.digest != found.digest and base.digest in (EMPTY, NO_TEXT))


def originals_of(found: Found, memory: Memory) -> frozenset[EntryId]:
    """The entries whose file is in its place and has the bytes of *found*."""
    if found.spot.kind not in COPIED_KINDS or found.digest in (EMPTY, NO_TEXT):
        return frozenset()
    alike = memory.of_digest.get(found.digest, ())
    return frozenset(base.entry for base in alike if fits(base, found) and not memory.is_lost(base))
