"""Names that change hands: swaps, rotations, chains of renames, new pages under old names. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from mirrord.domain.entry import EMPTY_DIGEST, NO_TEXT, Base, Digest, EntryId, Kind, parse_id
from mirrord.mirror.tree.tree_layout import lineage, parent_of
from mirrord.sync.observation.identity_evidence import (
    EarlierState,
    FoundFile,
    has_fitting_kind,
    is_unlike,
    match_texts,
    similarity,
)

MAX_COMPARED_PAGES = 100  # pages whose texts are compared in one pass


def find_moved_names(found_files: Iterable[FoundFile], memory: EarlierState) -> dict[str, Base]:
    """
    Files that took over the names of others: their own bases, by path.

    A swap, a rotation, a chain of renames, or one file whose old name a new page has. The path is no evidence then,
    although a base has it. An editor's save also gives a path a new inode, possibly one that another file had before:
    so the former file of the name must be found elsewhere, and the bytes of at least one file must have come along.
    """
    files = {file.path: file for file in found_files}
    moved = _find_moved(files, memory)
    chains = _join_chains({path: base.path for path, base in moved.items()})
    proof = {path for path, base in moved.items() if _is_proof(files[path], base, memory)}
    proven = [chain for chain in chains if len(chain) > 1 and _is_proven(chain, moved, proof)]
    followed = {
        path for path in proof if _is_other_page(files.get(moved[path].path or ""), files[path], moved[path], memory)
    }
    return {path: moved[path] for path in followed.union(*proven)}


def select_unproven(found_files: Iterable[FoundFile], memory: EarlierState) -> dict[EntryId, Digest]:
    """Pages whose texts are needed to see whether names changed hands, each with the digest of its base."""
    files = {file.path: file for file in found_files if file.spot.kind is Kind.PAGE}
    movers, rewritten = _find_moved(files, memory), _find_rewritten(files, memory)
    bases: list[Base] = list(rewritten.values()) if 1 < len(movers) + len(rewritten) <= MAX_COMPARED_PAGES else []
    for path, base in movers.items():
        if (path in memory.base_at_path or base.path in files) and files[path].digest != base.digest:
            bases += [base, *([memory.base_at_path[path]] if path in memory.base_at_path else [])]
    bases += _select_former(files, rewritten, memory) if _find_new_texts(files, memory) else []
    return {base.entry: base.digest for base in bases[:MAX_COMPARED_PAGES]}


def _select_former(files: Mapping[str, FoundFile], rewritten: Mapping[str, Base], memory: EarlierState) -> list[Base]:
    """Pages whose texts new files may have, because the files of other pages are at their paths."""
    unplaced = [memory.base_at_path[path] for path in _unplaced_paths(_find_arrivals(files, memory), memory)]
    digests = {file.digest for file in files.values()}
    lost = [
        base
        for base in memory.bases
        if base.kind is Kind.PAGE and base.path in memory.missing_paths and base.digest not in digests
    ]
    is_comparable = rewritten and lost and len(rewritten) + len(lost) <= MAX_COMPARED_PAGES
    return [*unplaced, *rewritten.values(), *lost] if is_comparable else unplaced


def _find_moved(files: Mapping[str, FoundFile], memory: EarlierState) -> dict[str, Base]:
    """
    Files that came from other paths, by inode, bytes or text, with their bases; only if the former file moved as well.
    """
    moved = _find_arrivals(files, memory)
    moved |= _find_former_files(files, moved, memory)
    while replaced := _unplaced_paths(moved, memory):
        for path in replaced:
            del moved[path]
    return moved


def _find_arrivals(files: Mapping[str, FoundFile], memory: EarlierState) -> dict[str, Base]:
    """Files that may have come from other paths, with their bases; the former file of a path may still be there."""
    by_text = _match_texts(files, memory)
    origins = ((file.path, _origin_of(file, memory) or by_text.get(file.path)) for file in files.values())
    return {path: base for path, base in origins if base is not None and not _is_in_place(base, files, memory)}


def _find_former_files(
    files: Mapping[str, FoundFile], moved: Mapping[str, Base], memory: EarlierState
) -> dict[str, Base]:
    """
    New files with most of the text of pages whose paths files in *moved* took, with the bases of these pages.

    Such a file was renamed, edited and copied: neither its inode nor its bytes are known.
    """
    bases = [memory.base_at_path[path] for path in _unplaced_paths(moved, memory)]
    former = {base.entry: memory.base_texts[base.entry] for base in bases if base.entry in memory.base_texts}
    owners = match_texts(former, _find_new_texts(files, memory)) if former else {}
    found_bases = {path: memory.base_of_entry[entry] for path, entry in owners.items()}
    return {
        path: base
        for path, base in found_bases.items()
        if _is_other_page(files.get(base.path or ""), files[path], base, memory) and _may_claim(files[path], base)
    }


def _find_new_texts(files: Mapping[str, FoundFile], memory: EarlierState) -> dict[str, str]:
    """Texts of new files whose paths, inodes and bytes are not known; none of very many."""
    new_files = [
        file
        for file in files.values()
        if file.spot.kind is Kind.PAGE
        and not (file.path in memory.base_at_path or file.inode in memory.path_of_inode)
        and file.digest not in memory.bases_of_digest
    ]
    with_text = [file for file in new_files if file.data is not None]
    if len(with_text) > MAX_COMPARED_PAGES:
        return {}
    return {file.path: text for file in with_text if (text := _text_of(file)) is not None}


def _find_rewritten(files: Mapping[str, FoundFile], memory: EarlierState) -> dict[str, Base]:
    """Pages whose paths have new files with new texts: an earlier swap can be seen in their texts only."""
    bases = (
        (file, memory.base_at_path.get(path)) for path, file in files.items() if file.inode not in memory.path_of_inode
    )
    return {
        file.path: base
        for file, base in bases
        if base is not None and base.kind is Kind.PAGE and file.spot.kind is Kind.PAGE and file.digest != base.digest
    }


def _match_texts(files: Mapping[str, FoundFile], memory: EarlierState) -> dict[str, Base]:
    """Rewritten pages whose files have the text of another page, with that page's base."""
    if not memory.base_texts:  # of a burst of saves, each text would be decoded for nothing
        return {}
    texts = {path: text for path in _find_rewritten(files, memory) if (text := _text_of(files[path])) is not None}
    owners = match_texts(memory.base_texts, texts)
    bases = {path: memory.base_of_entry[entry] for path, entry in owners.items() if entry in memory.base_of_entry}
    return {path: base for path, base in bases.items() if base.path != path and _may_claim(files[path], base)}


