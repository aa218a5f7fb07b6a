"""PURE: names that change hands: swaps, rotations, chains of renames, and new pages under the names of others."""

from collections.abc import Iterable, Iterator, Mapping

from mirrord.domain.entry import EMPTY, Digest, EntryId, Kind, parse_id
from mirrord.domain.state import NO_TEXT, Base
from mirrord.mirror.layout import lineage, parent_of
from mirrord.sync.evidence import Found, Memory, fits
from mirrord.sync.likeness import is_unlike, made_of, share

MOST = 100  # pages whose texts are compared in one pass


def names_handed_on(founds: Iterable[Found], memory: Memory) -> dict[str, Base]:
    """
    Files that took over the names of others: by their paths, the bases of which they are.

    A swap, a rotation, a chain of renames, or one file whose old name a new page has. The path is no evidence there,
    although a base knows it. An editor's save also gives a path a new inode, maybe one that another file had before: so
    the file that had the name has to be found elsewhere itself, and the bytes of one at least must have come along.
    """
    here = {found.path: found for found in founds}
    came = _movers(here, memory)
    chains = _chains({path: base.path for path, base in came.items()})
    proof = {path for path, base in came.items() if _is_proof(here[path], base, memory)}
    proven = [chain for chain in chains if len(chain) > 1 and _is_proven(chain, came, proof)]
    followed = {path for path in proof if _is_other(here.get(came[path].path or ""), here[path], came[path], memory)}
    return {path: came[path] for path in followed.union(*proven)}


def unproven(founds: Iterable[Found], memory: Memory) -> dict[EntryId, Digest]:
    """Pages whose text has to tell whether the names of their files changed hands: of each what its base said."""
    here = {found.path: found for found in founds if found.spot.kind is Kind.PAGE}
    movers, rewritten = _movers(here, memory), _rewritten(here, memory)
    bases: list[Base] = list(rewritten.values()) if 1 < len(movers) + len(rewritten) <= MOST else []
    for path, base in movers.items():
        if (path in memory.at_path or base.path in here) and here[path].digest != base.digest:
            bases += [base, *([memory.at_path[path]] if path in memory.at_path else [])]
    return {base.entry: base.digest for base in bases[:MOST]}


def _movers(here: Mapping[str, Found], memory: Memory) -> dict[str, Base]:
    """Where files came from other paths, as far as inodes and bytes tell; the one that was there went elsewhere too."""
    alike = _alike(here, memory)
    known = ((found.path, _came_from(found, memory) or alike.get(found.path)) for found in here.values())
    came = {path: base for path, base in known if base is not None and not _is_in_place(base, here, memory)}
    while replaced := _replaced(came, memory):
        for path in replaced:
            del came[path]
    return came


def _rewritten(here: Mapping[str, Found], memory: Memory) -> dict[str, Base]:
    """Pages whose paths have new files with new texts: after that only a text can tell of a swap before it."""
    known = ((found, memory.at_path.get(path)) for path, found in here.items() if found.inode not in memory.old_path)
    return {
        found.path: base
        for found, base in known
        if base is not None and base.kind is Kind.PAGE and found.spot.kind is Kind.PAGE and found.digest != base.digest
    }


def _alike(here: Mapping[str, Found], memory: Memory) -> dict[str, Base]:
    """Of those, and of what they may have changed places with, which has the text of another."""
    rewritten = _rewritten(here, memory)
    texts = {path: text for path in rewritten if (text := _text(here[path])) is not None}
    made = made_of(memory.texts, texts) if memory.texts else {}
    bases = {path: memory.of_entry[entry] for path, entry in made.items() if entry in memory.of_entry}
    return {
        path: base
        for path, base in bases.items()
        if base.path != path and (base.claimed == here[path].claimed or parse_id(here[path].claimed) is None)
    }


def overtaken(founds: Iterable[Found], memory: Memory, owners: Mapping[str, EntryId]) -> frozenset[str]:
    """
    Paths that hold the file of another path, whole, and are known by their path all the same.

    That file was renamed over the one that was here; or the one that was here was renamed too, and is not found yet.
    """
    here = {found.path: found for found in founds}
    known = ((found, base) for found in here.values() if (base := memory.at_path.get(found.path)) is not None)
    stayed = [found for found, base in known if owners[found.path] == base.entry]
    came = ((found, base) for found in stayed if (base := _came_from(found, memory)) is not None)
    moved = ((found, base) for found, base in came if not _is_in_place(base, here, memory))
    return frozenset(found.path for found, base in moved if _is_proof(found, base, memory))


