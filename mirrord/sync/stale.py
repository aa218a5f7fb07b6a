"""
Stale buffers, pure: an editor still shows the text before the row's last change, and saves that with its own edits.

The save then does two things: it takes back what the row's change brought to the file, and it changes something else.
Read as an edit of what was in the file, it would undo the row's change without anybody wanting that.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import NamedTuple

from mirrord.codec.text import unix

_TOKEN = re.compile(r"\n|[^\S\n]+|\S+")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MOST = 20_000  # characters of a passage within which words are compared; beyond that it has changed as a whole


class _Change(NamedTuple):
    """What took the place of the characters from start to stop."""

    start: int
    stop: int
    text: str


def merge_base(previous: Sequence[str], current: str, saved: str) -> str | None:
    """
    The text an editor had when it made *saved*, if that was not *current*; None: an ordinary edit, or a wanted undo.

    previous: what the file held before *current* since a person saved it last, oldest first.
    """
    if saved == current or saved in previous:
        return None
    return next((text for text in previous if _is_made_from(text, current, saved)), None)


def _is_made_from(previous: str, current: str, saved: str) -> bool:
    """Whether *saved* has nothing of what led from *previous* to *current*, and something of its own."""
    brought, own = (list(_changes(unix(previous), unix(text))) for text in (current, saved))
    if not brought or not own:
        return False
    return not any(_meet(one, other) or _keeps(one, other) for one in brought for other in own)


def _meet(brought: _Change, own: _Change) -> bool:
    """Whether both changed the same characters, or put something between the same two."""
    if brought.start == brought.stop and own.start == own.stop:
        return brought.start == own.start
    return max(brought.start, own.start) < min(brought.stop, own.stop) or _splits(brought, own) or _splits(own, brought)


def _splits(one: _Change, other: _Change) -> bool:
    return one.start == one.stop and other.start < one.start < other.stop


def _keeps(brought: _Change, own: _Change) -> bool:
    """Whether what was brought is still there, in another place. A single word says nothing."""
    text = brought.text.strip()
    return len(text.split()) > 1 and text in own.text


def _changes(old: str, new: str) -> Iterator[_Change]:
    """What leads from *old* to *new*: by lines, and within lines by words."""
    for change in _differences(_LINE.findall(old), _LINE.findall(new)):
        was = old[change.start : change.stop]
        if was and change.text and max(len(was), len(change.text)) <= _MOST:
            for part in _differences(_TOKEN.findall(was), _TOKEN.findall(change.text)):
                yield _Change(change.start + part.start, change.start + part.stop, part.text)
        else:
            yield change


def _differences(old: list[str], new: list[str]) -> Iterator[_Change]:
    at = [0, *accumulate(map(len, old))]
    for kind, start, stop, new_start, new_stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield _Change(at[start], at[stop], "".join(new[new_start:new_stop]))
