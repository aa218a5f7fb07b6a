"""
Files that this mirror wrote, and directories that it made, for new entries, until Postgres has their bases.

A daemon that dies in between, or loses its connection, has files that nothing in Postgres identifies: a person may have
renamed or edited them before it looks again. So their digests are noted before they are written, and their bases after.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Self

from mirrord.domain.entry import Base, Digest, EntryId
from mirrord.mirror.mirror_state import State
from mirrord.mirror.state_file import CachedStat


class UnrecordedFiles:
    """
    The files of one mirror.

    entry_of_digest: without bytes that several of them have. written_files: the base of each file that is written, and
    the file as written, if that is known; and the base of each directory that is about to be made.
    """

    def __init__(
        self,
        digests: Mapping[EntryId, Digest] = MappingProxyType({}),
        written_files: Iterable[tuple[Base, CachedStat | None]] = (),
    ) -> None:
        """*digests*, *written_files*: of an earlier daemon."""
        self._digests = dict(digests)
        self.written_files: dict[EntryId, tuple[Base, CachedStat | None]] = {
            base.entry: (base, cached) for base, cached in written_files
        }
        self.entry_of_digest: Mapping[Digest, EntryId] = {}
        self._index_digests()

    @classmethod
    def load(cls, state: State) -> Self:
        """The files that an earlier daemon noted. Blocking."""
        return cls(state.load_unrecorded(), state.load_unrecorded_bases())

    def note(self, state: State, digests: Mapping[EntryId, Digest]) -> None:
        """Note files that are about to be written. Blocking."""
        state.note_unrecorded(digests)
        self._digests |= digests
        self._index_digests()

    def note_written(self, state: State, base: Base, cached: CachedStat) -> None:
        """Note a file that was just written. Blocking; may be called from several threads."""
        state.note_unrecorded_base(base, cached)
        self.written_files[base.entry] = base, cached

    def note_directories(self, state: State, bases: Sequence[Base]) -> None:
        """Note directories that are about to be made. Blocking."""
        state.note_unrecorded_directories(bases)
        self.written_files |= {base.entry: (base, None) for base in bases}

    def forget(self, state: State, entries: Set[EntryId]) -> None:
        """Forget files that are recorded, or were not written. Blocking."""
        state.forget_unrecorded(entries)
        for entry in entries:
            self._digests.pop(entry, None)
            self.written_files.pop(entry, None)
        self._index_digests()

    def _index_digests(self) -> None:
        counts = Counter(self._digests.values())
        self.entry_of_digest = {digest: entry for entry, digest in self._digests.items() if counts[digest] == 1}
