"""Files of pages that this mirror has not recorded, and that changed their names: known by exact bytes. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping

from mirrord.domain.entry import EMPTY_DIGEST, NO_TEXT, Digest, EntryId, Kind, Row, TenantId, id_of_path
from mirrord.domain.place import name_key
from mirrord.sync.observation.identity_evidence import EarlierState, FoundFile


def find_contested(
    files: Iterable[FoundFile], memory: EarlierState, owners: Mapping[str, EntryId], tenant: TenantId
) -> dict[str, EntryId]:
    """Files without a base at the path of an unrecorded row with other bytes: the entry of that row, by path."""
    row_of_path = {file.path: memory.rows.get(id_of_path(tenant, file.path)) for file in files}
    return {
        file.path: row.entry
        for file in files
        if (row := row_of_path[file.path]) is not None
        and is_unrecorded(row, memory)
        and row.digest != file.digest
        and _is_open(file, memory, owners)
    }


def select_open_files(
    files: Collection[FoundFile], memory: EarlierState, owners: Mapping[str, EntryId], tenant: TenantId
) -> list[FoundFile]:
    """Page files with unique bytes that neither a base nor an `id:` nor the bytes of their row identifies."""
    counts = Counter(file.digest for file in files)
    return [
        file
        for file in files
        if counts[file.digest] == 1 and _is_open(file, memory, owners) and not _has_bytes_of_row(file, memory, tenant)
    ]


def select_named_alike(
    rows: Iterable[Row], files: Collection[FoundFile], memory: EarlierState, tenant: TenantId
) -> list[Row]:
    """The unrecorded of *rows* that began at a path of *files*, with other bytes, or have the name of one of them."""
    keys = {name_key(file.spot.name) for file in files}
    settled = {id_of_path(tenant, file.path) for file in files if _has_bytes_of_row(file, memory, tenant)}
    return [
        row
        for row in rows
        if is_unrecorded(row, memory)
        and row.entry not in settled
        and (row.entry in memory.rows or name_key(row.place.name) in keys)
    ]


def is_unrecorded(row: Row, memory: EarlierState) -> bool:
    """Whether *row* is a page with a text, deleted or not, and this mirror has no base of it."""
    is_page = row.kind is Kind.PAGE and row.digest not in (None, EMPTY_DIGEST, NO_TEXT)
    return is_page and row.entry not in memory.base_of_entry


def match_exact_bytes(
    files: Collection[FoundFile],
    known_texts: Collection[tuple[EntryId, Digest]],
    contested: Mapping[str, EntryId],
    owners: Mapping[str, EntryId],
) -> dict[str, EntryId]:
    """
    Match *files* to the only entry that ever had their bytes, unless that is the entry of their path.

    known_texts: the pairs (entry, digest) in the history of unrecorded rows. contested: as find_contested() returns.
    A file at a path without a row may be a copy: it matches only if no other file has the entry.
    """
    entries_of_digest: dict[Digest, list[EntryId]] = defaultdict(list)
    for entry, digest in known_texts:
        entries_of_digest[digest].append(entry)
    only_entries = {digest: entries[0] for digest, entries in entries_of_digest.items() if len(entries) == 1}
    matches = {file.path: only_entries[file.digest] for file in files if file.digest in only_entries}
    matches = {path: entry for path, entry in matches.items() if contested.get(path, owners[path]) != entry}
    entry_counts = Counter(matches.values())
    held_entries = {entry for path, entry in [*owners.items(), *contested.items()] if path not in matches}
    return {
        path: entry
        for path, entry in matches.items()
        if entry_counts[entry] == 1 and (path in contested or entry not in held_entries)
    }


def match_awaited(files: Iterable[FoundFile], awaited: Mapping[EntryId, Digest]) -> dict[str, EntryId]:
    """
    Match *files* to the entry of *awaited* that has their bytes, where both are the only ones.

    awaited: digests of unrecorded rows whose path was taken when they were to be written.
    """
    file_counts, entry_counts = Counter(file.digest for file in files), Counter(awaited.values())
    entry_of_digest = {digest: entry for entry, digest in awaited.items() if entry_counts[digest] == 1}
    return {
        file.path: entry_of_digest[file.digest]
        for file in files
        if file.digest in entry_of_digest and file_counts[file.digest] == 1
    }


def reassign_files(
    owners: Mapping[str, EntryId], matches: Mapping[str, EntryId], make_id: Callable[[], EntryId]
) -> dict[str, EntryId]:
    """*owners* with *matches*; a file whose entry went to another file gets a new one."""
    reassigned = set(matches.values())
    displaced = {path: make_id() for path, entry in owners.items() if entry in reassigned}
    return {**owners, **displaced, **matches}


def _is_open(file: FoundFile, memory: EarlierState, owners: Mapping[str, EntryId]) -> bool:
    """Whether *file* is a page that no base and no `id:` identifies, and no recorded page has its bytes."""
    if file.spot.kind is not Kind.PAGE or file.claimed is not None or file.digest in (EMPTY_DIGEST, NO_TEXT):
        return False
    return owners[file.path] not in memory.base_of_entry and not memory.bases_of_digest.get(file.digest)


def _has_bytes_of_row(file: FoundFile, memory: EarlierState, tenant: TenantId) -> bool:
    row = memory.rows.get(id_of_path(tenant, file.path))
    return row is not None and row.digest == file.digest
