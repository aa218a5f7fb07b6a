"""PURE: what a file's text says of whose it is, where path, inode and exact bytes do not."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import takewhile
from typing import TypeVar

from mirrord.domain.entry import EntryId

T = TypeVar("T")

LEAST = 16  # characters in common; less is chance


def common_end(one: str, other: str) -> int:
    """How many parts of two paths are the same, from the end: of files with the same bytes a folder was renamed."""
    pairs = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def made_of(lost: Mapping[EntryId, str], files: Mapping[str, str]) -> dict[str, EntryId]:
    """
    By path, the page whose text is in a file: renamed and saved anew before anybody looked.

    More than half of what the page said, by lines, has to be there. What several of the lost pages say, or several of
    the files, comes from a template and tells nothing. A file made of several pages is the one it has most of.
    """
    said = {entry: _lines(text) for entry, text in lost.items()}
    shown = {path: _lines(text) for path, text in files.items()}
    rare_said, rare_shown = _in_one(said), _in_one(shown)
    common: dict[tuple[EntryId, str], int] = defaultdict(int)
    for line in rare_said.keys() & rare_shown.keys():
        common[rare_said[line], rare_shown[line]] += len(line)
    found: dict[str, EntryId] = {}
    for (entry, path), size in sorted(common.items(), key=lambda pair: (-pair[1], pair[0])):
        if size >= LEAST and 2 * size > sum(map(len, said[entry])):
            found.setdefault(path, entry)
    return found


def is_unlike(old: str, new: str) -> bool:
    """Whether *new* has less than half of what *old* says; of an *old* that says next to nothing it cannot be told."""
    found = share(old, new)
    return found is not None and found < 0.5


def share(old: str, new: str) -> float | None:
    """How much of what *old* says is in *new*, by lines, from 0 to 1; None where *old* says next to nothing."""
    said = _lines(old)
    size = sum(map(len, said))
    return sum(map(len, said & _lines(new))) / size if size >= LEAST else None


def _lines(text: str) -> set[str]:
    return {stripped for line in text.splitlines() if (stripped := line.strip())}


def _in_one(texts: Mapping[T, set[str]]) -> dict[str, T]:
    """Whose each line is that only one has."""
    counts = Counter(line for lines in texts.values() for line in lines)
    return {line: owner for owner, lines in texts.items() for line in lines if counts[line] == 1}
