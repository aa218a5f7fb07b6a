"""Which entry a file is: the order of evidence of DESIGN §3 "Identity", as pure functions."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from mirrord.domain.entry import EMPTY, Digest, EntryId, Kind, TenantId, id_of_path, parse_id
from mirrord.domain.state import NO_TEXT, Base, Row
from mirrord.mirror.layout import Spot, directory_of

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
    old_path: where the cache last saw an inode.
    """

    bases: list[Base]
    rows: Mapping[EntryId, Row] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    old_path: Mapping[Inode, str] = field(default_factory=dict)
    at_path: dict[str, Base] = field(init=False)
    of_entry: dict[EntryId, Base] = field(init=False)
    of_digest: dict[Digest, list[Base]] = field(init=False)

    def __post_init__(self) -> None:
        self.at_path = {base.path: base for base in self.bases if base.path is not None}
        self.of_entry = {base.entry: base for base in self.bases}
        self.of_digest = defaultdict(list)
        for base in self.bases:
            self.of_digest[base.digest].append(base)


def identify(
    founds: Iterable[Found], memory: Memory, tenant: TenantId, fresh: Callable[[], EntryId]
) -> dict[str, EntryId]:
    """The entry of every found path. fresh: makes an id where no other is free."""
    claims: dict[EntryId, list[Found]] = defaultdict(list)
    strangers: list[Found] = []
    for found in founds:
        entry = _entry_of(found, memory)
        if entry is None:
            strangers.append(found)
        else:
            claims[entry].append(found)
    owners: dict[str, EntryId] = {}
    for entry, rivals in claims.items():
        first, *others = sorted(rivals, key=lambda rival: _standing(rival, memory.of_entry.get(entry), memory))
        owners[first.path] = entry
        strangers += others
    taken = set(claims)
    for found in sorted(strangers, key=lambda stranger: stranger.path):
        owners[found.path] = _new_entry(found, memory, tenant, taken, fresh)
        taken.add(owners[found.path])
    return owners


def _entry_of(found: Found, memory: Memory) -> EntryId | None:
    here = _base_here(found, memory)
    if here is not None and (here.claimed == found.claimed or here.kind is Kind.FOLDER):
        return here.entry
    return (
        _by_id(found, memory, here)
        or (here.entry if here is not None else None)
        or _by_inode(found, memory)
        or _by_digest(found, memory)
    )


def _base_here(found: Found, memory: Memory) -> Base | None:
    """The base of that path; for a page also the folder it is the page of, and the reverse."""
    base = memory.at_path.get(found.path)
    if base is None and found.spot.kind is Kind.PAGE:
        base = memory.at_path.get(directory_of(found.path, Kind.PAGE))
        return base if base is not None and base.kind is Kind.FOLDER else None
    if base is None and found.spot.kind is Kind.FOLDER:
        pages = (memory.at_path.get(f"{found.path}{ending}") for ending in ("/_index.md", ".md"))
        return next((page for page in pages if page and page.path in memory.missing), None)
    return base if base is not None and _same_sort(base.kind, found.spot.kind) else None


def _by_id(found: Found, memory: Memory, here: Base | None) -> EntryId | None:
    entry = parse_id(found.claimed)
    if entry is None or found.spot.kind is not Kind.PAGE:
        return None
    base = memory.of_entry.get(entry)
    if base is not None:
        lost = base.path is None or base.path in memory.missing
        return entry if lost and _same_sort(base.kind, Kind.PAGE) else None
    row = memory.rows.get(entry)
    if row is not None:
        return entry if _same_sort(row.kind, Kind.PAGE) else None
    return entry if here is None else None  # an unknown UUID is a new page's, never a known path's


def _by_inode(found: Found, memory: Memory) -> EntryId | None:
    path = memory.old_path.get(found.inode)
    if path is None or path == found.path or path not in memory.missing:
        return None
    base = memory.at_path.get(path)
    return base.entry if base is not None and _same_sort(base.kind, found.spot.kind) else None


def _by_digest(found: Found, memory: Memory) -> EntryId | None:
    if found.digest in (EMPTY, NO_TEXT):
        return None
    lost = [
        base
        for base in memory.of_digest.get(found.digest, ())
        if base.path in memory.missing and _same_sort(base.kind, found.spot.kind)
    ]
    return min(lost, key=lambda base: base.path or "").entry if lost else None


def _standing(found: Found, base: Base | None, memory: Memory) -> tuple[bool, bool, bool, str]:
    """Of several files that claim one entry: the base's path, else its inode, else its bytes, else the first path."""
    if base is None:
        return True, True, True, found.path
    return (
        found.path != base.path,
        memory.old_path.get(found.inode) != base.path,
        found.digest != base.digest,
        found.path,
    )


def _new_entry(
    found: Found, memory: Memory, tenant: TenantId, taken: set[EntryId], fresh: Callable[[], EntryId]
) -> EntryId:
    entry = id_of_path(tenant, found.path)
    row = memory.rows.get(entry)
    free = entry not in memory.of_entry and (row is None or (row.deleted and _same_sort(row.kind, found.spot.kind)))
    return entry if free and entry not in taken else fresh()


def _same_sort(one: Kind, other: Kind) -> bool:
    """A page and a folder are one sort: a folder gets a page file, a page loses it."""
    return (one is Kind.ATTACHMENT) == (other is Kind.ATTACHMENT) and (one is Kind.RECORD) == (other is Kind.RECORD)
