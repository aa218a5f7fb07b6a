"""Paths that were taken when the row of an entry without a base was to be written there: perhaps by its own file."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from mirrord.domain.entry import EntryId


@dataclass(slots=True)
class OccupiedPaths:
    """
    When a file was last seen at the path of each entry without a base, in monotonic seconds.

    The file may be a write of mirrord that a lost connection kept from being recorded, or one that a program has open.
    Once it is gone it may have been renamed, which only a later scan shows: until then its row is not written again.
    """

    _seen_at: dict[EntryId, float] = field(default_factory=dict)
    _scanned_at: float = 0.0

    @property
    def entries(self) -> AbstractSet[EntryId]:
        """The entries whose path was taken."""
        return self._seen_at.keys()

    def note(self, entry: EntryId, now: float) -> None:
        """Note that the path of *entry* is taken."""
        self._seen_at[entry] = now

    def note_scan(self, began: float) -> None:
        """Note a scan of the whole tree."""
        self._scanned_at = began

    def needs_scan(self, entry: EntryId) -> bool:
        """Whether the path of *entry* was taken, and the tree was not scanned since."""
        return self._seen_at.get(entry, self._scanned_at) > self._scanned_at

    def forget(self, entry: EntryId) -> None:
        """Forget *entry*: its file is recorded."""
        self._seen_at.pop(entry, None)
