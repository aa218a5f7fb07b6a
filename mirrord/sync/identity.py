"""Which entry a file is: the order of evidence of DESIGN §3 "Identity", as pure functions."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mirrord.domain.entry import EMPTY, Digest, EntryId, Kind, TenantId, id_of_path, parse_id
from mirrord.domain.state import NO_TEXT, Base, Row
from mirrord.mirror.layout import Spot, directory_of, page_path, parent_of
from mirrord.sync.likeness import is_unlike

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
    """

    bases: list[Base]
    rows: Mapping[EntryId, Row] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    old_path: Mapping[Inode, str] = field(default_factory=dict)
    rewound: bool = False
    written: Mapping[Digest, EntryId] = field(default_factory=dict)
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
    founds = list(founds)
    handed_on = names_handed_on(founds, memory)
    succeeding = _successors(founds, handed_on)
    for found in founds:
        base = handed_on.get(found.path)
        of = _entry_elsewhere if found.path in succeeding else _entry_of
        entry = base.entry if base is not None else of(found, memory)
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
        or _by_writer(found, memory)
        or _by_note(found, memory)
    )


def _entry_elsewhere(found: Found, memory: Memory) -> EntryId | None:
    """The same for a file whose path says nothing: the one that had it is another one by now."""
    return _by_id(found, memory, None) or _by_inode(found, memory) or _by_digest(found, memory)


def late_save(note: Found, memory: Memory, index: Found | None) -> Base | None:
    """
    The page of a directory, where *note* (`W.md`) is only an editor's late save of it.

    index: the `W/_index.md` beside it, if that is new; `W.md` may be what it was made of. Its base, or an `id:`, tells.
    """
    directory = directory_of(note.path, Kind.PAGE)
    here, page = memory.at_path.get(note.path), memory.at_path.get(page_path("", directory, index=True))
    claims = parse_id(note.claimed)
    if page is not None:
        return page if here is None and claims is not None and page.claimed == note.claimed else None
    if here is None or index is None:
        return None
    found = _by_id(index, memory, here) or _by_inode(index, memory) or _by_digest(index, memory)
    return here if found in (None, here.entry) else None  # else it was moved here, and is another page


def names_handed_on(founds: Iterable[Found], memory: Memory) -> dict[str, Base]:
    """
    Files that took over the names of others: by their paths, the bases of which they are.

    A swap, a rotation, a chain of renames, or one file whose old name a new page has. The path is no evidence there,
    although a base knows it. An editor's save also gives a path a new inode, maybe one that another file had before: so
    the file that had the name has to be found elsewhere itself, and the bytes of one at least must have come along.
    """
    here = {found.path: found for found in founds}
    came = {found.path: base for found in here.values() if (base := _came_from(found, memory)) is not None}
    while replaced := _replaced(came, memory):
        for path in replaced:
            del came[path]
    chains = _chains({path: base.path for path, base in came.items()})
    proof = {path for path, base in came.items() if _is_proof(here[path], base, memory)}
    proven = [chain for chain in chains if len(chain) > 1 and _is_proven(chain, came, proof)]
    followed = {path for path in proof if _is_other(here.get(came[path].path or ""), here[path], came[path])}
    return {path: came[path] for path in followed.union(*proven)}


def overtaken(founds: Iterable[Found], memory: Memory, owners: Mapping[str, EntryId]) -> frozenset[str]:
    """
    Paths that hold the file of another path, whole, and are known by their path all the same.

    That file was renamed over the one that was here; or the one that was here was renamed too, and is not found yet.
    """
    known = ((found, here) for found in founds if (here := memory.at_path.get(found.path)) is not None)
    stayed = [found for found, here in known if owners[found.path] == here.entry]
    came = ((found, base) for found in stayed if (base := _came_from(found, memory)) is not None)
    return frozenset(found.path for found, base in came if _is_proof(found, base, memory))


def _successors(founds: Iterable[Found], handed_on: Mapping[str, Base]) -> set[str]:
    """Paths that other files have taken, since those that had them went elsewhere."""
    here = {found.path: found for found in founds}
    left = {base.path: here[path] for path, base in handed_on.items() if base.path not in handed_on}
    return {
        path
        for path, gone in left.items()
        if path is not None and _is_other(here.get(path), gone, handed_on[gone.path])
    }


def _is_other(found: Found | None, gone: Found, base: Base) -> bool:
    """
    Whether *found*, at the path of *base*, is another page than *gone*, which was there and has its bytes.

    An editor may leave what was there as a copy, and save what it has: that has most of the old text.
    """
    if found is None or found.spot.kind is not Kind.PAGE or found.data is None or gone.data is None:
        return False
    if parse_id(found.claimed) is not None and found.claimed == base.claimed:
        return False
    return is_unlike(gone.data.decode(errors="replace"), found.data.decode(errors="replace"))


def _replaced(came: Mapping[str, Base], memory: Memory) -> list[str]:
    """Paths that had a file which is found nowhere else."""
    left = {base.path for base in came.values()}
    return [path for path in came if path in memory.at_path and path not in left]