def find_overtaken(
    found_files: Iterable[FoundFile], memory: EarlierState, owners: Mapping[str, EntryId]
) -> frozenset[str]:
    """
    Paths that hold the unchanged file of another path, but were identified by their own path.

    That file was renamed over the former one; or the former one was renamed too, and is not found yet.
    """
    files = {file.path: file for file in found_files}
    known_files = ((file, base) for file in files.values() if (base := memory.base_at_path.get(file.path)) is not None)
    stayed = [file for file, base in known_files if owners[file.path] == base.entry]
    with_origin = ((file, base) for file in stayed if (base := _origin_of(file, memory)) is not None)
    moved = ((file, base) for file, base in with_origin if not _is_in_place(base, files, memory))
    return frozenset(file.path for file, base in moved if _is_proof(file, base, memory))


def find_successors(found_files: Iterable[FoundFile], moved: Mapping[str, Base], memory: EarlierState) -> set[str]:
    """Paths that other files took after their former files went elsewhere."""
    files = {file.path: file for file in found_files}
    former_files = {base.path: files[path] for path, base in moved.items() if base.path not in moved}
    return {
        path
        for path, former in former_files.items()
        if path is not None and _is_other_page(files.get(path), former, moved[former.path], memory)
    }


def _is_other_page(file: FoundFile | None, former: FoundFile, base: Base, memory: EarlierState) -> bool:
    """
    Whether *file*, at the path of *base*, is another page than *former*, the former file of that path.

    An editor may keep the former file as a copy, and save its own text: that has most of the old text.
    """
    if file is None or file.spot.kind is not Kind.PAGE:
        return False
    if parse_id(file.claimed) is not None and file.claimed == base.claimed:
        return False
    old, new = _text_of(former) if former.digest == base.digest else memory.base_texts.get(base.entry), _text_of(file)
    return old is not None and new is not None and is_unlike(old, new)