def successors(founds: Iterable[Found], handed_on: Mapping[str, Base], memory: Memory) -> set[str]:
    """Paths that other files have taken, since those that had them went elsewhere."""
    here = {found.path: found for found in founds}
    left = {base.path: here[path] for path, base in handed_on.items() if base.path not in handed_on}
    return {
        path
        for path, gone in left.items()
        if path is not None and _is_other(here.get(path), gone, handed_on[gone.path], memory)
    }


def _is_other(found: Found | None, gone: Found, base: Base, memory: Memory) -> bool:
    """
    Whether *found*, at the path of *base*, is another page than *gone*, which was there.

    An editor may leave what was there as a copy, and save what it has: that has most of the old text.
    """
    if found is None or found.spot.kind is not Kind.PAGE:
        return False
    if parse_id(found.claimed) is not None and found.claimed == base.claimed:
        return False
    old, new = _text(gone) if gone.digest == base.digest else memory.texts.get(base.entry), _text(found)
    return old is not None and new is not None and is_unlike(old, new)


def _text(found: Found) -> str | None:
    return found.data.decode(errors="replace") if found.data is not None else None


def _replaced(came: Mapping[str, Base], memory: Memory) -> list[str]:
    """Paths that had a file which is found nowhere else."""
    left = {base.path for base in came.values()}
    return [path for path in came if path in memory.at_path and path not in left]


def _came_from(found: Found, memory: Memory) -> Base | None:
    """The base of another path that had this inode; of an inode never seen, the only one that had these bytes."""
    old = memory.old_path.get(found.inode)
    if old is not None:
        base = memory.at_inode(found) if old != found.path else None
    elif found.digest in (EMPTY, NO_TEXT):
        base = None
    else:
        base, *others = memory.of_digest.get(found.digest, [None])
        base = None if others or base is None or base.path in (None, found.path) else base
    if base is None or not fits(base, found):
        return None
    return base if base.claimed == found.claimed or parse_id(found.claimed) is None else None


def _is_in_place(base: Base, here: Mapping[str, Found], memory: Memory) -> bool:
    """Whether the file of *base* is where it was, with its text: then its old inode was given to another file."""
    if base.path is None or base.digest in (EMPTY, NO_TEXT):
        return False
    held = here.get(base.path)
    return held.digest == base.digest if held is not None else base.path not in memory.missing


def _chains(came: Mapping[str, str | None]) -> list[set[str]]:
    """Paths of which each came from the next."""
    chain_of: dict[str, set[str]] = {path: {path} for path in came}
    for path, source in came.items():
        if source in chain_of and chain_of[source] is not chain_of[path]:
            joined = chain_of[source] | chain_of[path]
            chain_of.update(dict.fromkeys(joined, joined))
    return list({id(chain): chain for chain in chain_of.values()}.values())


def _is_proof(found: Found, base: Base, memory: Memory) -> bool:
    """
    Whether the bytes came along with the inode: inodes are given again, and what is known of them may be old.

    Where they were edited since: whether the file has most of that page's text, and more of it than of its path's page.
    """
    here = memory.at_path.get(found.path)
    if found.digest == base.digest:
        return found.digest not in (EMPTY, NO_TEXT) and (here is None or here.digest != found.digest)
    old, new = memory.texts.get(base.entry), _text(found)
    if old is None or new is None:
        return False
    stayed = share(memory.texts.get(here.entry, ""), new) if here is not None else None
    return (share(old, new) or 0.0) > max(0.5, stayed or 0.0)


def _is_proven(chain: set[str], came: Mapping[str, Base], proof: set[str]) -> bool:
    """A directory has no bytes of its own, but files that came along in it."""
    if not chain.isdisjoint(proof):
        return True
    return any(came[path].path == f"{came[above].path}{path[len(above) :]}" for path, above in _below(proof, chain))


def _below(paths: Iterable[str], chain: set[str]) -> Iterator[tuple[str, str]]:
    """Each path with those of the chain that it is below."""
    return ((path, above) for path in paths for above in lineage(parent_of(path)) if above in chain)