def _came_from(found: Found, memory: Memory) -> Base | None:
    """The base of another path that had this inode; of an inode never seen, the only one that had these bytes."""
    old = memory.old_path.get(found.inode)
    if old is not None:
        base = memory.at_path.get(old) if old != found.path else None
    elif found.digest in (EMPTY, NO_TEXT):
        base = None
    else:
        base, *others = memory.of_digest.get(found.digest, [None])
        base = None if others or base is None or base.path in (None, found.path) else base
    if base is None or not _fits(base, found):
        return None
    return base if base.claimed == found.claimed or parse_id(found.claimed) is None else None


def _chains(came: Mapping[str, str | None]) -> list[set[str]]:
    """Paths of which each came from the next."""
    chain_of: dict[str, set[str]] = {path: {path} for path in came}
    for path, source in came.items():
        if source in chain_of and chain_of[source] is not chain_of[path]:
            joined = chain_of[source] | chain_of[path]
            chain_of.update(dict.fromkeys(joined, joined))
    return list({id(chain): chain for chain in chain_of.values()}.values())


def _is_proof(found: Found, base: Base, memory: Memory) -> bool:
    """Whether the bytes came along with the inode: inodes are given again, and what is known of them may be old."""
    here = memory.at_path.get(found.path)
    unlike = here is None or here.digest != found.digest
    return found.digest == base.digest and found.digest not in (EMPTY, NO_TEXT) and unlike


def _is_proven(chain: set[str], came: Mapping[str, Base], proof: set[str]) -> bool:
    """A directory has no bytes of its own, but files that came along in it."""
    if not chain.isdisjoint(proof):
        return True
    return any(came[path].path == f"{came[above].path}{path[len(above) :]}" for path, above in _below(proof, chain))


def _below(paths: Iterable[str], chain: set[str]) -> Iterator[tuple[str, str]]:
    """Each path with those of the chain that it is below."""
    return ((path, above) for path in paths for above in _lineage(path) if above in chain)


def _lineage(path: str) -> Iterator[str]:
    while path := parent_of(path):
        yield path


def _base_here(found: Found, memory: Memory) -> Base | None:
    """The base of that path; for a page also the folder it is the page of, and the reverse."""
    base = memory.at_path.get(found.path)
    if base is None and found.spot.kind is Kind.PAGE:
        base = memory.at_path.get(directory_of(found.path, Kind.PAGE))
        return base if base is not None and base.kind is Kind.FOLDER else None
    if base is None and found.spot.kind is Kind.FOLDER:
        pages = (memory.at_path.get(f"{found.path}{ending}") for ending in ("/_index.md", ".md"))
        return next((page for page in pages if page and page.path in memory.missing), None)
    return base if base is not None and _fits(base, found) else None


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
    return base.entry if base is not None and _fits(base, found) else None


def _by_digest(found: Found, memory: Memory) -> EntryId | None:
    if found.digest in (EMPTY, NO_TEXT):
        return None
    alike = memory.of_digest.get(found.digest, ())
    lost = [base for base in alike if (base.path is None or base.path in memory.missing) and _fits(base, found)]
    return min(lost, key=lambda base: base.path or "").entry if lost else None


def _by_writer(found: Found, memory: Memory) -> EntryId | None:
    """
    What a command said whose it is.

    It moved a page and changed its links: neither inode nor bytes came along. Or it brought a page back.
    """
    entry = memory.written.get(found.digest)
    if entry is None:
        return None
    base, row = memory.of_entry.get(entry), memory.rows.get(entry)
    if base is not None:
        return entry if base.path in memory.missing and _same_sort(base.kind, found.spot.kind) else None
    return entry if row is not None and row.deleted and _same_sort(row.kind, found.spot.kind) else None


def _by_note(found: Found, memory: Memory) -> EntryId | None:
    """`W/_index.md` is the page that `W.md` was, whoever may save that once more."""
    base = memory.at_path.get(page_path("", directory_of(found.path, Kind.PAGE))) if found.spot.index else None
    return base.entry if base is not None else None


def _standing(found: Found, base: Base | None, memory: Memory) -> tuple[bool, bool, bool, bool, str]:
    """
    Of several files that claim one entry: the base's path, else its inode, else its bytes, else the first path.

    A page file that moved is before the directory it left.
    """
    if base is None:
        return True, True, True, True, found.path
    return (
        found.path != base.path,
        found.spot.kind is not base.kind,
        memory.old_path.get(found.inode) != base.path,
        found.digest != base.digest,
        found.path,
    )


def _new_entry(
    found: Found, memory: Memory, tenant: TenantId, taken: set[EntryId], fresh: Callable[[], EntryId]
) -> EntryId:
    entry = id_of_path(tenant, found.path)
    row, base = memory.rows.get(entry), memory.of_entry.get(entry)
    if memory.rewound and base is not None and base.path in memory.missing and entry not in taken:
        return entry
    free = entry not in memory.of_entry and (row is None or (row.deleted and _same_sort(row.kind, found.spot.kind)))
    return entry if free and entry not in taken else fresh()


def _fits(base: Base, found: Found) -> bool:
    """Whether a file may be what *base* is of. A record of another sort is another record."""
    if base.kind is Kind.RECORD and base.place.name.partition("/")[0] != found.spot.name.partition("/")[0]:
        return False
    return _same_sort(base.kind, found.spot.kind)


def _same_sort(one: Kind, other: Kind) -> bool:
    """A page and a folder are one sort: a folder gets a page file, a page loses it."""
    return (one is Kind.ATTACHMENT) == (other is Kind.ATTACHMENT) and (one is Kind.RECORD) == (other is Kind.RECORD)
