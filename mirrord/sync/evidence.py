"""PURE: the evidence for the entry of a file: files in the tree now, and the earlier state."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mirrord.domain.entry import Digest, EntryId, Kind
from mirrord.domain.state import Base, Row
from mirrord.mirror.layout import Spot

Inode = tuple[int, int]  # device, inode


@dataclass(frozen=True, slots=True)
class FoundFile:
    """
    A page, an attachment, a record, or a directory without a page file, at a path now.

    claimed: the text of its `id:`, even if that is not a UUID; None without one. data: None for directories.
    held: as in File.
    """

    path: str
    spot: Spot
    digest: Digest
    claimed: str | None
    inode: Inode
    data: bytes | None = None
    held: bool = False


@dataclass(slots=True)
class EarlierState:
    """
    The earlier state: bases, rows and caches.

    missing_paths: base paths that were looked at and are empty now, or hold another file.
    path_of_inode: the path of an inode when the cache last knew its entry.
    is_rewound: the tree went back in time: a page that is missing elsewhere may be back at its first path.
    written_entries: entry by digest of the bytes that commands wrote lately.
    base_texts: base texts of the pages that are told apart by their text.
    """

    bases: Sequence[Base]
    rows: Mapping[EntryId, Row] = field(default_factory=dict)
    missing_paths: frozenset[str] = frozenset()
    path_of_inode: Mapping[Inode, str] = field(default_factory=dict)
    is_rewound: bool = False
    written_entries: Mapping[Digest, EntryId] = field(default_factory=dict)
    base_texts: Mapping[EntryId, str] = field(default_factory=dict)
    base_at_path: dict[str, Base] = field(init=False)
    base_of_entry: dict[EntryId, Base] = field(init=False)
    bases_of_digest: dict[Digest, list[Base]] = field(init=False)

    def __post_init__(self) -> None:
        self._index_bases()

    def _index_bases(self) -> None:
        self.base_at_path = {base.path: base for base in self.bases if base.path is not None}
        self.base_of_entry = {base.entry: base for base in self.bases}
        self.bases_of_digest = defaultdict(list)
        for base in self.bases:
            self.bases_of_digest[base.digest].append(base)

    def add_missing(self, bases: Sequence[Base]) -> None:
        """Add unknown *bases*, whose files are missing."""
        self.bases = [*self.bases, *bases]
        self.missing_paths |= {base.path for base in bases if base.path is not None}
        self._index_bases()

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
