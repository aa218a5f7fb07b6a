"""Evidence of which entry a file is: known files, similar texts, copies of known files. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TypeVar

from mirrord.domain.entry import EMPTY_DIGEST, NO_TEXT, Base, Digest, EntryId, Kind, Row
from mirrord.mirror.tree.tree_layout import Spot

Inode = tuple[int, int]  # device, inode


@dataclass(frozen=True, slots=True)
class FoundFile:
    """
    A page, an attachment, a record, or a directory without a page file, at a path now.

    claimed: the text of its `id:`, even if that is not a UUID; None without one. data: None for directories.
    is_held_open: as in File.
    """

    path: str
    spot: Spot
    digest: Digest
    claimed: str | None
    inode: Inode
    data: bytes | None = None
    is_held_open: bool = False


@dataclass(slots=True)
class EarlierState:
    """
    The earlier state: bases, rows and caches.

    missing_paths: base paths that were looked at and are empty now, or hold another file.
    path_of_inode: the path of an inode when the cache last knew its entry.
    is_rewound: the tree went back in time: a page that is missing elsewhere may be back at its first path.
    written_entries: entry by digest of the bytes that commands wrote lately. unrecorded_entries: the same of the bytes
    that this mirror wrote for new entries and may not have recorded.
    base_texts: base texts of the pages that are told apart by their text.
    """

    bases: Sequence[Base]
    rows: Mapping[EntryId, Row] = field(default_factory=dict)
    missing_paths: frozenset[str] = frozenset()
    path_of_inode: Mapping[Inode, str] = field(default_factory=dict)
    is_rewound: bool = False
    written_entries: Mapping[Digest, EntryId] = field(default_factory=dict)
    unrecorded_entries: Mapping[Digest, EntryId] = field(default_factory=dict)
    base_texts: Mapping[EntryId, str] = field(default_factory=dict)
    base_at_path: dict[str, Base] = field(init=False)
    base_of_entry: dict[EntryId, Base] = field(init=False)
    bases_of_digest: dict[Digest, list[Base]] = field(init=False)
    bases_of_claim: dict[str | None, list[Base]] = field(init=False)

    def __post_init__(self) -> None:
        self.base_at_path = {base.path: base for base in self.bases if base.path is not None}
        self.base_of_entry = {base.entry: base for base in self.bases}
        self.bases_of_digest, self.bases_of_claim = defaultdict(list), defaultdict(list)
        for base in self.bases:
            self.bases_of_digest[base.digest].append(base)
            self.bases_of_claim[base.claimed].append(base)

    def add_missing(self, bases: Sequence[Base]) -> None:
        """Add unknown *bases*, whose files are missing."""
        self.bases = [*self.bases, *bases]
        self.missing_paths |= {base.path for base in bases if base.path is not None}
        self.__post_init__()

    def is_lost(self, base: Base) -> bool:
        """Whether *base* has no path any more, or its path is empty or holds another file."""
        return base.path is None or base.path in self.missing_paths

    def base_at_inode(self, file: FoundFile) -> Base | None:
        """The base at the earlier path of this inode; None if one is a directory and the other is not."""
        base = self.base_at_path.get(self.path_of_inode.get(file.inode, ""))
        is_same = base is not None and (base.kind is Kind.FOLDER) == (file.spot.kind is Kind.FOLDER)
        return base if is_same else None


def has_fitting_kind(base: Base, file: FoundFile) -> bool:
    """Whether *file* may be the file of *base*. A record of another sort is another record."""
    if base.kind is Kind.RECORD and base.place.name.partition("/")[0] != file.spot.name.partition("/")[0]:
        return False
    return is_same_sort(base.kind, file.spot.kind)


def is_same_sort(kind: Kind, other: Kind) -> bool:
    """Whether one entry may change between the kinds: a folder may get a page file, and a page may lose it."""
    return (kind is Kind.ATTACHMENT) == (other is Kind.ATTACHMENT) and (kind is Kind.RECORD) == (other is Kind.RECORD)


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
