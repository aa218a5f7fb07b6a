"""
Evidence that an editor cannot have read the newest text of a page. Pure.

A save seconds after mirrord wrote a row's text into the file may come from a buffer that was loaded before. A later one
comes from a person who could read the text, so it is an edit of it. The distance is that of two stamps of the kernel
(ctime), which no program can set; mirrord's own write has the first, the save the second.
"""

from dataclasses import dataclass, field

from mirrord.domain.entry import Digest, EntryId

BUFFER_SECONDS = 5.0  # between the write of a row's text and a save that may still be made from an older text
REPEATED_BUFFER_SECONDS = 60.0  # the same for an editor that has just saved an older text: it still shows that

_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _Write:
    """ctime_ns: of the file after mirrord wrote it. saved: digest of an older text saved just before; None: none."""

    ctime_ns: int
    saved: Digest | None


@dataclass(slots=True)
class OldBuffers:
    """When mirrord last wrote a row's text into the file of each page; entries older than every limit are dropped."""

    _writes: dict[EntryId, _Write] = field(default_factory=dict)
    _saved: dict[EntryId, Digest] = field(default_factory=dict)

    def note_save(self, entry: EntryId, digest: Digest) -> None:
        """Note that an editor saved an older text with edits of its own; the next write of the file follows from it."""
        self._saved[entry] = digest

    def note_write(self, entry: EntryId, ctime_ns: int) -> None:
        """Note that mirrord wrote the row's text into the file."""
        self._writes.pop(entry, None)
        self._writes[entry] = _Write(ctime_ns, self._saved.pop(entry, None))
        while (oldest := next(iter(self._writes.values()))).ctime_ns < ctime_ns - _limit_ns(oldest):
            del self._writes[next(iter(self._writes))]

    def may_show_older(self, entry: EntryId, ctime_ns: int) -> bool:
        """Whether the editor that saved the file at *ctime_ns* may not have read mirrord's last write."""
        write = self._writes.get(entry)
        return write is not None and 0 <= ctime_ns - write.ctime_ns <= _limit_ns(write)

    def is_repeated(self, entry: EntryId, digest: Digest) -> bool:
        """Whether an editor saved the same bytes, made from an older text, just before mirrord wrote the file."""
        write = self._writes.get(entry)
        return write is not None and write.saved == digest


def _limit_ns(write: _Write) -> int:
    return int((BUFFER_SECONDS if write.saved is None else REPEATED_BUFFER_SECONDS) * _NANOSECONDS)
