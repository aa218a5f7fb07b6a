"""PURE: similarity of texts and paths, for files that path, inode and exact bytes do not identify."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import takewhile
from typing import TypeVar

from mirrord.domain.entry import EntryId

T = TypeVar("T")

MIN_COMMON_CHARACTERS = 16  # common characters; fewer may be chance


def count_common_end(path: str, other_path: str) -> int:
    """The number of equal parts at the end of two paths; it is high if only a folder above was renamed."""
    pairs = zip(reversed(path.split("/")), reversed(other_path.split("/")), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def match_texts(lost: Mapping[EntryId, str], files: Mapping[str, str]) -> dict[str, EntryId]:
    """
    Match files to lost pages by text, for pages that were renamed and saved again before a look. Returns pages by path.

    More than half of the page's text, by lines, must be in the file. Lines in several lost pages or in several files
    come from a template and do not count. A file made of several pages matches the one with the largest part in it.
    """
    lost_lines = {entry: _split_lines(text) for entry, text in lost.items()}
    file_lines = {path: _split_lines(text) for path, text in files.items()}
    lost_owners, file_owners = _owners_of_unique_lines(lost_lines), _owners_of_unique_lines(file_lines)
    common: dict[tuple[EntryId, str], int] = defaultdict(int)
    for line in lost_owners.keys() & file_owners.keys():
        common[lost_owners[line], file_owners[line]] += len(line)
    matches: dict[str, EntryId] = {}
    for (entry, path), size in sorted(common.items(), key=lambda pair: (-pair[1], pair[0])):
        if size >= MIN_COMMON_CHARACTERS and 2 * size > sum(map(len, lost_lines[entry])):
            matches.setdefault(path, entry)
    return matches


def is_unlike(old: str, new: str) -> bool:
    """Whether *new* has less than half of the text of *old*. False if *old* is too short to compare."""
    common_share = similarity(old, new)
    return common_share is not None and common_share < 0.5


def similarity(old: str, new: str) -> float | None:
    """The share of *old* that is in *new*, by lines, from 0 to 1; None if *old* is too short to compare."""
    old_lines = _split_lines(old)
    size = sum(map(len, old_lines))
    return sum(map(len, old_lines & _split_lines(new))) / size if size >= MIN_COMMON_CHARACTERS else None


def _split_lines(text: str) -> set[str]:
    return {stripped for line in text.splitlines() if (stripped := line.strip())}


def _owners_of_unique_lines(texts: Mapping[T, set[str]]) -> dict[str, T]:
    """The owner of each line that occurs in one text only."""
    counts = Counter(line for lines in texts.values() for line in lines)
    return {line: owner for owner, lines in texts.items() for line in lines if counts[line] == 1}
