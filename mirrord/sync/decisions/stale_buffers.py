"""
Stale editor buffers: an editor shows the text before the row's last change and saves it with its own edits. Pure.

Such a save does two things: it takes back the row's change, and it changes something else. Read as an edit of the text
in the file, it would undo the row's change although no person wanted that.

A save seconds after mirrord wrote a row's text into the file may come from a buffer that was loaded before. A later one
comes from a person who could read the text, so it is an edit of it. The distance is that of two stamps of the kernel
(ctime), which no program can set; mirrord's own write has the first, the save the second.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from mirrord.domain.entry import Digest, EntryId
from mirrord.markdown.bounded_diff import find_opcodes
from mirrord.markdown.frontmatter.page_text import with_unix_endings

_TOKEN = re.compile(r"\n|[^\S\n]+|\S+")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MAX_COMPARED_CHARS = 20_000  # of a passage compared by words; a longer one counts as changed as a whole


class _Change(NamedTuple):
    """The text that replaced the characters from start to stop."""

    start: int
    stop: int
    text: str


def merge_base(previous: Sequence[str], current: str, saved: str) -> str | None:
    """
    The text that *saved* was made from, if that was not *current*; None: an ordinary edit, or a wanted undo.

    previous: the texts that the file had before *current*, since a person saved it last, oldest first.
    """
    if saved == current or saved in previous:
        return None
    return next((text for text in previous if _is_made_from(text, current, saved)), None)


def _is_made_from(previous: str, current: str, saved: str) -> bool:
    """Whether *saved* has nothing of the change from *previous* to *current*, and a change of its own."""
    brought, edits = (
        list(_find_changes(with_unix_endings(previous), with_unix_endings(text))) for text in (current, saved)
    )
    if not brought or not edits:
        return False
    return not any(_overlaps(change, edit) or _is_kept_elsewhere(change, edit) for change in brought for edit in edits)


def _overlaps(brought: _Change, edit: _Change) -> bool:
    """Whether both changed the same characters, or inserted text at the same position."""
    if brought.start == brought.stop and edit.start == edit.stop:
        return brought.start == edit.start
    return (
        max(brought.start, edit.start) < min(brought.stop, edit.stop)
        or _is_inside(brought, edit)
        or _is_inside(edit, brought)
    )


def _is_inside(insertion: _Change, change: _Change) -> bool:
    return insertion.start == insertion.stop and change.start < insertion.start < change.stop


def _is_kept_elsewhere(brought: _Change, edit: _Change) -> bool:
    """Whether the text brought in is still there, in another place. A single word is no evidence."""
    text = brought.text.strip()
    return len(text.split()) > 1 and text in edit.text


def _find_changes(old: str, new: str) -> Iterator[_Change]:
    """The changes from *old* to *new*: by lines, and within lines by words."""
    for change in _find_differences(_LINE.findall(old), _LINE.findall(new)):
        was = old[change.start : change.stop]
        if was and change.text and max(len(was), len(change.text)) <= _MAX_COMPARED_CHARS:
            for part in _find_differences(_TOKEN.findall(was), _TOKEN.findall(change.text)):
                yield _Change(change.start + part.start, change.start + part.stop, part.text)
        else:
            yield change


def _find_differences(old: list[str], new: list[str]) -> Iterator[_Change]:
    at = [0, *accumulate(map(len, old))]
    for kind, start, stop, new_start, new_stop in find_opcodes(old, new):
        if kind != "equal":
            yield _Change(at[start], at[stop], "".join(new[new_start:new_stop]))


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
    """
    When mirrord last wrote a row's text into the file of a page.

    writes: by entry; those older than every limit are dropped.
    """

    writes: dict[EntryId, _Write] = field(default_factory=dict)
    _saved: dict[EntryId, Digest] = field(default_factory=dict)

    def note_save(self, entry: EntryId, digest: Digest) -> None:
        """Note that an editor saved an older text with edits of its own; the next write of the file follows from it."""
        self._saved[entry] = digest

    def note_write(self, entry: EntryId, ctime_ns: int) -> None:
        """Note that mirrord wrote the row's text into the file."""
        self.writes.pop(entry, None)
        self.writes[entry] = _Write(ctime_ns, self._saved.pop(entry, None))
        while (oldest := next(iter(self.writes.values()))).ctime_ns < ctime_ns - _limit_ns(oldest):
            del self.writes[next(iter(self.writes))]

    def may_show_older(self, entry: EntryId, ctime_ns: int) -> bool:
        """Whether the editor that saved the file at *ctime_ns* may not have read mirrord's last write."""
        write = self.writes.get(entry)
        return write is not None and 0 <= ctime_ns - write.ctime_ns <= _limit_ns(write)

    def is_repeated(self, entry: EntryId, digest: Digest) -> bool:
        """Whether an editor saved the same bytes, made from an older text, just before mirrord wrote the file."""
        write = self.writes.get(entry)
        return write is not None and write.saved == digest


def _limit_ns(write: _Write) -> int:
    return int((BUFFER_SECONDS if write.saved is None else REPEATED_BUFFER_SECONDS) * _NANOSECONDS)
