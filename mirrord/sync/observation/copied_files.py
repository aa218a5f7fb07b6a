"""Files that were copied first and removed later, as rsync and Syncthing move them, and copies that come again."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from itertools import chain

import psycopg

from mirrord.db.content import entry_tables
from mirrord.db.content.copied_entries import (
    Copy,
    load_copies_of_earlier_texts,
    load_unchanged_copies,
    move_to_place_of_copy,
)
from mirrord.db.content.entry_writes import defer_names
from mirrord.db.database import Connection
from mirrord.domain.entry import (
    EMPTY_DIGEST,
    FILE_ACTOR,
    NO_TEXT,
    Base,
    EntryId,
    Kind,
    Row,
    TenantId,
    id_of_path,
    parse_id,
)
from mirrord.domain.long_work import split_into_batches
from mirrord.domain.place import name_key, numbered_attachment, numbered_name
from mirrord.errors import Refused, Stale
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import directory_of, lineage, parent_of
from mirrord.mirror.write import trash
from mirrord.sync.decisions.entry_decision import Decision
from mirrord.sync.observation.identity_evidence import COPIED_KINDS, EarlierState, FoundFile, count_common_end
from mirrord.sync.observation.look_result import LookResult
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.row_names import MAX_TWINS

RECOPIED_REASON = "copied again to the name of another page, though its own page got a number"


async def take_recopied(
    connection: Connection, sides: Sides, look: LookResult, memory: EarlierState
) -> dict[str, Base]:
    """
    Remove files from *look* that are a copy, or a save, of the twin made of their path; returns them with the twins.

    Only while a sibling still has the name: else a file may have it.
    """
    recopied: dict[str, Base] = {}
    for path, file in list(look.found_files.items()):
        twin = twin_of(file, memory, sides.tenant)
        if twin is None or _is_renamed(file, memory):
            continue
        if await _is_name_taken(connection, sides, twin, file.spot.name):
            recopied[path] = twin
            del look.found_files[path]
    return recopied


def _is_renamed(file: FoundFile, memory: EarlierState) -> bool:
    """Whether *file* is that of an entry whose path is empty now: its row still has the name there."""
    base = memory.base_at_inode(file)
    return base is not None and memory.is_lost(base)


def twin_of(file: FoundFile, memory: EarlierState, tenant: TenantId, *, earlier_path: str | None = None) -> Base | None:
    """
    The page or attachment beside *file* that has its name with a number, and was made of it.

    It has the id of that path, or the same `id:`, or the same bytes. A page may have changed since: then *file* is a
    save of it. An attachment must be equal. earlier_path: another path whose id counts.
    """
    if file.spot.kind not in COPIED_KINDS or file.path in memory.base_at_path:
        return None
    paths = [file.path] if earlier_path is None else [file.path, earlier_path]
    entries = [*(id_of_path(tenant, path) for path in paths), parse_id(file.claimed)]
    candidates = (base for base in _find_candidates(file, memory, entries) if _is_beside(base, file, memory))
    return next((base for base in candidates if base.kind is Kind.PAGE or base.digest == file.digest), None)


def _find_candidates(file: FoundFile, memory: EarlierState, entries: Sequence[EntryId | None]) -> Iterator[Base]:
    same_id = [memory.base_of_entry[entry] for entry in entries if entry is not None and entry in memory.base_of_entry]
    same_bytes = memory.bases_of_digest.get(file.digest, ()) if file.digest != EMPTY_DIGEST else ()
    yield from (base for base in (*same_id, *same_bytes) if base.claimed == file.claimed)


def _is_beside(base: Base, file: FoundFile, memory: EarlierState) -> bool:
    """Whether the file of *base* is in the directory of *file*, and has its name with a number."""
    if base.path is None or memory.is_lost(base) or base.kind is not file.spot.kind:
        return False
    if parent_of(base.path) != parent_of(file.path) or base.place.index != file.spot.index:
        return False
    return has_number(file.spot.name, base.place.name, base.kind)


def has_number(name: str, numbered: str, kind: Kind) -> bool:
    """Whether *numbered* is *name* with the number of a twin."""
    number = numbered.rpartition(" (")[2].partition(")")[0]
    if not (number.isascii() and number.isdigit() and 2 <= int(number[:5]) <= MAX_TWINS):
        return False
    suffixed = numbered_attachment if kind is Kind.ATTACHMENT else numbered_name
    return suffixed(name, int(number)) == numbered


async def _is_name_taken(connection: Connection, sides: Sides, twin: Base, name: str) -> bool:
    key, is_attachment = name_key(name), twin.kind is Kind.ATTACHMENT
    return key in await entry_tables.load_names_in_use(
        connection, sides.tenant, twin.entry, twin.place.parent, [key], attachment=is_attachment
    )


MAX_PLACES_PER_TRANSACTION = 2_000  # places taken in one transaction: many more exceed the time limit of a transaction


async def take_places_of_copies(sides: Sides, decisions: Sequence[Decision]) -> list[Decision]:
    """
    Move lost entries to the places of their recent, unchanged copies; return their decisions, to be looked at again.

    Of very many entries only some are moved now, the others at the next look. A copy of an earlier text counts for a
    page, too: `git stash` and `git rebase` put older states elsewhere. If a row changed meanwhile, nothing is written,
    and all decisions are returned. Entries that a tool deleted stay deleted.
    """
    lost = {decision.state.entry: decision for decision in decisions if _is_text_missing(decision)}
    earlier = await _load_earlier_copies(sides, lost)
    copies = {copy: frozenset({original}) for copy, original in earlier.items()} | sides.known_copies.copies_of(lost)
    if copies:
        deleted = await asyncio.to_thread(_find_deleted_by_tools, sides)
        copied = frozenset().union(*copies.values())
        lost = {
            entry: decision
            for entry, decision in lost.items()
            if entry in copied and (entry, _base_and_row(decision)[0].path) not in deleted
        }
    if not copies or not lost:
        return []
    try:
        moved: Iterable[EntryId] = await _take_places(sides, lost, copies, earlier, lost.keys())
    except Stale:
        moved = lost
    except psycopg.errors.IntegrityError:
        moved = await _take_places_apart(sides, lost, copies, earlier)
    return [lost[entry] for entry in moved]


async def _load_earlier_copies(sides: Sides, lost: Mapping[EntryId, Decision]) -> Mapping[EntryId, EntryId]:
    """The lost page by recent page, for recent pages with an earlier text of the lost one."""
    pages = [entry for entry, decision in lost.items() if _base_and_row(decision)[0].kind is Kind.PAGE]
    if not pages:
        return {}
    async with sides.database.transaction(sides.tenant) as connection:
        return await load_copies_of_earlier_texts(connection, sides.tenant, sides.mirror, pages)


async def _take_places_apart(
    sides: Sides,
    lost: Mapping[EntryId, Decision],
    copies: Mapping[EntryId, frozenset[EntryId]],
    earlier: Mapping[EntryId, EntryId],
) -> list[EntryId]:
    """
    The entries that could take the places of their copies one by one, children before their parents.

    A page cannot if it would have two children of one name then: a child of its own whose copy changed, and that copy.
    """
    moved: list[EntryId] = []
    for entry in sorted(lost, key=lambda entry: _depth_of(_base_and_row(lost[entry])[0]), reverse=True):
        with suppress(Stale, psycopg.errors.IntegrityError):
            moved += await _take_places(sides, lost, copies, earlier, {entry})
    return moved


def _depth_of(base: Base) -> int:
    return directory_of(base.path or "", base.kind).count("/")


async def _take_places(
    sides: Sides,
    lost: Mapping[EntryId, Decision],
    copies: Mapping[EntryId, frozenset[EntryId]],
    earlier: Mapping[EntryId, EntryId],
    movable: Set[EntryId],
) -> list[EntryId]:
    """
    Move some of *movable*, and return those that have a copy. Raises Stale if a row changed meanwhile.

    Raises IntegrityError if a place is taken.
    """
    async with sides.database.transaction(sides.tenant, sides.fence, FILE_ACTOR) as connection:
        pairs: dict[EntryId, Copy] = {}
        for kind in COPIED_KINDS:
            bases = [base for entry in lost.keys() & movable if (base := _base_and_row(lost[entry])[0]).kind is kind]
            unchanged = await load_unchanged_copies(
                connection, sides.tenant, sides.mirror, kind, copies.keys() - lost.keys()
            )
            present = await asyncio.to_thread(_select_present, sides.tree, unchanged)
            pairs |= pair_with_copies(bases, present, copies, earlier)
        await defer_names(connection)
        for entry in _select_first_families(pairs, {entry: _base_and_row(lost[entry])[0].kind for entry in pairs}):
            (base, row), copy = _base_and_row(lost[entry]), pairs[entry]
            if not await move_to_place_of_copy(connection, sides.tenant, sides.mirror, base, row.version, copy):
                raise Stale("A row changed meanwhile.")
    return list(pairs)


def _select_present(tree: Tree, copies: Sequence[Copy]) -> list[Copy]:
    """The copies whose files are there: where many files vanish, some of them are not known to be lost yet."""
    return [copy for copy in copies if _is_present(tree, copy.path)]


def _is_present(tree: Tree, path: str) -> bool:
    try:
        return tree.stat(path) is not None
    except (OSError, Refused):
        return False


def pair_with_copies(
    lost: Sequence[Base],
    copies: Sequence[Copy],
    originals: Mapping[EntryId, frozenset[EntryId]],
    earlier: Mapping[EntryId, EntryId],
) -> Mapping[EntryId, Copy]:
    """
    Pair lost entries with copies of the same bytes and `id:`; of several, with the longest common end of the path.

    Where a copy may be one of several files, as among many with one text, its name has to be that of the lost file.
    earlier: original by copy, for copies of an earlier text. Such a copy must have the name of the original, too: an
    earlier text may come from a template.
    """
    free: dict[EntryId, list[Copy]] = defaultdict(list)
    for copy in sorted(copies, key=lambda copy: copy.path):
        for original in originals[copy.entry]:
            free[original].append(copy)
    pairs: dict[EntryId, Copy] = {}
    taken_copies: set[EntryId] = set()
    for base in sorted(lost, key=lambda base: base.path or ""):
        alike = [
            copy
            for copy in free[base.entry]
            if copy.entry not in taken_copies
            and _is_copy_of(copy, base, earlier)
            and (len(originals[copy.entry]) == 1 or _has_name_of(copy, base))
        ]
        if alike:
            pairs[base.entry] = max(alike, key=lambda copy: _rank_copy(copy, base))
            taken_copies.add(pairs[base.entry].entry)
    return pairs


def _select_first_families(pairs: Mapping[EntryId, Copy], kinds: Mapping[EntryId, Kind]) -> list[EntryId]:
    """
    Select about MOST_TOGETHER of *pairs*, parents first, each page with everything below it.

    If a page took its copy's place without its child, it would have two children of one name.
    """
    families: dict[str, list[EntryId]] = {}
    family_below: dict[str, str] = {}  # the family of a directory's content
    spots = {entry: directory_of(copy.path, kinds[entry]) for entry, copy in pairs.items()}
    for entry, spot in sorted(spots.items(), key=lambda pair: (pair[1].count("/"), pair[1])):
        above = next((family_below[path] for path in lineage(parent_of(spot)) if path in family_below), spot)
        families.setdefault(above, []).append(entry)
        family_below[spot] = above
    first = next(split_into_batches(list(families.values()), len, size=MAX_PLACES_PER_TRANSACTION), [])
    return list(chain.from_iterable(first))


def _is_copy_of(copy: Copy, base: Base, earlier: Mapping[EntryId, EntryId]) -> bool:
    if copy.claimed != base.claimed:
        return False
    is_earlier = earlier.get(copy.entry) == base.entry and count_common_end(base.path or "", copy.path) > 0
    return copy.digest == base.digest or is_earlier


def _has_name_of(copy: Copy, base: Base) -> bool:
    return copy.path.rpartition("/")[2] == (base.path or "").rpartition("/")[2]


def _rank_copy(copy: Copy, base: Base) -> tuple[bool, int]:
    return copy.digest == base.digest, count_common_end(base.path or "", copy.path)


def _find_deleted_by_tools(sides: Sides) -> set[tuple[EntryId, str]]:
    """Entries in the trash with their earlier paths: these deletions were explicit. Blocking."""
    removed = trash.list_trash(sides.tree)
    return {(EntryId(content.label.entry), content.card.path) for content in removed if content.card is not None}


def _is_text_missing(decision: Decision) -> bool:
    """Whether the file of a page or attachment is gone and its row is as in the base."""
    base, row = decision.state.base, decision.state.row
    if base is None or row is None or base.kind not in COPIED_KINDS or base.digest in (EMPTY_DIGEST, NO_TEXT):
        return False
    return not row.deleted and row.digest == base.digest


def _base_and_row(decision: Decision) -> tuple[Base, Row]:
    base, row = decision.state.base, decision.state.row
    assert base is not None
    assert row is not None
    return base, row
