"""Which entry a file is: the order of evidence, as pure functions."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from mirrord.domain.entry import EMPTY_DIGEST, NO_TEXT, Base, Digest, EntryId, Kind, TenantId, id_of_path, parse_id
from mirrord.mirror.tree.tree_layout import directory_of, page_path
from mirrord.sync.observation.identity_evidence import (
    EarlierState,
    FoundFile,
    count_common_end,
    has_fitting_kind,
    is_same_sort,
)
from mirrord.sync.observation.renames import find_moved_names, find_successors


def identify_files(
    files: Iterable[FoundFile], memory: EarlierState, tenant: TenantId, make_id: Callable[[], EntryId]
) -> dict[str, EntryId]:
    """Identify the entry of every file, by path. make_id: makes an id if no other is free."""
    claims: dict[EntryId, list[FoundFile]] = defaultdict(list)
    unidentified: list[FoundFile] = []
    files = list(files)
    handed_on = find_moved_names(files, memory)
    succeeding = find_successors(files, handed_on, memory)
    decisive = _decisive_digests(files, memory)
    for file in files:
        base = handed_on.get(file.path)
        find_entry = _entry_apart_from_path if file.path in succeeding else _entry_of
        entry = base.entry if base is not None else find_entry(file, memory, decisive)
        if entry is None:
            unidentified.append(file)
        else:
            claims[entry].append(file)
    owners: dict[str, EntryId] = {}
    for entry, rivals in claims.items():
        first, *others = sorted(rivals, key=lambda rival: _rank_claim(rival, memory.base_of_entry.get(entry), memory))
        owners[first.path] = entry
        unidentified += others
    used_ids = set(claims)
    for file in sorted(unidentified, key=lambda candidate: candidate.path):
        owners[file.path] = _new_entry(file, memory, tenant, used_ids, make_id)
        used_ids.add(owners[file.path])
    return owners


def _decisive_digests(files: Iterable[FoundFile], memory: EarlierState) -> frozenset[Digest]:
    """Digests of exactly one file and exactly one lost entry: such bytes are stronger evidence than an inode."""
    counts = Counter(file.digest for file in files)
    lost = {digest: sum(map(memory.is_lost, memory.bases_of_digest.get(digest, ()))) for digest in counts}
    return frozenset(digest for digest, count in counts.items() if count == 1 and lost[digest] == 1)


def _entry_of(file: FoundFile, memory: EarlierState, decisive: frozenset[Digest]) -> EntryId | None:
    base = _base_of_path(file, memory)
    if base is not None and base.kind is Kind.FOLDER:
        return _page_moved_into_folder(file, memory, base) or base.entry
    if base is not None and base.claimed == file.claimed:
        return base.entry
    return (
        _entry_by_id(file, memory, base)
        or (base.entry if base is not None else None)
        or _entry_by_bytes_or_inode(file, memory, decisive)
        or _entry_by_writer(file, memory)
        or _entry_by_unrecorded_write(file, memory)
        or _entry_by_folder_note(file, memory)
    )


def _page_moved_into_folder(file: FoundFile, memory: EarlierState, folder: Base) -> EntryId | None:
    """The page whose file moved into the directory of *folder*, which had no page file."""
    entry = _entry_by_id(file, memory, folder) or _entry_by_inode(file, memory) or _entry_by_digest(file, memory)
    base = memory.base_of_entry.get(entry) if entry is not None else None
    return entry if base is not None and base.kind is Kind.PAGE else None


def _entry_apart_from_path(file: FoundFile, memory: EarlierState, decisive: frozenset[Digest]) -> EntryId | None:
    """Identify a file whose path now belongs to another entry."""
    return _entry_by_id(file, memory, None) or _entry_by_bytes_or_inode(file, memory, decisive)


def _entry_by_bytes_or_inode(file: FoundFile, memory: EarlierState, decisive: frozenset[Digest]) -> EntryId | None:
    """The entry by decisive bytes, else by the inode, else by bytes."""
    by_bytes = _entry_by_digest(file, memory)
    if by_bytes is not None and file.digest in decisive:
        return by_bytes
    return _entry_by_inode(file, memory) or by_bytes


def find_late_save(note: FoundFile, memory: EarlierState, index: FoundFile | None) -> Base | None:
    """
    The page of a directory, if *note* (`W.md`) is only an editor's late save of it; else None.

    index: a new `W/_index.md` beside it, which may have been made from `W.md`. Its base or an `id:` decides.
    """
    directory = directory_of(note.path, Kind.PAGE)
    note_base, index_base = (
        memory.base_at_path.get(note.path),
        memory.base_at_path.get(page_path("", directory, index=True)),
    )
    claims = parse_id(note.claimed)
    if index_base is not None:
        return index_base if note_base is None and claims is not None and index_base.claimed == note.claimed else None
    if note_base is None or index is None:
        return None
    index_entry = (
        _entry_by_id(index, memory, note_base) or _entry_by_inode(index, memory) or _entry_by_digest(index, memory)
    )
    # with another entry, the index file is another page that moved here
    return note_base if index_entry in (None, note_base.entry) else None


def _base_of_path(file: FoundFile, memory: EarlierState) -> Base | None:
    """The base of the file's path; for a page file also the folder's base, and for a folder the page's."""
    base = memory.base_at_path.get(file.path)
    if base is None and file.spot.kind is Kind.PAGE:
        base = memory.base_at_path.get(directory_of(file.path, Kind.PAGE))
        return base if base is not None and base.kind is Kind.FOLDER else None
    if base is None and file.spot.kind is Kind.FOLDER:
        pages = (memory.base_at_path.get(f"{file.path}{ending}") for ending in ("/_index.md", ".md"))
        return next((page for page in pages if page and page.path in memory.missing_paths), None)
    return base if base is not None and has_fitting_kind(base, file) else None


