"""Which entry a file is: the order of evidence of DESIGN §3 "Identity", as pure functions."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from mirrord.domain.entry import EMPTY, Digest, EntryId, Kind, TenantId, id_of_path, parse_id
from mirrord.domain.state import NO_TEXT, Base
from mirrord.mirror.layout import directory_of, page_path
from mirrord.sync.evidence import Found, Memory, fits, same_sort
from mirrord.sync.likeness import common_end
from mirrord.sync.succession import names_handed_on, successors


def identify(
    founds: Iterable[Found], memory: Memory, tenant: TenantId, fresh: Callable[[], EntryId]
) -> dict[str, EntryId]:
    """The entry of every found path. fresh: makes an id where no other is free."""
    claims: dict[EntryId, list[Found]] = defaultdict(list)
    strangers: list[Found] = []
    founds = list(founds)
    handed_on = names_handed_on(founds, memory)
    succeeding = successors(founds, handed_on, memory)
    telling = _telling_digests(founds, memory)
    for found in founds:
        base = handed_on.get(found.path)
        of = _entry_elsewhere if found.path in succeeding else _entry_of
        entry = base.entry if base is not None else of(found, memory, telling)
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


def _telling_digests(founds: Iterable[Found], memory: Memory) -> frozenset[Digest]:
    """Digests that one file has and one lost entry had: such bytes tell more than the number of an inode."""
    shown = Counter(found.digest for found in founds)
    lost = {digest: sum(map(memory.is_lost, memory.of_digest.get(digest, ()))) for digest in shown}
    return frozenset(digest for digest, files in shown.items() if files == 1 and lost[digest] == 1)


def _entry_of(found: Found, memory: Memory, telling: frozenset[Digest]) -> EntryId | None:
    here = _base_here(found, memory)
    if here is not None and here.kind is Kind.FOLDER:
        return _page_come_here(found, memory, here) or here.entry
    if here is not None and here.claimed == found.claimed:
        return here.entry
    return (
        _by_id(found, memory, here)
        or (here.entry if here is not None else None)
        or _by_file(found, memory, telling)
        or _by_writer(found, memory)
        or _by_note(found, memory)
    )


def _page_come_here(found: Found, memory: Memory, folder: Base) -> EntryId | None:
    """The page whose file came to the directory of *folder*, which had none: it stays that page."""
    entry = _by_id(found, memory, folder) or _by_inode(found, memory) or _by_digest(found, memory)
    base = memory.of_entry.get(entry) if entry is not None else None
    return entry if base is not None and base.kind is Kind.PAGE else None


def _entry_elsewhere(found: Found, memory: Memory, telling: frozenset[Digest]) -> EntryId | None:
    """The same for a file whose path says nothing: the one that had it is another one by now."""
    return _by_id(found, memory, None) or _by_file(found, memory, telling)


def _by_file(found: Found, memory: Memory, telling: frozenset[Digest]) -> EntryId | None:
    """By bytes that only one file has and only one lost entry had, else by the inode, else by bytes."""
    by_bytes = _by_digest(found, memory)
    if by_bytes is not None and found.digest in telling:
        return by_bytes
    return _by_inode(found, memory) or by_bytes


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


def _base_here(found: Found, memory: Memory) -> Base | None:
    """The base of that path; for a page also the folder it is the page of, and the reverse."""
    base = memory.at_path.get(found.path)
    if base is None and found.spot.kind is Kind.PAGE:
        base = memory.at_path.get(directory_of(found.path, Kind.PAGE))
        return base if base is not None and base.kind is Kind.FOLDER else None
    if base is None and found.spot.kind is Kind.FOLDER:
        pages = (memory.at_path.get(f"{found.path}{ending}") for ending in ("/_index.md", ".md"))
        return next((page for page in pages if page and page.path in memory.missing), None)
    return base if base is not None and fits(base, found) else None


def _by_id(found: Found, memory: Memory, here: Base | None) -> EntryId | None:
    entry = parse_id(found.claimed)
    if entry is None or found.spot.kind is not Kind.PAGE:
        return None
    base = memory.of_entry.get(entry)
    if base is not None:
        return entry if memory.is_lost(base) and same_sort(base.kind, Kind.PAGE) else None
    if (carrier := _carrier(found, memory)) is not None:
        return carrier
    row = memory.rows.get(entry)
    if row is not None:
        return entry if same_sort(row.kind, Kind.PAGE) else None
    return entry if here is None else None  # an unknown UUID is a new page's, never a known path's


def _carrier(found: Found, memory: Memory) -> EntryId | None:
    """
    The page whose file is missing and had this `id:` already, though it is not its own: it was known by its path.

    A tool that replaced the file gave it an id. Of several such pages inode or bytes have to tell.
    """
    lost = {base.entry for base in memory.bases if base.claimed == found.claimed and memory.is_lost(base)}
    known = _by_inode(found, memory) or _by_digest(found, memory)
    if known in lost:
        return known
    return lost.pop() if len(lost) == 1 else None


def _by_inode(found: Found, memory: Memory) -> EntryId | None:
    base = memory.at_inode(found)
    if base is None or base.path == found.path or base.path not in memory.missing:
        return None
    return base.entry if fits(base, found) else None


def _by_digest(found: Found, memory: Memory) -> EntryId | None:
    if found.digest in (EMPTY, NO_TEXT):
        return None
    alike = memory.of_digest.get(found.digest, ())
    lost = [base for base in alike if memory.is_lost(base) and fits(base, found)]
    nearest = min(lost, key=lambda base: (-common_end(base.path or "", found.path), base.path or ""), default=None)
    return nearest.entry if nearest is not None else None


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
        return entry if base.path in memory.missing and same_sort(base.kind, found.spot.kind) else None
    return entry if row is not None and row.deleted and same_sort(row.kind, found.spot.kind) else None


def _by_note(found: Found, memory: Memory) -> EntryId | None:
    """`W/_index.md` is the page that `W.md` was, whoever may save that once more."""
    base = memory.at_path.get(page_path("", directory_of(found.path, Kind.PAGE))) if found.spot.index else None
    return base.entry if base is not None else None


def _standing(found: Found, base: Base | None, memory: Memory) -> tuple[bool, bool, bool, bool, int, str]:
    """
    Of several files that claim one entry: the base's path, else its inode, else its bytes, else the path that ends most
    like the base's, else the first path.

    A page file that moved is before the directory it left.
    """
    if base is None:
        return True, True, True, True, 0, found.path
    return (
        found.path != base.path,
        found.spot.kind is not base.kind,
        memory.old_path.get(found.inode) != base.path,
        found.digest != base.digest,
        -common_end(base.path or "", found.path),
        found.path,
    )


def _new_entry(
    found: Found, memory: Memory, tenant: TenantId, taken: set[EntryId], fresh: Callable[[], EntryId]
) -> EntryId:
    entry = id_of_path(tenant, found.path)
    row, base = memory.rows.get(entry), memory.of_entry.get(entry)
    if memory.rewound and base is not None and base.path in memory.missing and entry not in taken:
        return entry
    free = entry not in memory.of_entry and (row is None or (row.deleted and same_sort(row.kind, found.spot.kind)))
    return entry if free and entry not in taken else fresh()
