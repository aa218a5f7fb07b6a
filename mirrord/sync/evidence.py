"""PURE: what was found in the tree, and what is known of earlier, that may tell which entry a file is."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mirrord.domain.entry import Digest, EntryId, Kind
from mirrord.domain.state import Base, Row
from mirrord.mirror.layout import Spot

Inode = tuple[int, int]  # device, inode


@dataclass(frozen=True, slots=True)
class Found:
    """
    Something at a path now: a page, an attachment, or a directory without a page file.

    claimed: the text of its `id:`, also where that is no UUID; None without one. data: None for directories.
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
class Memory:
    """
    What is known of earlier.

    missing: base paths that were looked at and hold nothing now, or nothing that is still what it was.
    old_path: where an inode was when the cache last knew whose it is.
    rewound: the tree went back in time: a page that is missing elsewhere may be back where it was first.
    written: whose the bytes are that commands wrote lately.
    texts: what the bases of some pages say, where that has to tell.
    """

    bases: Sequence[Base]
    rows: Mapping[EntryId, Row] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    old_path: Mapping[Inode, str] = field(default_factory=dict)
    rewound: bool = False
    written: Mapping[Digest, EntryId] = field(default_factory=dict)
    texts: Mapping[EntryId, str] = field(default_factory=dict)
    at_path: dict[str, Base] = field(init=False)
    of_entry: dict[EntryId, Base] = field(init=False)
    of_digest: dict[Digest, list[Base]] = field(init=False)

    def __post_init__(self) -> None:
        self._arrange()

    def _arrange(self) -> None:
        self.at_path = {base.path: base for base in self.bases if base.path is not None}
        self.of_entry = {base.entry: base for base in self.bases}
        self.of_digest = defaultdict(list)
        for base in self.bases:
            self.of_digest[base.digest].append(base)

    def add_missing(self, bases: Sequence[Base]) -> None:
        """Remember *bases*, of which this knew nothing yet, and that their files are missing."""
        self.bases = [*self.bases, *bases]
        self.missing |= {base.path for base in bases if base.path is not None}
        self._arrange()

    def is_lost(self, base: Base) -> bool:
        """Whether nothing is where the file of *base* was, or another one, or it has no path any more."""
        return base.path is None or base.path in self.missing

    def at_inode(self, found: Found) -> Base | None:
        """The base of the path where this inode was. A directory that has what was a file's is new, and the reverse."""
        base = self.at_path.get(self.old_path.get(found.inode, ""))
        is_same = base is not None and (base.kind is Kind.FOLDER) == (found.spot.kind is Kind.FOLDER)
        return base if is_same else None


def fits(base: Base, found: Found) -> bool:
    """Whether a file may be what *base* is of. A record of another sort is another record."""
    if base.kind is Kind.RECORD and base.place.name.partition("/")[0] != found.spot.name.partition("/")[0]:
        return False
    return same_sort(base.kind, found.spot.kind)


def same_sort(one: Kind, other: Kind) -> bool:
    """A page and a folder are one sort: a folder gets a page file, a page loses it."""
    return (one is Kind.ATTACHMENT) == (other is Kind.ATTACHMENT) and (one is Kind.RECORD) == (other is Kind.RECORD)