def _entry_by_id(file: FoundFile, memory: EarlierState, base_at_path: Base | None) -> EntryId | None:
    entry = parse_id(file.claimed)
    if entry is None or file.spot.kind is not Kind.PAGE:
        return None
    base = memory.base_of_entry.get(entry)
    if base is not None:
        return entry if memory.is_lost(base) and is_same_sort(base.kind, Kind.PAGE) else None
    if (carrier := _page_with_claimed_id(file, memory)) is not None:
        return carrier
    row = memory.rows.get(entry)
    if row is not None:
        return entry if is_same_sort(row.kind, Kind.PAGE) else None
    return entry if base_at_path is None else None  # an unknown UUID is a new page, unless the path is known


def _page_with_claimed_id(file: FoundFile, memory: EarlierState) -> EntryId | None:
    """
    The page whose file is missing and had this `id:`, although its entry id is another one.

    A tool that replaced the file gave it the id, and the page kept its entry by its path. Of several such pages, the
    inode or the bytes decide.
    """
    lost = {base.entry for base in memory.bases_of_claim.get(file.claimed, ()) if memory.is_lost(base)}
    entry = _entry_by_inode(file, memory) or _entry_by_digest(file, memory)
    if entry in lost:
        return entry
    return lost.pop() if len(lost) == 1 else None


def _entry_by_inode(file: FoundFile, memory: EarlierState) -> EntryId | None:
    base = memory.base_at_inode(file)
    if base is None or base.path == file.path or base.path not in memory.missing_paths:
        return None
    return base.entry if has_fitting_kind(base, file) else None


def _entry_by_digest(file: FoundFile, memory: EarlierState) -> EntryId | None:
    if file.digest in (EMPTY_DIGEST, NO_TEXT):
        return None
    alike = memory.bases_of_digest.get(file.digest, ())
    lost = [base for base in alike if memory.is_lost(base) and has_fitting_kind(base, file)]
    nearest = min(lost, key=lambda base: (-count_common_end(base.path or "", file.path), base.path or ""), default=None)
    return nearest.entry if nearest is not None else None


def _entry_by_writer(file: FoundFile, memory: EarlierState) -> EntryId | None:
    """
    The entry that a command noted for these bytes.

    The command moved a page and changed its links, so neither inode nor bytes match, or it brought a page back.
    """
    entry = memory.written_entries.get(file.digest)
    if entry is None:
        return None
    base, row = memory.base_of_entry.get(entry), memory.rows.get(entry)
    if base is not None:
        return entry if base.path in memory.missing_paths and is_same_sort(base.kind, file.spot.kind) else None
    return entry if row is not None and row.deleted and is_same_sort(row.kind, file.spot.kind) else None


def _entry_by_unrecorded_write(file: FoundFile, memory: EarlierState) -> EntryId | None:
    """The entry for which this mirror wrote these bytes before it died, or lost its connection."""
    entry = memory.unrecorded_entries.get(file.digest)
    if entry is None or entry in memory.base_of_entry:
        return None
    row = memory.rows.get(entry)
    return entry if row is not None and not row.deleted and is_same_sort(row.kind, file.spot.kind) else None


def _entry_by_folder_note(file: FoundFile, memory: EarlierState) -> EntryId | None:
    """The page of `W.md` for `W/_index.md`, even if an editor saves `W.md` once more."""
    base = memory.base_at_path.get(page_path("", directory_of(file.path, Kind.PAGE))) if file.spot.index else None
    return base.entry if base is not None else None


def _rank_claim(file: FoundFile, base: Base | None, memory: EarlierState) -> tuple[bool, bool, bool, bool, int, str]:
    """
    Sort key of the files that claim one entry; the lowest gets it: the base's path, else its inode, else its bytes,
    else the path with the longest common end, else the first path.

    A page file that moved precedes the directory that it left.
    """
    if base is None:
        return True, True, True, True, 0, file.path
    return (
        file.path != base.path,
        file.spot.kind is not base.kind,
        memory.path_of_inode.get(file.inode) != base.path,
        file.digest != base.digest,
        -count_common_end(base.path or "", file.path),
        file.path,
    )


def _new_entry(
    file: FoundFile, memory: EarlierState, tenant: TenantId, used_ids: set[EntryId], make_id: Callable[[], EntryId]
) -> EntryId:
    entry = id_of_path(tenant, file.path)
    row, base = memory.rows.get(entry), memory.base_of_entry.get(entry)
    if memory.is_rewound and base is not None and base.path in memory.missing_paths and entry not in used_ids:
        return entry
    is_free = entry not in memory.base_of_entry and (
        row is None or (row.deleted and is_same_sort(row.kind, file.spot.kind))
    )
    return entry if is_free and entry not in used_ids else make_id()