def _text_of(file: FoundFile) -> str | None:
    return file.data.decode(errors="replace") if file.data is not None else None


def _unplaced_paths(moved: Mapping[str, Base], memory: EarlierState) -> list[str]:
    """Paths whose former file is found nowhere else."""
    origins = {base.path for base in moved.values()}
    return [path for path in moved if path in memory.base_at_path and path not in origins]


def _origin_of(file: FoundFile, memory: EarlierState) -> Base | None:
    """The base of another path that had this inode; of an inode never seen, the only one that had these bytes."""
    old = memory.path_of_inode.get(file.inode)
    if old is not None:
        base = memory.base_at_inode(file) if old != file.path else None
    elif file.digest in (EMPTY_DIGEST, NO_TEXT):
        base = None
    else:
        base, *others = memory.bases_of_digest.get(file.digest, [None])
        base = None if others or base is None or base.path in (None, file.path) else base
    if base is None or not has_fitting_kind(base, file):
        return None
    return base if _may_claim(file, base) else None


def _may_claim(file: FoundFile, base: Base) -> bool:
    """Whether the `id:` of *file* is that of *base*, or says nothing."""
    return base.claimed == file.claimed or parse_id(file.claimed) is None


def _is_in_place(base: Base, files: Mapping[str, FoundFile], memory: EarlierState) -> bool:
    """Whether the file of *base* is at its path with its text: then another file got its old inode."""
    if base.path is None or base.digest in (EMPTY_DIGEST, NO_TEXT):
        return False
    file = files.get(base.path)
    return file.digest == base.digest if file is not None else base.path not in memory.missing_paths


def _join_chains(origin_paths: Mapping[str, str | None]) -> list[set[str]]:
    """Sets of paths linked by renames: each path came from another one of its set."""
    chain_of: dict[str, set[str]] = {path: {path} for path in origin_paths}
    for path, source in origin_paths.items():
        if source in chain_of and chain_of[source] is not chain_of[path]:
            joined = chain_of[source] | chain_of[path]
            chain_of.update(dict.fromkeys(joined, joined))
    return list({id(chain): chain for chain in chain_of.values()}.values())


def _is_proof(file: FoundFile, base: Base, memory: EarlierState) -> bool:
    """
    Whether the bytes came along with the inode: inodes are reused, and the cache of them may be old.

    If the bytes changed: whether the file has most of the page's text, and more of it than of the page at its path.
    """
    path_base = memory.base_at_path.get(file.path)
    if file.digest == base.digest:
        return file.digest not in (EMPTY_DIGEST, NO_TEXT) and (path_base is None or path_base.digest != file.digest)
    old, new = memory.base_texts.get(base.entry), _text_of(file)
    if old is None or new is None:
        return False
    path_share = similarity(memory.base_texts.get(path_base.entry, ""), new) if path_base is not None else None
    return (similarity(old, new) or 0.0) > max(0.5, path_share or 0.0)


def _is_proven(chain: set[str], moved: Mapping[str, Base], proof: set[str]) -> bool:
    """Whether a file of the chain is proof, or, for a directory, a file that came along in it."""
    if not chain.isdisjoint(proof):
        return True
    return any(
        moved[path].path == f"{moved[above].path}{path[len(above) :]}" for path, above in _pairs_below(proof, chain)
    )


def _pairs_below(paths: Iterable[str], chain: set[str]) -> Iterator[tuple[str, str]]:
    """Pairs of a path and a path of the chain above it."""
    return ((path, above) for path in paths for above in lineage(parent_of(path)) if above in chain)
