"""
Files that this mirror wrote for new entries, until Postgres has their bases.

A daemon that dies in between, or loses its connection, has files that only their bytes identify: a person may have
renamed them before it looks again.
"""

from collections import Counter
from collections.abc import Mapping, Set
from types import MappingProxyType

from mirrord.domain.entry import Digest, EntryId
from mirrord.mirror.mirror_state import State


class UnrecordedFiles:
    """The files of one mirror. entry_of_digest: without bytes that several of them have."""

    def __init__(self, digests: Mapping[EntryId, Digest] = MappingProxyType({})) -> None:
        """*digests*: of the files of an earlier daemon."""
        self._digests = dict(digests)
        self.entry_of_digest: Mapping[Digest, EntryId] = {}
        self._index_digests()

    def note(self, state: State, digests: Mapping[EntryId, Digest]) -> None:
        """Note files that are about to be written. Blocking."""
        state.note_unrecorded(digests)
        self._digests |= digests
        self._index_digests()

    def forget(self, state: State, entries: Set[EntryId]) -> None:
        """Forget files that are recorded, or were not written. Blocking."""
        state.forget_unrecorded(entries)
        for entry in entries:
            self._digests.pop(entry, None)
        self._index_digests()

    def _index_digests(self) -> None:
        counts = Counter(self._digests.values())
        self.entry_of_digest = {digest: entry for entry, digest in self._digests.items() if counts[digest] == 1}
